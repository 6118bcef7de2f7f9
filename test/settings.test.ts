import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SETTINGS } from '../lib/setting-table.ts';
import { ConfigError, parseSettings, type SettingSources, type Settings } from '../lib/settings.ts';

const SERVERS = 'http://10.0.0.5:30000,http://10.0.0.6:30000';
const FILE = '/srv/bench/tokramp.json';

interface Given {
  readonly flags?: Record<string, string>;
  readonly environment?: Record<string, string | undefined>;
  readonly file?: Record<string, unknown>;
}

function sourcesOf({ flags = {}, environment = {}, file }: Given): SettingSources {
  return {
    flags,
    environment: { TOKRAMP_SERVERS: SERVERS, ...environment },
    file: file === undefined ? null : { path: FILE, text: JSON.stringify(file) },
  };
}

const settingsOf = (given: Given): Settings => parseSettings(sourcesOf(given));

function faultsOf(given: Given): readonly string[] {
  try {
    parseSettings(sourcesOf(given));
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

test('with only servers given, everything else has its documented default', () => {
  assert.deepEqual(settingsOf({}), {
    servers: [
      { name: 's0', url: 'http://10.0.0.5:30000', gpus: 1 },
      { name: 's1', url: 'http://10.0.0.6:30000', gpus: 1 },
    ],
    api: 'generate',
    model: null,
    apiKey: null,
    headers: {},
    tlsInsecure: false,
    maxTokens: 1024,
    stop: 'fixed',
    inputTokens: null,
    prompts: null,
    levels: null,
    limit: null,
    requestSeconds: null,
    overLimit: true,
    hold: 3,
    closingBaseline: true,
    timeoutSeconds: null,
    maxMinutes: null,
    waitSeconds: 0,
    minServers: null,
    cacheIsolation: false,
    plan: null,
    results: null,
    runName: null,
  } satisfies Settings);
});

test('no servers at all is a fault that shows how to name them', () => {
  const sources = { ...sourcesOf({}), environment: {} };
  assert.throws(
    () => parseSettings(sources),
    /^ConfigError: TOKRAMP_SERVERS: not set, .*TOKRAMP_SERVERS=http:\/\/10\.0\.0\.5/,
  );
});

/** Setting, its field in Settings, a text for flag and variable, the JSON for the file, what both must come to. */
const VALID: readonly (readonly [string, keyof Settings, string, unknown, unknown])[] = [
  ['servers', 'servers', 'a=http://h:1', ['a=http://h:1'], [{ name: 'a', url: 'http://h:1', gpus: 1 }]],
  ['api', 'api', 'chat', 'chat', 'chat'],
  ['model', 'model', 'Qwen/Qwen3-8B', 'Qwen/Qwen3-8B', 'Qwen/Qwen3-8B'],
  ['tlsInsecure', 'tlsInsecure', 'yes', true, true],
  ['maxTokens', 'maxTokens', '1', 1, 1],
  ['stop', 'stop', 'natural', 'natural', 'natural'],
  ['inputTokens', 'inputTokens', '512', 512, 512],
  ['prompts', 'prompts', '/data/p.jsonl', '/data/p.jsonl', '/data/p.jsonl'],
  ['levels', 'levels', '1, 2,64', [1, 2, 64], [1, 2, 64]],
  ['limit', 'limit', '37', 37, 37],
  ['requestSeconds', 'requestSeconds', '2.1', 2.1, [2.1]],
  ['overLimit', 'overLimit', 'OFF', false, false],
  ['hold', 'hold', '2.2', 2.2, 2.2],
  ['closingBaseline', 'closingBaseline', '0', false, false],
  ['timeout', 'timeoutSeconds', '1e3', 1000, 1000],
  ['maxMinutes', 'maxMinutes', '0.5', 0.5, 0.5],
  ['wait', 'waitSeconds', ' 300 ', 300, 300],
  ['minServers', 'minServers', '1', 1, 1],
  ['cacheIsolation', 'cacheIsolation', 'on', true, true],
  ['plan', 'plan', '/data/plan.json', '/data/plan.json', '/data/plan.json'],
  ['results', 'results', '/data/results', '/data/results', '/data/results'],
  ['runName', 'runName', 'a.B_9-', 'a.B_9-', 'a.B_9-'],
];

for (const [name, field, text, json, expected] of VALID) {
  test(`${name} is read alike from flag, environment and file`, () => {
    const spec = SETTINGS.find((each) => each.name === name);
    assert.ok(spec);
    const without = { TOKRAMP_SERVERS: name === 'servers' ? undefined : SERVERS };
    assert.deepEqual(settingsOf({ environment: without, flags: { [name]: text } })[field], expected);
    assert.deepEqual(settingsOf({ environment: { ...without, [spec.environment]: text } })[field], expected);
    assert.deepEqual(settingsOf({ environment: without, file: { [name]: json } })[field], expected);
  });
}

test('every setting but the secrets and the file itself is in the table above', () => {
  const expected = SETTINGS.filter((spec) => !spec.isSecret && spec.name !== 'config').map((spec) => spec.name);
  assert.deepEqual(
    VALID.map(([name]) => name),
    expected,
  );
});

test('a flag wins over the environment, and the environment over the file', () => {
  const file = { hold: 5 };
  const environment = { TOKRAMP_HOLD: '6' };
  const flags = { hold: '7' };
  assert.equal(settingsOf({ file }).hold, 5);
  assert.equal(settingsOf({ file, environment }).hold, 6);
  assert.equal(settingsOf({ file, environment, flags }).hold, 7);
});

test('an empty variable and a null in the file count as not set', () => {
  assert.equal(settingsOf({ environment: { TOKRAMP_LIMIT: '' } }).limit, null);
  assert.equal(settingsOf({ environment: { TOKRAMP_LIMIT: ' ' }, file: { limit: 37 } }).limit, 37);
  assert.equal(settingsOf({ file: { limit: null } }).limit, null);
  assert.match(faultsOf({ environment: { TOKRAMP_SERVERS: '' } })[0] ?? '', /^TOKRAMP_SERVERS: not set/);
});

test('an empty flag is a fault, as it shows a variable that the shell did not fill', () => {
  assert.match(faultsOf({ flags: { limit: '' } })[0] ?? '', /^--limit: got "", must be a whole number/);
});

test('a relative path in the file is relative to the folder of the file', () => {
  assert.equal(settingsOf({ file: { plan: 'plans/a.json' } }).plan, '/srv/bench/plans/a.json');
  assert.equal(settingsOf({ environment: { TOKRAMP_PLAN: 'plans/a.json' } }).plan, 'plans/a.json');
});

/** Variable, text received, text that the one fault must have: the rule, then the nearest valid choice. */
const MALFORMED: readonly (readonly [string, string, string])[] = [
  ['TOKRAMP_API', 'completion', 'must be one of generate, completions, chat; did you mean completions?'],
  ['TOKRAMP_API', 'x', 'must be one of generate, completions, chat; for example generate'],
  ['TOKRAMP_MODEL', 'a\nb', 'must be a text on one line; did you mean a b?'],
  ['TOKRAMP_TLS_INSECURE', 'ture', 'must be true or false (also on/off, yes/no, 1/0); did you mean true?'],
  ['TOKRAMP_MAX_TOKENS', '0', 'must be a whole number of at least 1 (tokens); did you mean 1?'],
  ['TOKRAMP_MAX_TOKENS', '1,024', 'did you mean 1024?'],
  ['TOKRAMP_MAX_TOKENS', '64 tokens', 'did you mean 64?'],
  ['TOKRAMP_MAX_TOKENS', '1.6', 'did you mean 2?'],
  ['TOKRAMP_MAX_TOKENS', 'NaN', 'for example 1024'],
  ['TOKRAMP_MAX_TOKENS', '1e999', 'for example 1024'],
  ['TOKRAMP_MAX_TOKENS', '0x10', 'for example 1024'],
  ['TOKRAMP_STOP', 'nature', 'must be one of fixed, natural; did you mean natural?'],
  ['TOKRAMP_INPUT_TOKENS', '-5', 'must be a whole number of at least 1 (tokens); did you mean 1?'],
  ['TOKRAMP_LEVELS', '8,4,4', 'ascending and without repetition, each a whole number'],
  ['TOKRAMP_LEVELS', '4 2 1', 'did you mean 1,2,4?'],
  ['TOKRAMP_LEVELS', '1,2,', 'did you mean 1,2?'],
  ['TOKRAMP_LEVELS', '0,1', 'for example 1,2,4,8'],
  ['TOKRAMP_LEVELS', '1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17', 'must be a list of at most 16'],
  ['TOKRAMP_LIMIT', '0', 'must be a whole number from 1 to 100000 (requests); did you mean 1?'],
  ['TOKRAMP_LIMIT', '100001', 'did you mean 100000?'],
  ['TOKRAMP_REQUEST_SECONDS', '2.1;3', 'each a number of at least 0.001 (seconds); did you mean 2.1,3?'],
  ['TOKRAMP_OVER_LIMIT', 'maybe', 'must be true or false'],
  ['TOKRAMP_HOLD', '2.19', 'must be a number from 2.2 to 100 (R); did you mean 2.2?'],
  ['TOKRAMP_HOLD', '600', 'did you mean 100?'],
  ['TOKRAMP_CLOSING_BASELINE', '2', 'must be true or false'],
  ['TOKRAMP_TIMEOUT', '2m', 'must be a number of at least 1 (seconds); did you mean 120?'],
  ['TOKRAMP_TIMEOUT', '0.9', 'did you mean 1?'],
  ['TOKRAMP_MAX_MINUTES', '2h', 'must be a number of at least 0.1 (minutes); did you mean 120?'],
  ['TOKRAMP_WAIT', '-1', 'must be a number of at least 0 (seconds); did you mean 0?'],
  ['TOKRAMP_MIN_SERVERS', '0', 'must be a whole number of at least 1 (servers); did you mean 1?'],
  ['TOKRAMP_CACHE_ISOLATION', 'fasle', 'did you mean false?'],
  ['TOKRAMP_RUN_NAME', 'night run/7', 'must be 1 to 64 of A-Z, a-z, 0-9, ".", "_" and "-"; did you mean night-run-7?'],
  ['TOKRAMP_RUN_NAME', 'x'.repeat(65), `did you mean ${'x'.repeat(64)}?`],
];

for (const [variable, text, expected] of MALFORMED) {
  test(`${variable}=${JSON.stringify(text).slice(0, 40)} is one fault with name, text, rule and nearest choice`, () => {
    const inEnvironment = faultsOf({ environment: { [variable]: text } });
    assert.equal(inEnvironment.length, 1, inEnvironment.join('\n'));
    const fault = inEnvironment[0] ?? '';
    const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
    assert.ok(fault.startsWith(`${variable}: got ${shown}, must be `), fault);
    assert.ok(fault.includes(expected), fault);
    const spec = SETTINGS.find((each) => each.environment === variable);
    assert.ok(spec);
    assert.deepEqual(faultsOf({ flags: { [spec.name]: text } }), [fault.replace(variable, spec.flag)]);
  });
}

/** Key of the file, JSON received, text that the one fault must have. */
const MALFORMED_IN_FILE: readonly (readonly [string, unknown, string])[] = [
  ['servers', 'http://a:1', 'got "http://a:1", must be a list'],
  ['servers', [5], 'server 1: got "5", must be a text or an object'],
  ['api', 3, 'got "3", must be one of generate'],
  ['model', { a: 1 }, 'got "{\\"a\\":1}", must be a text on one line'],
  ['tlsInsecure', 'true', 'got "true", must be true or false (also on/off, yes/no, 1/0); write it without quotes'],
  ['maxTokens', '64', 'got "64", must be a whole number of at least 1 (tokens); write it without quotes'],
  ['stop', true, 'must be one of fixed, natural'],
  ['inputTokens', 1.5, 'must be a whole number'],
  ['prompts', '', 'got "", must be a path'],
  ['levels', [1, '2'], 'got "1,2", must be a list'],
  ['levels', [], 'must be a list'],
  ['limit', [37], 'got "[37]", must be a whole number'],
  ['requestSeconds', [0], 'each a number of at least 0.001'],
  ['overLimit', 1, 'must be true or false'],
  ['hold', true, 'must be a number from 2.2'],
  ['closingBaseline', 'off', 'must be true or false'],
  ['timeout', '60s', 'did you mean 60?'],
  ['maxMinutes', 0, 'did you mean 0.1?'],
  ['wait', -1, 'did you mean 0?'],
  ['minServers', 0.5, 'did you mean 1?'],
  ['cacheIsolation', 'x', 'must be true or false'],
  ['plan', 7, 'must be a path'],
  ['results', ['a'], 'must be a path'],
  ['runName', 'a b', 'did you mean a-b?'],
];

for (const [key, value, expected] of MALFORMED_IN_FILE) {
  test(`"${key}": ${JSON.stringify(value)} in the file is one fault that names key and file`, () => {
    const faults = faultsOf({
      environment: { TOKRAMP_SERVERS: key === 'servers' ? '' : SERVERS },
      file: { [key]: value },
    });
    assert.equal(faults.length, 1, faults.join('\n'));
    assert.ok(faults[0]?.startsWith(`"${key}" in ${FILE}`), faults[0]);
    assert.ok(faults[0]?.includes(expected), faults[0]);
  });
}

test('every setting but the secrets and the file itself is malformed in one of the tables above', () => {
  const named = new Set(MALFORMED_IN_FILE.map(([name]) => name));
  const expected = SETTINGS.filter((spec) => !spec.isSecret && spec.name !== 'config').map((spec) => spec.name);
  assert.deepEqual([...named], expected);
});

test('the faults of all sources come at once, also of values that another source overrules', () => {
  const faults = faultsOf({
    flags: { hold: '1' },
    environment: { TOKRAMP_HOLD: '2', TOKRAMP_API: 'rest', TOKRAMP_LIMITS: '3' },
    file: { hold: 0, wait: 'x', servers: [] },
  });
  const names = ['TOKRAMP_LIMITS', '"servers" in', 'TOKRAMP_API', '--hold', 'TOKRAMP_HOLD', '"hold" in', '"wait" in'];
  assert.deepEqual(
    faults.map((fault, at) => fault.startsWith(names[at] ?? '-')),
    names.map(() => true),
    faults.join('\n'),
  );
});

test('the message of a ConfigError is its faults, one a line', () => {
  assert.equal(new ConfigError(['a', 'b']).message, 'a\nb');
});
