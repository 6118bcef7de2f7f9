import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Ask, OUTCOME_STATES, type Outcome, outcomeOf, type Reply } from '../lib/protocol.ts';
import { askWith } from './factories.ts';
import { capturedAnswers, capturedReply, EXPECTED } from './protocol-captures.ts';

const replyWith = (part: Partial<Reply>): Reply => ({ status: 200, body: '', errorCode: 0, error: '', ...part });

const generateBody = (meta: Record<string, unknown>): string =>
  JSON.stringify({
    text: 'x',
    meta_info: { finish_reason: { type: 'length', length: 8 }, prompt_tokens: 4, completion_tokens: 8, ...meta },
  });

const chatBody = (usage: unknown, choice: Record<string, unknown> = {}): string =>
  JSON.stringify({
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'length', ...choice }],
    usage,
  });

const USAGE = { prompt_tokens: 4, completion_tokens: 8, total_tokens: 12 };

const hasTokens = (outcome: Outcome): boolean => 'tokens' in outcome;

test('every captured answer has an expectation and every expectation an answer', () => {
  assert.deepEqual(capturedAnswers(), Object.keys(EXPECTED).sort());
});

for (const [name, { expected, ...ask }] of Object.entries(EXPECTED)) {
  test(`${name} is ${expected.state}`, () => {
    assert.deepEqual(outcomeOf(ask, capturedReply(name)), expected);
  });
}

test('the captures cover every outcome that a server without a network fault can cause', () => {
  const seen = new Set(Object.values(EXPECTED).map(({ expected }) => expected.state));
  const networkOnly = ['timedOut', 'unreachable'];
  assert.deepEqual(
    OUTCOME_STATES.filter((state) => !seen.has(state)),
    networkOnly,
  );
});

test('an outcome carries tokens exactly where it is completed or truncated', () => {
  for (const { expected } of Object.values(EXPECTED)) {
    assert.equal(hasTokens(expected), expected.state === 'completed' || expected.state === 'truncated');
  }
});

const UNUSABLE: readonly [string, unknown, string][] = [
  ['missing', undefined, 'missing'],
  ['null', null, 'null'],
  ['text', '8', '"8"'],
  ['zero', 0, '0'],
  ['negative', -8, '-8'],
  ['a fraction', 7.5, '7.5'],
  ['too large to be exact', 2 ** 53, '9007199254740992'],
  ['a boolean', true, 'true'],
  ['a list', [8], '[8]'],
  ['an object', { n: { deep: 1 } }, '{"n":"…"}'],
];

for (const [what, value, shown] of UNUSABLE) {
  for (const key of ['completion_tokens', 'prompt_tokens']) {
    test(`a ${key} that is ${what} is malformed, never 0 and never the requested length`, () => {
      const reason = (path: string) => `${path}.${key}: ${shown} instead of a whole number above 0`;
      assert.deepEqual(outcomeOf(askWith({}), replyWith({ body: generateBody({ [key]: value }) })), {
        state: 'malformed',
        reason: reason('meta_info'),
      });
      const body = chatBody({ ...USAGE, [key]: value });
      assert.deepEqual(outcomeOf(askWith({ api: 'chat' }), replyWith({ body })), {
        state: 'malformed',
        reason: reason('usage'),
      });
    });
  }
}

