import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, parseSettings, type ServerSpec, safeUrl } from '../lib/settings.ts';

const serversOf = (text: string): readonly ServerSpec[] =>
  parseSettings({ flags: {}, environment: { TOKRAMP_SERVERS: text }, file: null }).servers;

function faultsOf(environment: Record<string, string>, fileText: string | null = null): readonly string[] {
  try {
    parseSettings({
      flags: {},
      environment,
      file: fileText === null ? null : { path: 'tokramp.json', text: fileText },
    });
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

const server = (name: string, url: string, gpus = 1): ServerSpec => ({ name, url, gpus });

const VALID: readonly (readonly [string, readonly ServerSpec[]])[] = [
  ['http://a:30000,http://b:30000', [server('s0', 'http://a:30000'), server('s1', 'http://b:30000')]],
  ['http://a/ , x-1=https://b', [server('s0', 'http://a'), server('x-1', 'https://b')]],
  ['HTTP://Gpu_1.local:65535', [server('s0', 'http://Gpu_1.local:65535')]],
  ['http://[::1]:30000', [server('s0', 'http://[::1]:30000')]],
  ['http://me:p%40ss=1@a:1', [server('s0', 'http://me:p%40ss=1@a:1')]],
  ['g=http://me@a', [server('g', 'http://me@a')]],
  ['["http://a", "b=http://b"]', [server('s0', 'http://a'), server('b', 'http://b')]],
  [
    '[{"name":"x","url":"http://a/","gpus":8},{"url":"http://b"}]',
    [server('x', 'http://a', 8), server('s1', 'http://b')],
  ],
];

for (const [text, expected] of VALID) {
  test(`${text} is read as ${expected.length} servers`, () => assert.deepEqual(serversOf(text), expected));
}

/** Text of TOKRAMP_SERVERS, then what its only fault must have. */
const MALFORMED: readonly (readonly [string, string])[] = [
  [
    '10.0.0.5:30000',
    'server 1: got "10.0.0.5:30000", must be http:// or https://, a host and a port, without a path; did you mean http://10.0.0.5:30000?',
  ],
  ['htp://a:1', 'did you mean http://a:1?'],
  ['http:/a:1', 'did you mean http://a:1?'],
  ['ftp://a:1', 'got "ftp://a:1", must be http:// or https://'],
  [
    'http://a:30000/v1',
    'got "http://a:30000/v1", must be http:// or https://, a host and a port, without a path; did you mean http://a:30000?',
  ],
  [
    'http://a:1?key=zz',
    'got "http://a:1?…", must be http:// or https://, a host and a port, without a path; did you mean http://a:1?',
  ],
  ['http://a:1 http://b:2', 'did you mean http://a:1,http://b:2?'],
  ['http://a:1,', 'server 2: got "", must be'],
  ['http://:30000', 'got "http://:30000", must be'],
  ['http://g{0..7}:30000', 'got "http://g{0..7}:30000", must be'],
  ['http://a:0', 'must be a URL whose port is from 1 to 65535'],
  ['http://a:65536', 'must be a URL whose port is from 1 to 65535'],
  ['GPU_1=http://a', 'server 1: got "GPU_1", must be named by 1 to 32 of a-z, 0-9 and "-"; did you mean gpu-1?'],
  ['=http://a', 'server 1: got "", must be named by'],
  [`${'n'.repeat(33)}=http://a`, `did you mean ${'n'.repeat(32)}?`],
  ['http://a,http://A:80/', 'server 2: got "http://A:80", must be a server of its own; it repeats server 1'],
  ['http://localhost:3,http://127.0.0.1:3', 'it repeats server 1'],
  ['https://a,https://a:443', 'it repeats server 1'],
  ['s1=http://a,http://b', 'server 2: got "s1", must be named differently from server 1; did you mean s0?'],
  ['[]', 'got "[]", must be a list of http://host:port'],
  ['[{"url": "http://a"', 'got "[{\\"url\\": \\"http://a\\"", must be a list'],
  ['{"url":"http://a"}', 'must be a list'],
  ['[{"name":"a"}]', 'server 1: got "", must be http:// or https://'],
  ['[{"url":"http://a","gpu":2}]', 'server 1: got "gpu", must be name, url or gpus; did you mean gpus?'],
  ['[{"url":"http://a","gpus":0}]', 'server 1: got "0", must be a whole number from 1 to 1024 (gpus); did you mean 1?'],
  ['[{"url":5}]', 'server 1: got "5", must be http:// or https://'],
  ['[7]', 'server 1: got "7", must be a text or an object'],
];

for (const [text, expected] of MALFORMED) {
  test(`TOKRAMP_SERVERS=${text.slice(0, 50)} is one fault that says which server and what would be valid`, () => {
    const faults = faultsOf({ TOKRAMP_SERVERS: text });
    assert.equal(faults.length, 1, faults.join('\n'));
    assert.ok(faults[0]?.startsWith('TOKRAMP_SERVERS'), faults[0]);
    assert.ok(faults[0]?.includes(expected), faults[0]);
  });
}

test('each faulty server has a fault of its own', () => {
  const faults = faultsOf({ TOKRAMP_SERVERS: 'a:1,http://b,B=c' });
  assert.deepEqual(
    faults.map((fault) => fault.slice(0, 'TOKRAMP_SERVERS, server N'.length)),
    ['TOKRAMP_SERVERS, server 1', 'TOKRAMP_SERVERS, server 3', 'TOKRAMP_SERVERS, server 3'],
  );
});

const SECRET = /hunter|two2/;
const FLEET = { TOKRAMP_SERVERS: 'http://a' };

/** Faulty input that holds the secret "hunter" and "two2", however it is broken. */
const LEAKS: readonly (readonly [string, Record<string, string>, string | null])[] = [
  ['a path after credentials', { TOKRAMP_SERVERS: 'http://me:hunter@a/v1' }, null],
  ['a comma in a password', { TOKRAMP_SERVERS: 'http://me:hunter,two2@a' }, null],
  ['an @ in a password', { TOKRAMP_SERVERS: 'http://me:hunter@two2@a' }, null],
  ['a slash in a password', { TOKRAMP_SERVERS: 'http://me:hunter/two2@a' }, null],
  ['a question mark in a password', { TOKRAMP_SERVERS: 'http://me:hunter?two2@a' }, null],
  ['no scheme', { TOKRAMP_SERVERS: 'me:hunter@a' }, null],
  ['a bad name before credentials', { TOKRAMP_SERVERS: 'B=http://me:hunter@a' }, null],
  ['a repeated server', { TOKRAMP_SERVERS: 'http://me:hunter@a,http://you:two2@a' }, null],
  ['broken JSON of servers', { TOKRAMP_SERVERS: '[{"url":"http://me:hunter@a"' }, null],
  ['servers that are no list', { TOKRAMP_SERVERS: '{"url":"http://me:hunter@a"}' }, null],
  ['a token in a query', { TOKRAMP_SERVERS: 'http://a?token=hunter' }, null],
  ['a key with a line end', { ...FLEET, TOKRAMP_API_KEY: 'hunter\n' }, null],
  ['a key that is not ASCII', { ...FLEET, TOKRAMP_API_KEY: 'hunterü' }, null],
  ['headers that are not JSON', { ...FLEET, TOKRAMP_HEADERS: 'Authorization: hunter' }, null],
  ['a header that is no text', { ...FLEET, TOKRAMP_HEADERS: '{"X":["hunter"]}' }, null],
  ['a header value with a line end', { ...FLEET, TOKRAMP_HEADERS: '{"X":"hunter\\n"}' }, null],
  ['a secret as a header name', { ...FLEET, TOKRAMP_HEADERS: '{"Bearer hunter":"two2"}' }, null],
  ['a mistyped name of the key', { ...FLEET, TOKRAMP_APIKEY: 'hunter' }, null],
  ['a key in the file', FLEET, '{"apiKey":"hunter"}'],
  ['headers in the file', FLEET, '{"headers":{"X":"hunter"}}'],
  ['an unknown key in the file', FLEET, '{"token":"hunter"}'],
  ['a file of broken JSON', FLEET, '{"servers":["http://me:hunter@a"], two2}'],
  ['a short file of broken JSON', FLEET, '"hunter'],
  ['a file that is a text', FLEET, 'hunter'],
  ['servers of a file that are no list', FLEET, '{"servers":"http://me:hunter@a"}'],
  ['a wrong type beside credentials', FLEET, '{"servers":[{"url":"http://me:hunter@a","gpus":"two2"}]}'],
  ['two settings that both authorize', { TOKRAMP_SERVERS: 'http://me:hunter@a', TOKRAMP_API_KEY: 'two2' }, null],
];

for (const [name, environment, file] of LEAKS) {
  test(`a fault about ${name} does not show the secret`, () => {
    const faults = faultsOf(environment, file);
    assert.ok(faults.length > 0);
    assert.doesNotMatch(faults.join('\n'), SECRET);
  });
}

test('a key and headers are taken as they are', () => {
  const environment = { ...FLEET, TOKRAMP_API_KEY: 'sk 1=', TOKRAMP_HEADERS: '{"X-Team":"batch 7","X-Empty":""}' };
  const settings = parseSettings({ flags: {}, environment, file: null });
  assert.equal(settings.apiKey, 'sk 1=');
  assert.deepEqual(settings.headers, { 'X-Team': 'batch 7', 'X-Empty': '' });
});

const SAFE: readonly (readonly [string, string])[] = [
  ['http://a:1', 'http://a:1'],
  ['http://me:pw@a:1', 'http://a:1'],
  ['https://me@a:1/v1/models', 'https://a:1/v1/models'],
  ['http://a:1/health?key=pw#x', 'http://a:1/health'],
  ['http://a:1/x?mail=me@b', 'http://a:1/x'],
  ['http://me:p@w@a', 'http://a'],
  ['http://me:p/w@a', 'http://a'],
  ['http://me:p?w@a:1/x?y', 'http://a:1/x'],
  ['http://me:p#w@a', 'http://a'],
  ['me:pw@a:1', 'a:1'],
  ['http://[::1]:3/x', 'http://[::1]:3/x'],
  ['', ''],
];

for (const [url, expected] of SAFE) {
  test(`the safe form of "${url}" is "${expected}"`, () => assert.equal(safeUrl(url), expected));
}
