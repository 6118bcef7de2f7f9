/** Reading JSON that nobody vouches for: a reader says what it found, it never guesses. */
import { quote } from './quote.ts';

export type JsonRecord = Readonly<Record<string, unknown>>;

/** What was read, or one clause that says why it cannot be used. */
export type Read<T> = { readonly value: T } | { readonly fault: string };

const LONGEST_REASON = 160;
const LONGEST_VALUE = 60;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as it was received, cut; the inside of nested values is left out, which also bounds the recursion. */
export function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  if (typeof value === 'string') return quote(withoutSecrets(value));
  const isNested = (key: string, inner: unknown): boolean => key !== '' && typeof inner === 'object' && inner !== null;
  const text = JSON.stringify(value, (key, inner: unknown) => (isNested(key, inner) ? '…' : inner));
  return cut(withoutSecrets(text), LONGEST_VALUE);
}

export function parseJson(text: string): Read<unknown> {
  try {
    return { value: JSON.parse(text) };
  } catch {
    // The engine's message differs between k6 and Node and quotes the body: what the body begins with tells more.
    return { fault: `not JSON: ${quote(withoutSecrets(text))}` };
  }
}

/** A count of at least `least`; it must have come as a JSON number: "8", null, 0.5 and 1e400 are faults. */
export function countAt(
  record: JsonRecord,
  key: string,
  place: { readonly path: string; readonly least: 0 | 1 },
): Read<number> {
  const value = record[key];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= place.least) return { value };
  const rule = place.least === 1 ? 'a whole number above 0' : 'a whole number';
  return { fault: `${place.path}.${key}: ${shown(value)} instead of ${rule}` };
}

/** One line of at most 160 characters without what looks like a key or a password. */
export function oneLine(text: string): string {
  // Error texts may quote a whole prompt: only what can end up in the line is searched.
  const start = text
    .slice(0, 10 * LONGEST_REASON)
    .replace(/\s+/g, ' ')
    .trim();
  return cut(withoutSecrets(start), LONGEST_REASON);
}

/** The sentence in an error body of SGLang, vLLM, llama.cpp or a web framework, or null if there is none. */
export function messageOf(json: unknown): string | null {
  if (!isRecord(json)) return null;
  const error = json['error'];
  const places = [isRecord(error) ? error['message'] : error, json['message'], json['detail']];
  const message = places.find((place): place is string => typeof place === 'string' && place.trim() !== '');
  return message === undefined ? null : oneLine(message);
}

/** True for an error in any of the engines' forms; a null `error` beside an answer is none. */
export function carriesError(json: JsonRecord): boolean {
  return json['object'] === 'error' || (json['error'] !== undefined && json['error'] !== null);
}

/** What a body that is no API answer says of itself: a proxy's page by its title, other text by its beginning. */
export function textOf(body: string): string {
  const title = /<title>([^<]{1,200})/i.exec(body)?.[1];
  if (title !== undefined) return `HTML page "${oneLine(title)}"`;
  return quote(withoutSecrets(body.trim()));
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

// Servers and gateways echo what they refuse ("Incorrect API key provided: ..."), and reasons end up in committed files.
function withoutSecrets(text: string): string {
  return text
    .slice(0, 10 * LONGEST_REASON)
    .replace(/\/\/[^\s/@]*@/g, '//')
    .replace(/\b(bearer|basic)\s+[^\s"',;]+/gi, '$1 …')
    .replace(/\b(sk|hf|key)[-_][\w-]{6,}/gi, '$1-…')
    .replace(/((?:api[-_ ]?key|token|password|secret)(?:["'\s]+provided)?["']?\s*[:=]\s*["']?)[^\s"',;}]+/gi, '$1…');
}