test('a token count of NaN, which Python writes and JSON does not know, is malformed and named', () => {
  const body = generateBody({}).replace('"completion_tokens":8', '"completion_tokens": NaN');
  const outcome = outcomeOf(askWith({}), replyWith({ body }));
  assert.equal(outcome.state, 'malformed');
  assert.match(JSON.stringify(outcome), /not JSON: .*, with completion_tokens: NaN"/);
});

test('a long text in place of a count is cut', () => {
  const outcome = outcomeOf(askWith({}), replyWith({ body: generateBody({ completion_tokens: 'x'.repeat(5000) }) }));
  assert.ok(outcome.state === 'malformed' && outcome.reason.length < 140 && outcome.reason.includes('xxx…"'));
});

const JUDGED: readonly [string, Pick<Ask, 'api' | 'maxTokens' | 'stop'>, Partial<Reply>, Partial<Outcome>][] = [
  ['exactly the fixed length', askWith({}), { body: generateBody({}) }, { state: 'completed' }],
  [
    'one token less than the fixed length',
    askWith({ maxTokens: 9 }),
    { body: generateBody({}) },
    { state: 'truncated' },
  ],
  [
    'one token more than the fixed length',
    askWith({ maxTokens: 7 }),
    { body: generateBody({}) },
    { state: 'malformed', reason: 'completion_tokens: 8 although 7 were asked for' },
  ],
  [
    'the fixed length but a stop',
    askWith({}),
    { body: generateBody({ finish_reason: { type: 'stop', matched: 2 } }) },
    { state: 'truncated', reason: '8 of 8 tokens, finish_reason stop' },
  ],
  [
    'an early natural stop',
    askWith({ stop: 'natural', maxTokens: 64 }),
    { body: generateBody({ finish_reason: { type: 'stop', matched: 2 } }) },
    { state: 'completed', finishReason: 'stop' },
  ],
  ['a natural length', askWith({ stop: 'natural' }), { body: generateBody({}) }, { state: 'completed' }],
  [
    'more tokens than the natural maximum',
    askWith({ stop: 'natural', maxTokens: 7 }),
    { body: generateBody({}) },
    { state: 'malformed' },
  ],
  [
    'a natural answer cut by a filter',
    askWith({ api: 'chat', stop: 'natural' }),
    { body: chatBody(USAGE, { finish_reason: 'content_filter' }) },
    { state: 'truncated' },
  ],
  [
    'no finish reason',
    askWith({}),
    { body: generateBody({ finish_reason: null }) },
    { state: 'malformed', reason: 'meta_info.finish_reason: null' },
  ],
  [
    'a finish reason without a type',
    askWith({}),
    { body: generateBody({ finish_reason: {} }) },
    { state: 'malformed', reason: 'meta_info.finish_reason: {}' },
  ],
  [
    'no finish reason in a choice',
    askWith({ api: 'chat' }),
    { body: chatBody(USAGE, { finish_reason: null }) },
    { state: 'malformed', reason: 'choices[0].finish_reason: null' },
  ],
  [
    'no usage',
    askWith({ api: 'chat' }),
    { body: chatBody(undefined) },
    { state: 'malformed', reason: 'usage: missing' },
  ],
  ['no meta_info', askWith({}), { body: '{"text":"x"}' }, { state: 'malformed', reason: 'meta_info: missing' }],
  [
    'no choices',
    askWith({ api: 'chat' }),
    { body: '{"usage":{}}' },
    { state: 'malformed', reason: 'choices: missing' },
  ],
  [
    'empty choices',
    askWith({ api: 'chat' }),
    { body: '{"choices":[],"usage":{}}' },
    { state: 'malformed', reason: 'choices: 0 instead of 1' },
  ],
  [
    'a choice that is null',
    askWith({ api: 'chat' }),
    { body: '{"choices":[null]}' },
    { state: 'malformed', reason: 'choices[0]: null' },
  ],
  ['an OpenAI answer to /generate', askWith({}), { body: chatBody(USAGE) }, { state: 'malformed' }],
  ['a native answer to the chat route', askWith({ api: 'chat' }), { body: generateBody({}) }, { state: 'malformed' }],
  [
    'a chat answer to the completions route',
    askWith({ api: 'completions' }),
    { body: chatBody(USAGE) },
    { state: 'malformed', reason: 'choices[0] has no text' },
  ],
  [
    'a completion to the chat route',
    askWith({ api: 'chat' }),
    { body: chatBody(USAGE, { message: undefined, text: 'x' }) },
    { state: 'malformed', reason: 'choices[0] has no message' },
  ],
  [
    'cached tokens of the wrong type',
    askWith({}),
    { body: generateBody({ cached_tokens: '3' }) },
    { state: 'malformed', reason: 'meta_info.cached_tokens: "3" instead of a whole number' },
  ],
  ['no cached tokens', askWith({}), { body: generateBody({}) }, { state: 'completed', cachedTokens: null }],
  [
    'cached tokens of 0',
    askWith({}),
    { body: generateBody({ cached_tokens: 0 }) },
    { state: 'completed', cachedTokens: 0 },
  ],
  [
    'a null error beside an answer',
    askWith({}),
    { body: generateBody({}).replace('{', '{"error":null,') },
    { state: 'completed' },
  ],
  [
    'an error inside a 200',
    askWith({}),
    { body: '{"error":{"message":"out of memory"}}' },
    { state: 'malformed', reason: 'an error inside: out of memory' },
  ],
  [
    'a flat error inside a 200',
    askWith({ api: 'chat' }),
    { body: '{"object":"error","message":"no","code":500}' },
    { state: 'malformed', reason: 'an error inside: no' },
  ],
  [
    'a stream nobody asked for',
    askWith({}),
    { body: `data: ${generateBody({})}\n\ndata: [DONE]\n\n` },
    { state: 'malformed' },
  ],
  ['an empty body', askWith({}), { body: null }, { state: 'malformed', reason: 'empty body' }],
  [
    'a page with status 200',
    askWith({}),
    { body: '<html>login</html>' },
    { state: 'malformed', reason: 'not JSON: "<html>login</html>"' },
  ],
  ['a bare number', askWith({}), { body: '8' }, { state: 'malformed', reason: 'the answer is 8, not an object' }],
  [
    'a proxy page',
    askWith({}),
    { status: 502, errorCode: 1502, body: '<html>\n<head><title>502 Bad\n Gateway</title></head></html>' },
    { state: 'rejected', status: 502, reason: 'HTTP 502: HTML page "502 Bad Gateway"' },
  ],
  [
    'a plain text 500',
    askWith({}),
    { status: 500, errorCode: 1500, body: 'Internal Server Error' },
    { state: 'rejected', status: 500, reason: 'HTTP 500: "Internal Server Error"' },
  ],
  [
    'an empty 503',
    askWith({}),
    { status: 503, errorCode: 1503, body: null },
    { state: 'rejected', status: 503, reason: 'HTTP 503: empty body' },
  ],
  ['a redirect', askWith({}), { status: 302, body: '' }, { state: 'rejected', status: 302 }],
  ['a 204', askWith({}), { status: 204, body: null }, { state: 'rejected', status: 204 }],
  [
    'a good answer with status 201',
    askWith({}),
    { status: 201, body: generateBody({}) },
    { state: 'rejected', status: 201 },
  ],
  [
    'an abort with status 503',
    askWith({}),
    { status: 503, errorCode: 1503, body: generateBody({ finish_reason: { type: 'abort', message: 'queue' } }) },
    { state: 'aborted', reason: 'finish_reason abort: queue' },
  ],
  [
    'k6 giving up',
    askWith({}),
    { status: 0, body: null, errorCode: 1050, error: 'request timeout' },
    { state: 'timedOut', reason: 'request timeout' },
  ],
  [
    'k6 giving up with a whole answer read',
    askWith({}),
    { status: 0, body: generateBody({}), errorCode: 1050, error: 'request timeout' },
    { state: 'timedOut' },
  ],
  [
    'a refused connection',
    askWith({}),
    { status: 0, body: null, errorCode: 1212, error: 'dial: connection refused' },
    { state: 'unreachable', reason: 'dial: connection refused (k6 error 1212)' },
  ],
  [
    'a connection lost in the body',
    askWith({}),
    { status: 0, body: generateBody({}), errorCode: 1220, error: 'read: connection reset by peer' },
    { state: 'unreachable' },
  ],
  [
    'a dial that timed out',
    askWith({}),
    { status: 0, body: null, errorCode: 1211, error: 'dial: i/o timeout' },
    { state: 'unreachable' },
  ],
];

for (const [what, ask, reply, expected] of JUDGED) {
  test(`${what} is ${expected.state}`, () => {
    const outcome = outcomeOf(ask, replyWith(reply));
    assert.deepEqual({ ...outcome, ...expected }, outcome);
  });
}

test('no reason repeats what looks like a key or a password', () => {
  const secret = 'sk-hunter2hunter2';
  const bodies = [
    JSON.stringify({ error: `Incorrect API key provided: ${secret}` }),
    JSON.stringify({ error: { message: `Authorization: Bearer ${secret} was refused` } }),
    `upstream http://user:${secret}@10.0.0.1/ failed`,
    JSON.stringify({ detail: `password=${secret}` }),
    generateBody({ completion_tokens: secret }),
  ];
  for (const body of bodies) {
    for (const status of [200, 403]) {
      const text = JSON.stringify(outcomeOf(askWith({}), replyWith({ status, body })));
      assert.ok(!text.includes('hunter2'), text);
    }
  }
  const lost = replyWith({ status: 0, errorCode: 1000, error: `Post "http://user:${secret}@s0/generate": EOF` });
  assert.ok(!JSON.stringify(outcomeOf(askWith({}), lost)).includes('hunter2'));
});
