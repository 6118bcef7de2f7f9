import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PromptFileError, parsePromptLines } from '../lib/prompt-file.ts';
import { builtInPrompts, promptsFrom } from '../lib/prompts.ts';
import { hash64, hex64 } from '../lib/prompts-hash.ts';
import type { Api, Prompt } from '../lib/protocol.ts';

const at = (index: number, part: { server?: string; nonce?: string } = {}) => ({
  server: 's0',
  nonce: 'run-1',
  index,
  ...part,
});

function textOf(prompt: Prompt): string {
  if (prompt.kind === 'text') return prompt.text;
  if (prompt.kind === 'messages') return prompt.messages.map(({ content }) => content).join('\n');
  return prompt.ids.join(' ');
}

function idsOf(prompt: Prompt): readonly number[] {
  return prompt.kind === 'ids' ? prompt.ids : assert.fail(`ids expected, not ${prompt.kind}`);
}

const faultsOf = (text: string, api: Api): readonly string[] => {
  try {
    parsePromptLines(text, api);
  } catch (error) {
    if (error instanceof PromptFileError) return error.faults;
    throw error;
  }
  return [];
};

test('the hash is FNV-1a of 64 bit: the published values for short texts', () => {
  const known = { '': 'cbf29ce484222325', a: 'af63dc4c8601ec8c', foobar: '85944171f73967e8' };
  for (const [text, hex] of Object.entries(known)) assert.equal(hex64(hash64(text)), hex);
});

test('a hash continued over a second text equals the hash of both', () => {
  assert.deepEqual(hash64('bar', hash64('foo')), hash64('foobar'));
});

test('the same request always gets the same prompt, another run, server or number another one', () => {
  for (const inputTokens of [null, 100]) {
    for (const api of ['generate', 'completions', 'chat'] as const) {
      const prompts = builtInPrompts({ api, inputTokens });
      const text = textOf(prompts.promptAt(at(5)));
      assert.equal(textOf(builtInPrompts({ api, inputTokens }).promptAt(at(5))), text);
      for (const other of [at(6), at(9), at(5, { server: 's1' }), at(5, { nonce: 'run-2' })]) {
        assert.notEqual(textOf(prompts.promptAt(other)), text);
      }
    }
  }
});

test('built-in texts of a whole job are all different within their first eight characters or nearly so', () => {
  const prompts = builtInPrompts({ api: 'completions', inputTokens: null });
  const heads = new Set<string>();
  const ids = new Set<string>();
  const count = 20_000;
  for (let index = 0; index < count; index += 1) {
    const text = textOf(prompts.promptAt(at(index)));
    heads.add(text.slice(0, 8));
    ids.add(text.split(' ')[0] ?? '');
  }
  assert.equal(ids.size, count);
  // 32 random bits: about count^2 / 2^33 = 0.05 repeats are expected; 3 happen once in 50,000 runs.
  assert.ok(heads.size >= count - 3, String(heads.size));
});

test('the first two hexadecimal digits of neighbouring requests are spread evenly', () => {
  const prompts = builtInPrompts({ api: 'completions', inputTokens: null });
  const counts = new Map<string, number>();
  for (let index = 0; index < 256 * 40; index += 1) {
    const head = textOf(prompts.promptAt(at(index))).slice(0, 2);
    counts.set(head, (counts.get(head) ?? 0) + 1);
  }
  // Poisson with mean 40: more than 6 standard deviations (38) away from it would be a pattern.
  assert.equal(counts.size, 256);
  assert.ok(Math.max(...counts.values()) < 78, String(Math.max(...counts.values())));
});

test('four families take turns', () => {
  const prompts = builtInPrompts({ api: 'generate', inputTokens: null });
  const tasks = Array.from({ length: 8 }, (_, index) =>
    textOf(prompts.promptAt(at(index)))
      .split(' ')
      .slice(1, 4)
      .join(' '),
  );
  assert.equal(new Set(tasks).size, 4);
  assert.deepEqual(tasks.slice(0, 4), tasks.slice(4));
});

