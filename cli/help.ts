/** `--help` of a command and the README's table of settings, both from the one table. */
import { SETTINGS, type SettingSpec } from '../lib/setting-table.ts';
import { negated, type OptionSpec } from './arguments.ts';
import { SETTING_WORDS } from './setting-words.ts';

/** What `--help` of a command says. */
export interface HelpPage {
  readonly usage: string;
  readonly summary: string;
  readonly commands: readonly { readonly name: string; readonly summary: string }[];
  readonly options: readonly OptionSpec[];
  readonly settings: readonly SettingSpec[];
  readonly exitCodes: readonly { readonly code: number; readonly meaning: string }[];
}

const COLUMNS = 100;
const INDENT = '  ';
const DETAIL = '      ';

/** The page as text, lines of at most 100 columns; a part without rows is left out. */
export function renderHelp(page: HelpPage): string {
  const parts = [
    [`Usage: ${page.usage}`],
    wrap(page.summary, ''),
    titled('Commands:', aligned(page.commands.map(({ name, summary }) => [name, summary]))),
    titled('Options:', aligned(page.options.map((option) => [usageOf(option), option.description]))),
    titled('Settings (a flag wins over the environment, the environment over the file):', page.settings.flatMap(entry)),
    titled('Exit codes:', aligned(page.exitCodes.map(({ code, meaning }) => [String(code), meaning]))),
  ];
  return `${parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

const titled = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [title, ...lines];

const usageOf = ({ name, placeholder }: OptionSpec): string =>
  placeholder === null ? `--${name}` : `--${name} ${placeholder}`;

/** Two columns, the first as wide as its longest text. */
function aligned(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(0, ...rows.map(([left]) => left.length)) + 2;
  return rows.flatMap(([left, right]) => {
    const [first = '', ...others] = wrap(right, INDENT + ' '.repeat(width));
    return [`${INDENT}${left.padEnd(width)}${first.trimStart()}`, ...others];
  });
}

/** The compiler holds the words complete; a name from the table is always among them. */
const wordsOf = (spec: SettingSpec) => SETTING_WORDS[spec.name as keyof typeof SETTING_WORDS];

function entry(spec: SettingSpec): readonly string[] {
  const takes = `${spec.kind.rule}. Default: ${wordsOf(spec).default}.`;
  return [`${INDENT}${spellings(spec).join(', ')}`, ...wrap(`${wordsOf(spec).meaning}. Value: ${takes}`, DETAIL)];
}

/** How a setting is written on the command line and in the environment. */
function spellings(spec: SettingSpec): readonly string[] {
  if (!spec.sources.includes('flag')) return [`${spec.environment} (environment only)`];
  if (spec.isToggle) return [spec.flag, negated(spec), spec.environment];
  return [`${spec.flag} ${spec.kind.placeholder}`, spec.environment];
}

function wrap(text: string, indent: string): readonly string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    const isFirst = line.length === indent.length;
    if (!isFirst && line.length + 1 + word.length > COLUMNS) {
      lines.push(line);
      line = indent + word;
    } else {
      line += isFirst ? word : ` ${word}`;
    }
  }
  return [...lines, line];
}

const NOWHERE = '–';

/** The table of settings in Markdown. */
export function settingsMarkdown(): string {
  const rows = SETTINGS.map((spec) => [
    spec.sources.includes('flag') ? code(spec.flag) : NOWHERE,
    code(spec.environment),
    spec.sources.includes('file') ? code(spec.name) : NOWHERE,
    wordsOf(spec).meaning,
    spec.kind.rule,
    wordsOf(spec).default,
  ]);
  const titles = ['Flag', 'Environment', 'File', 'Meaning', 'Value', 'Default'];
  const lines = [titles, titles.map(() => '---'), ...rows.map((cells) => cells.map(escapeCell))];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const code = (text: string): string => `\`${text}\``;

/** A bar would end the cell and < begin a tag. */
const escapeCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

const BEGIN = '<!-- settings:begin -->';
const END = '<!-- settings:end -->';

/** The README with the table between its two markers renewed. */
export function replaceSettingsTable(readme: string): string {
  const begin = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  if (begin === -1 || end < begin) throw new Error(`README: must have ${BEGIN} and, after it, ${END}`);
  return `${readme.slice(0, begin + BEGIN.length)}\n${settingsMarkdown()}\n${readme.slice(end)}`;
}
