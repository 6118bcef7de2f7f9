/** SVG as text: elements whose attributes and texts are escaped, and whose numbers are short and finite. */

export type Attributes = Readonly<Record<string, string | number>>;

/** One element around children that are SVG already. */
export function element(name: string, attributes: Attributes, children: readonly string[] = []): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${attributeText(key, value)}"`);
  const head = `<${name}${written.join('')}`;
  return children.length === 0 ? `${head}/>` : `${head}>${children.join('')}</${name}>`;
}

/** A line of text at a point; the class carries its look. */
export function label(text: string, at: Attributes): string {
  return element('text', at, [escapeText(text)]);
}

/** Text that can end neither an element nor an attribute. */
export function escapeText(text: string): string {
  // A file with a control character in it is no XML.
  const printable = [...text].filter((character) => character >= ' ').join('');
  return printable.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function attributeText(key: string, value: string | number): string {
  if (typeof value === 'string') return escapeText(value);
  // A browser drops an element with NaN in it without a word.
  if (!Number.isFinite(value)) throw new Error(`SVG: ${key} is ${value}`);
  return String(Math.round(value * 10) / 10);
}