test('the chat API gets one user message', () => {
  const prompt = builtInPrompts({ api: 'chat', inputTokens: null }).promptAt(at(0));
  assert.ok(prompt.kind === 'messages' && prompt.messages.length === 1 && prompt.messages[0]?.role === 'user');
});

for (const count of [1, 2, 3, 64, 1024]) {
  test(`on /generate a length of ${count} gives exactly so many ids that every vocabulary has`, () => {
    const prompts = builtInPrompts({ api: 'generate', inputTokens: count });
    for (let index = 0; index < 500; index += 1) {
      const ids = idsOf(prompts.promptAt(at(index * 997)));
      assert.equal(ids.length, count);
      assert.ok(ids.every((id) => Number.isInteger(id) && id >= 10 && id < 4096));
    }
  });
}

test('prompts of ids share no more than one leading id within a run, however many there are', () => {
  const prompts = builtInPrompts({ api: 'generate', inputTokens: 4 });
  const pairs = new Set<string>();
  const count = 30_000;
  for (let index = 0; index < count; index += 1)
    pairs.add(
      idsOf(prompts.promptAt(at(index)))
        .slice(0, 2)
        .join(),
    );
  assert.equal(pairs.size, count);
});

test('the ids after the first two use the whole range evenly', () => {
  const prompts = builtInPrompts({ api: 'generate', inputTokens: 1002 });
  const counts = new Map<number, number>();
  for (let index = 0; index < 400; index += 1) {
    for (const id of idsOf(prompts.promptAt(at(index))).slice(2)) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  // 400,000 ids over 4,086 values: Poisson with mean 98, standard deviation 10; 7 of them bound every value.
  const values = [...counts.values()];
  assert.equal(counts.size, 4086);
  assert.ok(Math.min(...values) > 28 && Math.max(...values) < 168, `${Math.min(...values)} to ${Math.max(...values)}`);
});

test('a wished length shapes a text: 4.4 characters a token, less the unique id', () => {
  for (const wish of [40, 200, 1000]) {
    const prompts = builtInPrompts({ api: 'chat', inputTokens: wish });
    for (let index = 0; index < 8; index += 1) {
      const [id = '', ...rest] = textOf(prompts.promptAt(at(index))).split(' ');
      assert.equal(rest.join(' ').length, Math.round((wish - 12) * 4.4), id);
    }
  }
});

test('built-in prompts describe themselves alike everywhere', () => {
  const { source, hash, count } = builtInPrompts({ api: 'chat', inputTokens: null }).describe;
  assert.equal(source, 'built-in');
  assert.match(hash, /^[0-9a-f]{16}$/);
  assert.equal(hash, builtInPrompts({ api: 'generate', inputTokens: 8 }).describe.hash);
  assert.equal(count, null);
});

const LINES: readonly [string, Api, string, Prompt][] = [
  ['a bare text', 'generate', '"Hello"', { kind: 'text', text: 'Hello' }],
  ['an object with a text', 'completions', '{"id": 7, "text": "Hello"}', { kind: 'text', text: 'Hello' }],
  [
    'a text for chat',
    'chat',
    '{"text": "Hello"}',
    { kind: 'messages', messages: [{ role: 'user', content: 'Hello' }] },
  ],
  [
    'messages for chat',
    'chat',
    '{"messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "Hi"}]}',
    {
      kind: 'messages',
      messages: [
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'Hi' },
      ],
    },
  ],
];

for (const [what, api, line, prompt] of LINES) {
  test(`a line with ${what} is a prompt`, () => {
    assert.deepEqual(parsePromptLines(`\uFEFF${line}\r\n\n`, api), [prompt]);
  });
}

