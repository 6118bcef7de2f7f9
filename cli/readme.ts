/** The parts of the README that are made from code, so that they cannot disagree with it. */
import type { RunResult } from '../lib/result.ts';
import { renderRun } from '../lib/text.ts';
import { EXIT, EXIT_MEANINGS, type ExitName } from './exit-codes.ts';
import { replaceSettingsTable } from './help.ts';

/** The README with its tables and the text of the example run renewed. */
export function renewReadme(readme: string, example: RunResult): string {
  const withSettings = replaceSettingsTable(readme).replace(
    /(?<=<!-- settings:begin -->\n)[\s\S]*?(?=\n<!--)/,
    aligned,
  );
  const withCodes = replacePart(withSettings, 'exit-codes', aligned(exitCodesMarkdown()));
  return replacePart(withCodes, 'example', ['```text', renderRun(example).trimEnd(), '```'].join('\n'));
}

function exitCodesMarkdown(): string {
  const names = Object.keys(EXIT) as ExitName[];
  const rows = names.map((name) => `| ${EXIT[name]} | ${EXIT_MEANINGS[name]} |`);
  return ['| Code | Meaning |', '| --- | --- |', ...rows].join('\n');
}

/** A table as the formatter leaves it: columns as wide as their widest cell. */
function aligned(markdown: string): string {
  const rows = markdown.split('\n').map((line) => line.slice(2, -2).split(' | '));
  const widths = rows.reduce<number[]>(
    (found, row) => row.map((cell, column) => Math.max(found[column] ?? 3, cell.length)),
    [],
  );
  const pad = (cell: string, column: number): string => cell.padEnd(widths[column] ?? 0, cell === '---' ? '-' : ' ');
  return rows.map((row) => `| ${row.map(pad).join(' | ')} |`).join('\n');
}

function replacePart(readme: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const from = readme.indexOf(begin);
  const to = readme.indexOf(end);
  if (from === -1 || to < from) throw new Error(`README: must have ${begin} and, after it, ${end}`);
  return `${readme.slice(0, from + begin.length)}\n${text}\n${readme.slice(to)}`;
}
