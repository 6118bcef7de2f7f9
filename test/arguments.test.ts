import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  type AllowedArguments,
  type Arguments,
  parseArguments,
  readConfigFile,
  settingsEnvironment,
} from '../cli/arguments.ts';
import { renderHelp, replaceSettingsTable, settingsMarkdown } from '../cli/help.ts';
import { SETTINGS } from '../lib/setting-table.ts';
import { ConfigError, parseSettings } from '../lib/settings.ts';

const OPTIONS = [
  { name: 'json', placeholder: null, description: 'Print JSON' },
  { name: 'out', placeholder: 'FILE', description: 'Write to this file' },
];
const ALLOWED: AllowedArguments = { settings: SETTINGS, options: OPTIONS, positional: ['RESULT'] };
const NPM = 'with npm, write "--" before the flags';

const parse = (...argv: string[]): Arguments => parseArguments(argv, { allowed: ALLOWED });

function faultsOf(argv: readonly string[], allowed: AllowedArguments = ALLOWED): readonly string[] {
  try {
    parseArguments(argv, { allowed });
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

test('a value follows its flag or an equals sign, and everything lands where it belongs', () => {
  const argv = ['--max-tokens', '64', '--servers=a=http://h:1', 'run.json', '--json', '--out', 'x', '--wait', '-3'];
  assert.deepEqual(parse(...argv), {
    settings: { maxTokens: '64', servers: 'a=http://h:1', wait: '-3' },
    options: { json: 'true', out: 'x' },
    positional: ['run.json'],
  });
});

test('no arguments are no settings', () => {
  assert.deepEqual(parse(), { settings: {}, options: {}, positional: [] });
});

const TOGGLES: readonly (readonly [string, string])[] = [
  ['--over-limit', 'true'],
  ['--no-over-limit', 'false'],
  ['--over-limit=off', 'off'],
];

for (const [flag, expected] of TOGGLES) {
  test(`${flag} needs no value and leaves the next argument alone`, () => {
    assert.deepEqual(parse(flag, 'run.json'), {
      settings: { overLimit: expected },
      options: {},
      positional: ['run.json'],
    });
  });
}

test('each setting that may be a flag is one, under its name in kebab-case', () => {
  for (const spec of SETTINGS.filter((each) => each.sources.includes('flag'))) {
    const kebab = `--${spec.name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`;
    assert.deepEqual(parse(`${kebab}=x`).settings, { [spec.name]: 'x' });
  }
});

for (const flag of ['--help', '-h']) {
  test(`${flag} makes everything else on the line irrelevant`, () => {
    assert.deepEqual(parse('--bogus', '--limit', flag), { settings: {}, options: { help: 'true' }, positional: [] });
  });
}

/** Command line, and all its faults. */
const FAULTY: readonly (readonly [readonly string[], readonly string[]])[] = [
  [['--max-token', '64'], ['--max-token: this command has no such flag; did you mean --max-tokens?']],
  [['--max-token=64'], ['--max-token: this command has no such flag; did you mean --max-tokens?']],
  [['--no-over-limits'], ['--no-over-limits: this command has no such flag; did you mean --no-over-limit?']],
  [['--jsn'], ['--jsn: this command has no such flag; did you mean --json?']],
  [['--no-limit'], ['--no-limit: this command has no such flag; did you mean --limit?']],
  [['--qqqqqq'], ['--qqqqqq: this command has no such flag; see --help']],
  [['-x'], ['-x: this command has no such flag; see --help']],
  [['--limit'], ['--limit: a value is missing; write --limit VALUE or --limit=VALUE']],
  [['--limit='], ['--limit: a value is missing; write --limit VALUE or --limit=VALUE']],
  [['--limit', ''], ['--limit: a value is missing; write --limit VALUE or --limit=VALUE']],
  [['--over-limit='], ['--over-limit: a value is missing; write --over-limit VALUE or --over-limit=VALUE']],
  [['--limit', '--hold', '3'], ['--limit: a value is missing; write --limit VALUE or --limit=VALUE']],
  [['--no-over-limit=yes'], ['--no-over-limit: takes no value, got "yes"']],
  [['--json=1'], ['--json: takes no value, got "1"']],
  [['--limit', '3', '--limit=4'], ['--limit: given more than once']],
  [['--over-limit', '--no-over-limit'], ['--no-over-limit: given more than once']],
  [['a', 'b'], [`"b": this command takes only RESULT; ${NPM}`]],
  [
    ['a', 'off'],
    [`"off": this command takes only RESULT; to turn something on or off write --name or --no-name; ${NPM}`],
  ],
  [
    ['--bogu', '--hold'],
    [
      '--bogu: this command has no such flag; see --help',
      '--hold: a value is missing; write --hold VALUE or --hold=VALUE',
    ],
  ],
];

for (const [argv, expected] of FAULTY) {
  test(`"${argv.join(' ')}" is refused: ${expected.length} faults`, () => assert.deepEqual(faultsOf(argv), expected));
}

test('a command without settings or arguments refuses both', () => {
  const none: AllowedArguments = { settings: [], options: [], positional: [] };
  assert.deepEqual(faultsOf(['8', '--limit=8'], none), [
    `"8": this command takes no argument without a flag; ${NPM}`,
    '--limit: this command has no such flag; see --help',
  ]);
});

const LEAKS: readonly (readonly string[])[] = [
  ['--api-key', 'hunter'],
  ['--api-key=hunter'],
  ['--headers', '{"X":"hunter"}'],
  ['--apikey', 'hunter'],
  ['--qqqqqq', 'hunter'],
  ['--qqqqqq=hunter'],
  ['run.json', 'http://me:hunter@a,http://b'],
];

for (const argv of LEAKS) {
  test(`the faults of "${argv.join(' ')}" do not show what may be a secret`, () => {
    const faults = faultsOf(argv);
    assert.equal(faults.length, 1, faults.join('\n'));
    assert.doesNotMatch(faults.join('\n'), /hunter/);
  });
}

test('a secret given as a flag is answered with its variable', () => {
  assert.deepEqual(faultsOf(['--api-key', 'k']), [
    '--api-key: secrets come by the environment only; set TOKRAMP_API_KEY',
  ]);
});

test('flags are handed on as variables, with paths of flags and environment made absolute', () => {
  const { settings } = parse('--plan', 'plans/a.json', '--no-over-limit', '--limit', '37');
  const environment = { TOKRAMP_RESULTS: '../out', TOKRAMP_PLAN: 'overruled', TOKRAMP_HOLD: '4', TOKRAMP_PROMPTS: '' };
  assert.deepEqual(settingsEnvironment(settings, '/home/me', environment), {
    TOKRAMP_LIMIT: '37',
    TOKRAMP_OVER_LIMIT: 'false',
    TOKRAMP_PLAN: '/home/me/plans/a.json',
    TOKRAMP_RESULTS: '/home/out',
  });
});

test('settings handed on as variables parse to the same settings', () => {
  const { settings } = parse('--servers', 'http://a', '--levels', '1,2', '--hold=2.5', '--run-name', 'n', '--plan=/p');
  assert.deepEqual(
    parseSettings({ flags: {}, environment: settingsEnvironment(settings, '/'), file: null }),
    parseSettings({ flags: settings, environment: {}, file: null }),
  );
});

function folderFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'tokramp-arguments-'));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('the file of the checkout is read where there is one, and its absence is no fault', (context) => {
  const checkout = folderFor(context);
  const from = { environment: { TOKRAMP_CONFIG: ' ' }, checkout, cwd: '/' };
  assert.equal(readConfigFile(from), null);
  writeFileSync(join(checkout, 'tokramp.json'), '{}');
  assert.deepEqual(readConfigFile(from), { path: join(checkout, 'tokramp.json'), text: '{}' });
});