const FAULTS: readonly [string, Api, string, RegExp][] = [
  ['an empty file', 'generate', '\n \n', /^empty; valid is one prompt a line: a JSON string or/],
  ['plain text', 'generate', 'Tell me a story', /^line 1: not JSON: "Tell me a story"; valid is a JSON string or/],
  ['a number', 'generate', '42', /^line 1: 42; valid is/],
  ['a list', 'chat', '["a"]', /^line 1: \["a"\]; valid is .*"messages"/],
  ['an empty text', 'generate', '{"text": " "}', /^line 1: text: " "; valid is a text that is not empty/],
  ['a text that is a number', 'generate', '{"text": 5}', /^line 1: text: 5; valid/],
  [
    'neither key',
    'generate',
    '{"prompt": "x"}',
    /^line 1: neither "text" nor "messages" \("\{\\"prompt\\": \\"x\\"\}"\)/,
  ],
  ['both keys', 'chat', '{"text": "x", "messages": []}', /^line 1: both "text" and "messages"/],
  [
    'messages for /generate',
    'generate',
    '{"messages": [{"role": "user", "content": "x"}]}',
    /^line 1: "messages" with api generate; valid/,
  ],
  ['messages for completions', 'completions', '{"messages": []}', /^line 1: "messages" with api completions; valid/],
  ['no messages', 'chat', '{"messages": []}', /^line 1: messages: \[\]; valid is \{"messages"/],
  ['a message that is a text', 'chat', '{"messages": ["x"]}', /^line 1: messages\[0\]: "x"; valid is \{"role"/],
  [
    'a misspelt role',
    'chat',
    '{"messages": [{"role": "usr", "content": "x"}]}',
    /messages\[0\]\.role: "usr"; valid is one of .*did you mean "user"\?/,
  ],
  ['no role', 'chat', '{"messages": [{"content": "x"}]}', /messages\[0\]\.role: missing; valid is one of/],
  [
    'content in parts',
    'chat',
    '{"messages": [{"role": "user", "content": [{"type": "text"}]}]}',
    /messages\[0\]\.content: \["…"\]; valid is a text/,
  ],
  [
    'a tool call',
    'chat',
    '{"messages": [{"role": "assistant", "content": "", "tool_calls": []}]}',
    /messages\[0\]: key "tool_calls"; valid are role and content alone/,
  ],
];

for (const [what, api, text, fault] of FAULTS) {
  test(`${what} is one fault that says where, what and what would be valid`, () => {
    const faults = faultsOf(text, api);
    assert.equal(faults.length, 1);
    assert.match(faults[0] ?? '', fault);
  });
}

test('all faults are named at once with their lines, at most ten of them, and long lines are cut', () => {
  assert.deepEqual(
    faultsOf('"ok"\n{\n"ok"\n7', 'generate').map((fault) => fault.slice(0, 8)),
    ['line 2: ', 'line 4: '],
  );
  const many = faultsOf(`${'x'.repeat(9999)}\n`.repeat(25), 'generate');
  assert.equal(many.length, 11);
  assert.equal(many[10], 'and 15 more faulty lines');
  assert.ok(many.every((fault) => fault.length < 200));
});

test('the prompts of a file are taken in order from a start of the server and wrap around', () => {
  const texts = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const prompts = promptsFrom(parsePromptLines(texts.map((text) => JSON.stringify(text)).join('\n'), 'generate'));
  const starts = new Set<string>();
  for (const server of ['s0', 's1', 's2', 's3', 's4', 's5', 's6', 's7']) {
    const taken = Array.from({ length: 14 }, (_, index) => textOf(prompts.promptAt(at(index, { server }))));
    assert.deepEqual([...new Set(taken)].sort(), texts);
    assert.deepEqual(taken.slice(0, 7), taken.slice(7));
    starts.add(taken[0] ?? '');
  }
  assert.ok(starts.size >= 4, [...starts].join());
});

test('a file is known by its prompts, not by its spaces, and a shared list is as good as an array', () => {
  const first = promptsFrom(parsePromptLines('{"text":"a"}\n{"text":"b"}', 'generate')).describe;
  const second = promptsFrom(parsePromptLines('"a"\n\n{ "text" : "b" }\n', 'generate')).describe;
  assert.deepEqual(first, second);
  assert.deepEqual([first.source, first.count], ['file', 2]);
  assert.notEqual(promptsFrom(parsePromptLines('"b"\n"a"', 'generate')).describe.hash, first.hash);
  const shared: ArrayLike<Prompt> = { length: 2, 0: { kind: 'text', text: 'a' }, 1: { kind: 'text', text: 'b' } };
  assert.deepEqual(promptsFrom(shared).describe, first);
});
