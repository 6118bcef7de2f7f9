import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointOf } from '../lib/ask.ts';

const NOTHING = { apiKey: null, headers: {} };
const server = (url: string) => ({ name: 's0', url, gpus: 1 });

/** Each: what stands before the @, and the bytes that it means. */
const CREDENTIALS: readonly (readonly [string, string])[] = [
  ['user:password', 'user:password'],
  ['token', 'token:'],
  ['u:', 'u:'],
  ['u:p%40ss%2C', 'u:p@ss,'],
  ['u:50%off', 'u:50%off'],
  ['u:p^s"s', 'u:p^s"s'],
  ['ü:é%C3%A9€😀', 'ü:éé€😀'],
];

for (const [written, meant] of CREDENTIALS) {
  test(`the credentials ${written} go into a header and out of the URL`, () => {
    const { url, headers } = endpointOf(server(`https://${written}@host:30000`), NOTHING);
    assert.equal(url, 'https://host:30000');
    assert.equal(headers['Authorization'], `Basic ${Buffer.from(meant, 'utf8').toString('base64')}`);
  });
}

test('without credentials there is no Authorization header, and the key makes one', () => {
  assert.deepEqual(endpointOf(server('http://[::1]:30000'), NOTHING), {
    url: 'http://[::1]:30000',
    headers: { 'Content-Type': 'application/json' },
  });
  const { headers } = endpointOf(server('http://host:1'), { apiKey: 'sesame', headers: { 'X-Team': 'batch' } });
  assert.deepEqual(headers, {
    'Content-Type': 'application/json',
    Authorization: 'Bearer sesame',
    'X-Team': 'batch',
  });
});
