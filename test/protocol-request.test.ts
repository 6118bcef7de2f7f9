import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Ask, requestOf } from '../lib/protocol.ts';
import { askWith } from './factories.ts';
import { capturedAnswers, capturedReply, capturedRequest } from './protocol-captures.ts';

const REQUESTS: readonly [string, Partial<Ask>, string, unknown][] = [
  [
    'native text',
    {},
    '/generate',
    { text: 'The quick brown fox', sampling_params: { max_new_tokens: 8, ignore_eos: true }, stream: false },
  ],
  [
    'native ids with a cache of their own',
    { prompt: { kind: 'ids', ids: [10, 11] }, cacheKey: 'k1', model: 'ignored' },
    '/generate',
    { input_ids: [10, 11], sampling_params: { max_new_tokens: 8, ignore_eos: true }, stream: false, extra_key: 'k1' },
  ],
  [
    'a natural completion',
    { api: 'completions', stop: 'natural', model: 'm' },
    '/v1/completions',
    { model: 'm', prompt: 'The quick brown fox', max_tokens: 8, ignore_eos: false, stream: false },
  ],
  [
    'a completion of ids',
    { api: 'completions', prompt: { kind: 'ids', ids: [7] }, cacheKey: 'k' },
    '/v1/completions',
    { prompt: [7], max_tokens: 8, ignore_eos: true, stream: false, cache_salt: 'k' },
  ],
  [
    'a chat of text',
    { api: 'chat' },
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: 'The quick brown fox' }], max_tokens: 8, ignore_eos: true, stream: false },
  ],
  [
    'a chat of messages',
    {
      api: 'chat',
      prompt: { kind: 'messages', messages: [{ role: 'system', content: 's' }] },
      model: 'm',
      cacheKey: 'k',
    },
    '/v1/chat/completions',
    {
      model: 'm',
      messages: [{ role: 'system', content: 's' }],
      max_tokens: 8,
      ignore_eos: true,
      stream: false,
      cache_salt: 'k',
    },
  ],
];

for (const [what, part, path, body] of REQUESTS) {
  test(`the request for ${what} has the path and the body that the servers know`, () => {
    const request = requestOf(askWith(part));
    assert.equal(request.path, path);
    assert.deepEqual(JSON.parse(request.body), body);
  });
}

test('requests use only names that a captured request proved to work', () => {
  const proven = new Set(['stream']);
  for (const name of capturedAnswers()) {
    if (capturedReply(name).status !== 200) continue;
    for (const [, key] of capturedRequest(name).body.matchAll(/"(\w+)": ?/g)) proven.add(key ?? '');
  }
  // The captures cut the two long requests that have them; their answers prove 0 cached tokens where 199 were cached before.
  for (const key of ['extra_key', 'cache_salt']) proven.add(key);
  for (const [, part] of REQUESTS) {
    for (const [, key] of requestOf(askWith(part)).body.matchAll(/"(\w+)":/g)) assert.ok(proven.has(key ?? ''), key);
  }
});

test('a prompt that a route cannot take is refused before it is sent', () => {
  const messages = { kind: 'messages', messages: [{ role: 'user', content: 'x' }] } as const;
  assert.throws(() => requestOf(askWith({ prompt: messages })), /generate.*api "chat"/);
  assert.throws(() => requestOf(askWith({ api: 'completions', prompt: messages })), /completions.*api "chat"/);
  assert.throws(
    () => requestOf(askWith({ api: 'chat', prompt: { kind: 'ids', ids: [1] } })),
    /token ids.*api "generate"/,
  );
});
