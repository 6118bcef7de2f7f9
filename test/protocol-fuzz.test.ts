import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OUTCOME_STATES, type Outcome, outcomeOf, type Reply } from '../lib/protocol.ts';
import { capturedReply, EXPECTED, type Expectation } from './protocol-captures.ts';

/** One answer per kind: large texts add time and no new case. */
const SUBJECTS = Object.entries(EXPECTED)
  .filter(([, { expected }]) => 'tokens' in expected)
  .map(([name, expectation]) => ({ name, expectation, body: capturedReply(name).body ?? '' }))
  .filter(({ body }) => body.length < 2000);

function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const tokensOf = (outcome: Outcome): number | null => ('tokens' in outcome ? outcome.tokens : null);

const judge = (ask: Expectation, part: Partial<Reply>): Outcome => {
  const outcome = outcomeOf(ask, { status: 200, body: '', errorCode: 0, error: '', ...part });
  assert.ok(OUTCOME_STATES.includes(outcome.state));
  if ('reason' in outcome) {
    assert.ok(outcome.reason.length > 0 && outcome.reason.length < 300, outcome.reason);
    assert.ok(!outcome.reason.includes('\n'), outcome.reason);
  }
  return outcome;
};

type Path = readonly (string | number)[];

function pathsOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, child]) => pathsOf(child, [...path, key]));
  return path.length === 0 ? inner : [path, ...inner];
}

function withValue(json: unknown, path: Path, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const copy = Array.isArray(json) ? [...json] : { ...(json as Record<string, unknown>) };
  const record = copy as Record<string | number, unknown>;
  record[key] = withValue(record[key], rest, value);
  return copy;
}

const OTHER_VALUES: readonly unknown[] = [
  undefined,
  null,
  true,
  false,
  0,
  -1,
  -8,
  0.5,
  1e21,
  1,
  2,
  3,
  7,
  2 ** 53,
  '',
  '8',
  'length',
  'abort',
  'stop',
  [],
  {},
  [8],
  { a: 1 },
];

/** The token count as an independent reader finds it: by the shape's one path. */
function countIn(json: unknown): unknown {
  const body = json as { meta_info?: { completion_tokens?: unknown }; usage?: { completion_tokens?: unknown } };
  return 'choices' in body ? body.usage?.completion_tokens : body.meta_info?.completion_tokens;
}

test('there are enough kinds of answers to mutate', () => {
  assert.ok(SUBJECTS.length >= 40, String(SUBJECTS.length));
  assert.deepEqual([...new Set(SUBJECTS.map(({ expectation }) => expectation.api))].sort(), [
    'chat',
    'completions',
    'generate',
  ]);
});

test('an answer cut at any length is malformed', () => {
  let cuts = 0;
  for (const { name, expectation, body } of SUBJECTS) {
    for (let length = 0; length < body.trimEnd().length; length += 1) {
      const outcome = judge(expectation, { body: body.slice(0, length) });
      assert.equal(outcome.state, 'malformed', `${name} cut at ${length}`);
      cuts += 1;
    }
  }
  assert.ok(cuts > 20_000, String(cuts));
});

test('any value replaced by any other type never yields another count than the one in the body', () => {
  let mutations = 0;
  let counted = 0;
  for (const { name, expectation, body } of SUBJECTS) {
    const json: unknown = JSON.parse(body);
    for (const path of pathsOf(json)) {
      for (const value of OTHER_VALUES) {
        const mutated = withValue(json, path, value);
        const found = tokensOf(judge(expectation, { body: JSON.stringify(mutated) }));
        mutations += 1;
        if (found === null) continue;
        counted += 1;
        const inBody = countIn(mutated);
        assert.equal(found, inBody, `${name} ${path.join('.')} = ${JSON.stringify(value)}`);
        assert.ok(Number.isSafeInteger(found) && found > 0 && found <= expectation.maxTokens);
      }
    }
  }
  // Most replacements are of fields that do not matter: had none been counted, the test could not fail.
  assert.ok(mutations > 20_000 && counted > mutations / 4 && counted < mutations, `${counted} of ${mutations}`);
});

test('a count keeps its value when only the fields beside it change', () => {
  for (const { expectation, body } of SUBJECTS) {
    const json: unknown = JSON.parse(body);
    const expected = tokensOf(expectation.expected);
    for (const path of pathsOf(json)) {
      if (path.includes('completion_tokens') || path.length === 1) continue;
      for (const value of OTHER_VALUES) {
        const found = tokensOf(judge(expectation, { body: JSON.stringify(withValue(json, path, value)) }));
        assert.ok(found === null || found === expected, `${path.join('.')} = ${JSON.stringify(value)}: ${found}`);
      }
    }
  }
});

test('random bytes anywhere in an answer never throw and never invent a count', () => {
  const random = randomFrom(20261201);
  const characters = '{}[]",:0123456789eE+-.ntfaNI \n\\\u0000\ud800é';
  let readable = 0;
  for (let round = 0; round < 20_000; round += 1) {
    const subject = SUBJECTS[random(SUBJECTS.length)];
    assert.ok(subject !== undefined);
    let body = subject.body;
    for (let edit = 0; edit <= random(3); edit += 1) {
      const at = random(body.length + 1);
      const inserted = Array.from({ length: random(3) }, () => characters[random(characters.length)]).join('');
      body = body.slice(0, at) + inserted + body.slice(at + random(4));
    }
    const found = tokensOf(judge(subject.expectation, { body }));
    if (found === null) continue;
    readable += 1;
    assert.equal(found, countIn(JSON.parse(body)), body);
  }
  assert.ok(readable > 2000, String(readable));
});

test('no combination of status, code and body throws, and only a 200 is counted', () => {
  const bodies = [
    null,
    '',
    '{',
    '[]',
    'null',
    '"x"',
    '[{"a":1}]',
    '['.repeat(20_000),
    `${'['.repeat(5000)}${']'.repeat(5000)}`,
  ];
  const { expectation, body } = SUBJECTS[0] ?? assert.fail('no subject');
  for (const status of [-1, 0, 100, 199, 201, 204, 206, 301, 302, 304, 400, 401, 404, 429, 500, 502, 503, Number.NaN]) {
    for (const errorCode of [0, 1000, 1050, 1212, 1701, Number.NaN]) {
      for (const text of [...bodies, body]) {
        const outcome = judge(expectation, { status, errorCode, body: text, error: text ?? '' });
        assert.equal(tokensOf(outcome), null);
      }
    }
  }
  for (const text of bodies) assert.equal(judge(expectation, { body: text }).state, 'malformed');
});