test('the named file is read relative to the working directory and wins over that of the checkout', (context) => {
  const checkout = folderFor(context);
  writeFileSync(join(checkout, 'tokramp.json'), '{}');
  writeFileSync(join(checkout, 'mine.json'), '{"hold":4}');
  const from = { environment: { TOKRAMP_CONFIG: 'mine.json' }, checkout, cwd: checkout };
  assert.deepEqual(readConfigFile(from), { path: join(checkout, 'mine.json'), text: '{"hold":4}' });
});

test('a named file that is absent or a folder is one fault with name, text and path', (context) => {
  const cwd = folderFor(context);
  mkdirSync(join(cwd, 'folder'));
  const read = (name: string) => readConfigFile({ environment: { TOKRAMP_CONFIG: name }, checkout: cwd, cwd });
  const fault = (name: string, reason: string) => ({
    name: 'ConfigError',
    message: `TOKRAMP_CONFIG: got "${name}", must be a file of settings; ${join(cwd, name)}: ${reason}`,
  });
  assert.throws(() => read('absent.json'), fault('absent.json', 'there is no such file'));
  assert.throws(() => read('folder'), fault('folder', 'it cannot be read (EISDIR)'));
});

const PAGE = {
  usage: 'npm run ramp -- [--setting value ...]',
  summary: 'Ramp all servers at once.',
  commands: [{ name: 'smoke', summary: 'One request per server' }],
  options: OPTIONS,
  settings: SETTINGS,
  exitCodes: [
    { code: 0, meaning: 'all well' },
    { code: 130, meaning: 'interrupted' },
  ],
};

