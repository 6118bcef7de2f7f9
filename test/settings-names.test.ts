import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editDistance, nearest } from '../lib/nearest.ts';
import { quote } from '../lib/quote.ts';
import { ConfigError, parseSettings, type SettingSources } from '../lib/settings.ts';

const SERVERS = { TOKRAMP_SERVERS: 'http://a,http://b' };

function faultsOf(sources: Partial<SettingSources>): readonly string[] {
  const environment = { ...SERVERS, ...sources.environment };
  try {
    parseSettings({ flags: sources.flags ?? {}, environment, file: sources.file ?? null });
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

const fileOf = (text: string) => ({ path: 'tokramp.json', text });

/** Variable that no setting has, and the name suggested for it, or null. */
const UNKNOWN: readonly (readonly [string, string | null])[] = [
  ['TOKRAMP_LIMITS', 'TOKRAMP_LIMIT'],
  ['TOKRAMP_SERVER', 'TOKRAMP_SERVERS'],
  ['TOKRAMP_MAXTOKENS', 'TOKRAMP_MAX_TOKENS'],
  ['TOKRAMP_HOLDS', 'TOKRAMP_HOLD'],
  ['TOKRAMP_LEVLES', 'TOKRAMP_LEVELS'],
  ['TOKRAMP_TIMEOUT_SECONDS', 'TOKRAMP_TIMEOUT'],
  ['TOKRAMP_API_TOKEN', 'TOKRAMP_API_KEY'],
  ['tokramp_plan', 'TOKRAMP_PLAN'],
  ['TOKRAMP_', null],
  ['TOKRAMP_QQQQQQ', null],
];

for (const [variable, suggestion] of UNKNOWN) {
  test(`${variable} is a fault that ${suggestion === null ? 'refers to --help' : `suggests ${suggestion}`}`, () => {
    const remedy = suggestion === null ? 'see --help' : `did you mean ${suggestion}?`;
    assert.deepEqual(faultsOf({ environment: { [variable]: 'x' } }), [
      `${variable}: no setting has this name; ${remedy}`,
    ]);
  });
}

test('variables of the simulator, of others and without a value do not concern the suite', () => {
  const environment = { TOKRAMP_SIM_FAULTS: 'x', K6_VUS: '5', PATH: '/bin', TOKRAMP_GONE: undefined };
  assert.deepEqual(faultsOf({ environment }), []);
});

test('TOKRAMP_CONFIG is a known name', () => {
  assert.deepEqual(faultsOf({ environment: { TOKRAMP_CONFIG: 'my.json' } }), []);
});

test('an unknown key of the file and an unknown flag are faults with the nearest name', () => {
  assert.deepEqual(faultsOf({ file: fileOf('{"maxTokns": 5}'), flags: { holt: '3' } }), [
    '--holt: no setting has this name; did you mean "hold"?',
    '"maxTokns" in tokramp.json: no setting has this name; did you mean "maxTokens"?',
  ]);
});

test('names of every object are unknown keys like any other', () => {
  assert.deepEqual(faultsOf({ file: fileOf('{"toString": 5}') }), [
    '"toString" in tokramp.json: no setting has this name; see --help',
  ]);
});

test('secrets are refused wherever they would be stored or listed', () => {
  assert.deepEqual(
    faultsOf({ file: fileOf('{"apiKey": "k", "headers": {}}'), flags: { apiKey: 'k', headers: '{}' } }),
    [
      '--api-key: secrets come by the environment only; set TOKRAMP_API_KEY',
      '--headers: secrets come by the environment only; set TOKRAMP_HEADERS',
      '"apiKey" in tokramp.json: secrets come by the environment only; set TOKRAMP_API_KEY',
      '"headers" in tokramp.json: secrets come by the environment only; set TOKRAMP_HEADERS',
    ],
  );
});

test('a file cannot name another file', () => {
  assert.deepEqual(faultsOf({ file: fileOf('{"config": "x.json"}') }), [
    '"config" in tokramp.json: cannot be set here; set TOKRAMP_CONFIG',
  ]);
});

const BROKEN_FILES: readonly (readonly [string, RegExp])[] = [
  ['{"hold": 3,}', /^tokramp\.json:1:12: is not JSON \(Expected double-quoted property name\)$/],
  ['{\n "hold": 3\n "wait": 1}', /^tokramp\.json:3:2: is not JSON \(Expected ',' or '}' after property value\)$/],
  ['{"hold": x}', /^tokramp\.json: is not JSON \(Unexpected token 'x'\)$/],
  ['', /^tokramp\.json: is not JSON \(Unexpected end of JSON input\)$/],
  ['[1]', /^tokramp\.json: must be a JSON object of settings, for example /],
  ['null', /^tokramp\.json: must be a JSON object of settings, for example /],
];

for (const [text, expected] of BROKEN_FILES) {
  test(`the file ${JSON.stringify(text)} is one fault that names its path`, () => {
    const faults = faultsOf({ file: fileOf(text) });
    assert.equal(faults.length, 1, faults.join('\n'));
    assert.match(faults[0] ?? '', expected);
  });
}

/** Environment, and the fault that its settings make together; null where they go together. */
const TOGETHER: readonly (readonly [Record<string, string>, string | null])[] = [
  [{ TOKRAMP_LEVELS: '1,8', TOKRAMP_LIMIT: '8', TOKRAMP_OVER_LIMIT: 'off' }, null],
  [{ TOKRAMP_LEVELS: '1,9', TOKRAMP_LIMIT: '8' }, null],
  [
    { TOKRAMP_LEVELS: '1,9', TOKRAMP_LIMIT: '8', TOKRAMP_OVER_LIMIT: 'off' },
    'TOKRAMP_LEVELS with TOKRAMP_LIMIT with TOKRAMP_OVER_LIMIT: level 9 is over the limit 8, and levels over it are off; end the levels at 8, raise the limit or turn overLimit on',
  ],
  [{ TOKRAMP_LEVELS: '1,2,4', TOKRAMP_REQUEST_SECONDS: '2' }, null],
  [{ TOKRAMP_LEVELS: '1,2,4', TOKRAMP_REQUEST_SECONDS: '2,2,3' }, null],
  [{ TOKRAMP_REQUEST_SECONDS: '2' }, null],
  [
    { TOKRAMP_LEVELS: '1,2,4', TOKRAMP_REQUEST_SECONDS: '2,2' },
    'TOKRAMP_REQUEST_SECONDS with TOKRAMP_LEVELS: 2 durations for 3 levels; give one for all levels or one for each',
  ],
  [
    { TOKRAMP_REQUEST_SECONDS: '2,2' },
    'TOKRAMP_REQUEST_SECONDS with TOKRAMP_LEVELS: 2 durations for levels that are not given; give one for all levels or one for each',
  ],
  [{ TOKRAMP_MIN_SERVERS: '2' }, null],
  [
    { TOKRAMP_MIN_SERVERS: '3' },
    'TOKRAMP_MIN_SERVERS with TOKRAMP_SERVERS: at least 3 of 2 servers cannot be; the most is 2',
  ],
  [{ TOKRAMP_INPUT_TOKENS: '9', TOKRAMP_API: 'generate' }, null],
  [{ TOKRAMP_INPUT_TOKENS: '9', TOKRAMP_API: 'chat' }, null],
  [
    { TOKRAMP_INPUT_TOKENS: '9', TOKRAMP_PROMPTS: 'p' },
    'TOKRAMP_INPUT_TOKENS with TOKRAMP_PROMPTS: the prompts of a file have lengths of their own; give one of the two',
  ],
  [{ TOKRAMP_API_KEY: 'k', TOKRAMP_HEADERS: '{"X-A":"b"}' }, null],
  [
    { TOKRAMP_API_KEY: 'k', TOKRAMP_HEADERS: '{"authorization":"b"}', TOKRAMP_SERVERS: 'http://u:p@a' },
    'TOKRAMP_API_KEY with TOKRAMP_HEADERS with TOKRAMP_SERVERS: each makes the Authorization header, of which a request has one; give one of them',
  ],
];

for (const [environment, expected] of TOGETHER) {
  test(`${Object.keys(environment).join(' ')} ${expected === null ? 'go together' : 'do not go together'} (${Object.values(environment).join(' ')})`, () => {
    assert.deepEqual(faultsOf({ environment }), expected === null ? [] : [expected]);
  });
}

test('a rule between settings is silent where one of them is at fault itself, and names each as it was written', () => {
  assert.equal(faultsOf({ environment: { TOKRAMP_LEVELS: '1,x', TOKRAMP_REQUEST_SECONDS: '2,2' } }).length, 1);
  const [fault] = faultsOf({ flags: { prompts: 'p' }, file: fileOf('{"inputTokens": 9}') });
  assert.match(fault ?? '', /^"inputTokens" in tokramp\.json with --prompts: /);
});

test('the edit distance counts insertions, deletions, replacements and swaps of neighbours', () => {
  const distances: readonly (readonly [string, string, number])[] = [
    ['', '', 0],
    ['', 'abc', 3],
    ['abc', '', 3],
    ['limit', 'limits', 1],
    ['hold', 'holt', 1],
    ['levles', 'levels', 1],
    ['kitten', 'sitting', 3],
  ];
  for (const [from, to, expected] of distances) assert.equal(editDistance(from, to), expected, `${from} -> ${to}`);
});

test('nothing is suggested where more than half of a name would have to change', () => {
  assert.equal(nearest('abcd', ['abxx']), 'abxx');
  assert.equal(nearest('abcd', ['axxx']), null);
  assert.equal(nearest('abcd', []), null);
});

test('a quoted text is cut at 60 characters and has its control characters escaped', () => {
  assert.equal(quote('x'.repeat(60)), `"${'x'.repeat(60)}"`);
  assert.equal(quote('x'.repeat(61)), `"${'x'.repeat(60)}…"`);
  assert.equal(quote('a\n"b'), '"a\\n\\"b"');
});