test('help names usage, commands, options, every setting with its default, and exit codes, within 100 columns', () => {
  const help = renderHelp(PAGE);
  const parts = ['Usage: npm run ramp', 'Ramp all servers', '  smoke  One', '  --out FILE  Write', '  0    all well'];
  for (const part of parts) assert.ok(help.includes(part), part);
  for (const spec of SETTINGS) {
    assert.ok(help.includes(spec.environment), spec.environment);
    assert.ok(help.replace(/\s+/g, ' ').includes(`Value: ${spec.kind.rule}. Default: `), spec.name);
    assert.equal(help.includes(`  ${spec.flag}`), !spec.isSecret, spec.flag);
  }
  for (const line of help.split('\n')) assert.ok(line.length <= 100, line);
});

test('help leaves out parts that a command does not have', () => {
  const help = renderHelp({ ...PAGE, commands: [], options: [], settings: [], exitCodes: [] });
  assert.equal(help, 'Usage: npm run ramp -- [--setting value ...]\n\nRamp all servers at once.\n');
});

test('the table for the README has one row per setting and the same number of cells in each', () => {
  const lines = settingsMarkdown().split('\n');
  assert.equal(lines.length, SETTINGS.length + 2);
  for (const line of lines) assert.equal(line.split(/(?<!\\)\|/).length, 8, line);
  assert.ok(lines.some((line) => line.startsWith('| – | `TOKRAMP_API_KEY` | – |')));
  assert.ok(lines.some((line) => line.startsWith('| `--max-tokens` | `TOKRAMP_MAX_TOKENS` | `maxTokens` |')));
});

test('renewing the table touches only what is between the markers, and again changes nothing', () => {
  const readme = '# a\n<!-- settings:begin -->\nold\n<!-- settings:end -->\nb\n';
  const renewed = replaceSettingsTable(readme);
  const expected = `# a\n<!-- settings:begin -->\n${settingsMarkdown()}\n<!-- settings:end -->\nb\n`;
  assert.equal(renewed, expected);
  assert.equal(replaceSettingsTable(renewed), expected);
});

test('a README without both markers in order is refused', () => {
  for (const readme of ['', '<!-- settings:begin -->', '<!-- settings:end --><!-- settings:begin -->']) {
    assert.throws(() => replaceSettingsTable(readme), /README: must have <!-- settings:begin --> and, after it/);
  }
});
