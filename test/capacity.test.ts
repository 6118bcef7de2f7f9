import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Capacity, capacityOf, isSimulated, limitOf, type Subject, subjectDifferences } from '../lib/capacity.ts';
import { capturedJson } from './protocol-captures.ts';

const captured = (folder: string, names: { info?: string; loads?: string; models?: string }): Capacity => {
  const json = (name: string | undefined) => (name === undefined ? null : capturedJson(`${folder}/${name}`));
  return capacityOf({ serverInfo: json(names.info), loads: json(names.loads), models: json(names.models) });
};

const IDLE = { info: 'idle_server_info', loads: 'idle_v1_loads', models: 'idle_v1_models' };
const A = captured('sglang-0.5.23/A', IDLE);
const B = captured('sglang-0.5.23/B', { info: 'key_server_info', loads: 'key_v1_loads', models: 'key_v1_models' });
const C = captured('sglang-0.5.23/C', IDLE);
const R = captured('sglang-0.5.23/R', { info: 'server_info', loads: 'v1_loads', models: 'v1_models' });
const VLLM = captured('vllm-cpu-0.32.0/A', { models: 'idle_v1_models' });
const LLAMA = captured('llama.cpp', { models: 'idle_v1_models' });

const SUBJECT: Subject = {
  model: '/models/tiny01',
  servedModel: '/models/tiny01',
  engine: 'sglang',
  version: '0.5.23',
  dtype: 'float32',
  quantization: 'none',
  kvCacheDtype: 'auto',
  tp: 1,
  dp: 1,
  pp: 1,
  pageSize: 1,
  radixCache: true,
  chunkedPrefill: 4096,
  speculation: 'none',
  attentionBackend: 'torch_native',
  graphs: 'off',
  accelerator: null,
};

const IDLE_A: Capacity = {
  kvTokens: 4096,
  maxRunning: 8,
  contextTokens: 2048,
  pageSize: 1,
  ranks: 1,
  running: 0,
  queued: 0,
  subject: SUBJECT,
  notes: [],
};

test('the captured servers tell their capacity and what they are', () => {
  assert.deepEqual(A, IDLE_A);
  assert.deepEqual(R, IDLE_A);
  assert.deepEqual(B, { ...IDLE_A, maxRunning: 2 });
  assert.deepEqual(C, { ...IDLE_A, kvTokens: 1024 });
});

test('a server under load tells what runs and what waits', () => {
  const loaded = captured('sglang-0.5.23/A', { ...IDLE, loads: 'load_v1_loads' });
  assert.deepEqual([loaded.running, loaded.queued], [8, 7]);
});

for (const [what, names] of [
  ['only /server_info', { info: IDLE.info, models: IDLE.models }],
  ['only /v1/loads', { loads: IDLE.loads, models: IDLE.models }],
] as const) {
  test(`${what} is enough for the capacity`, () => {
    const capacity = captured('sglang-0.5.23/C', names);
    assert.deepEqual([capacity.kvTokens, capacity.maxRunning, capacity.contextTokens], [1024, 8, 2048]);
    assert.deepEqual(limitOf(capacity, { promptTokens: 32, outputTokens: 300 }), { requests: 3, pool: 'KV' });
  });
}

test('other engines are named, with the context of one slot and no capacity', () => {
  for (const [capacity, engine, context] of [
    [VLLM, 'vllm', 2048],
    [LLAMA, 'llama.cpp', 1024],
  ] as const) {
    assert.equal(capacity.subject.engine, engine);
    assert.deepEqual([capacity.kvTokens, capacity.maxRunning, capacity.contextTokens], [null, null, context]);
    assert.deepEqual([capacity.running, capacity.queued, capacity.subject.version], [null, null, null]);
  }
  assert.equal(VLLM.subject.model, '/models/tiny01');
  assert.equal(VLLM.subject.servedModel, 'tiny');
});

test('replies that are not what they should be give unknowns, not errors', () => {
  for (const reply of [null, 'text', 7, [], [null], {}, { loads: 5 }, { data: [null] }, { internal_states: 'x' }]) {
    const capacity = capacityOf({ serverInfo: reply, loads: reply, models: reply });
    assert.deepEqual([capacity.kvTokens, capacity.maxRunning, capacity.contextTokens], [null, null, null]);
    assert.ok('problem' in limitOf(capacity, { promptTokens: 1, outputTokens: 1 }));
  }
});

test('what was asked for at the start is never taken for what is effective', () => {
  const onlyAsked = capacityOf({
    serverInfo: { max_total_num_tokens: 9000, max_running_requests: 64, page_size: 1 },
    loads: null,
    models: null,
  });
  assert.equal(onlyAsked.maxRunning, null);
  assert.match(onlyAsked.notes.join(), /max_running_requests 64 is only what was asked for/);
  const state = { effective_max_running_requests_per_dp: 37, page_size: 1 };
  const both = capacityOf({
    serverInfo: { max_total_num_tokens: 9000, max_running_requests: 64, internal_states: [state] },
    loads: null,
    models: null,
  });
  assert.equal(both.maxRunning, 37);
  assert.deepEqual(both.notes, ['max_running_requests: 64 asked for at the start, 37 effective']);
});

test('the older /get_load tells running and waiting requests', () => {
  const loads = [
    { dp_rank: 0, num_reqs: 5, num_waiting_reqs: 2, num_tokens: 10 },
    { dp_rank: 1, num_reqs: 4, num_waiting_reqs: 0, num_tokens: 10 },
  ];
  const capacity = capacityOf({ serverInfo: null, loads, models: null });
  assert.deepEqual([capacity.running, capacity.queued, capacity.ranks], [7, 2, 2]);
});

test("dp ranks add up, and the limit is one rank's times the ranks", () => {
  const state = { effective_max_running_requests_per_dp: 16, memory_usage: { token_capacity: 1024 }, page_size: 1 };
  const serverInfo = { dp_size: 2, max_total_num_tokens: 1024, internal_states: [state, state] };
  const load = { max_total_num_tokens: 1024, max_running_requests: 16, num_running_reqs: 1, num_waiting_reqs: 0 };
  const capacity = capacityOf({ serverInfo, loads: { loads: [load, load] }, models: null });
  assert.deepEqual([capacity.kvTokens, capacity.maxRunning, capacity.ranks, capacity.running], [2048, 32, 2, 2]);
  assert.deepEqual(capacity.notes, []);
  // One rank holds 3 of 32 + 300; a pool of 2,048 in one piece would hold 6.1, two of 1,024 hold 2 x 3.
  assert.deepEqual(limitOf(capacity, { promptTokens: 32, outputTokens: 300 }), { requests: 6, pool: 'KV' });
  assert.deepEqual(limitOf(capacity, { promptTokens: 32, outputTokens: 490 }), { requests: 2, pool: 'KV' });
});

test('places that tell different numbers are noted and the smallest counts', () => {
  const capacity = capacityOf({
    serverInfo: {
      max_total_num_tokens: 4096,
      page_size: 1,
      internal_states: [{ memory_usage: { token_capacity: 4000 } }],
    },
    loads: null,
    models: null,
  });
  assert.equal(capacity.kvTokens, 4000);
  assert.match(capacity.notes.join(), /max_total_num_tokens 4096, .*token_capacity 4000: the smallest is used/);
  const uneven = capacityOf({
    serverInfo: null,
    loads: { loads: [{ max_running_requests: 8 }, { max_running_requests: 6 }] },
    models: null,
  });
  assert.match(uneven.notes.join(), /max_running_requests differs between ranks: 8, 6/);
});

const LIMITS: readonly [string, Partial<Capacity>, [number, number], unknown][] = [
  [
    'KV binds: what the real server ran of 32 + 300 with M = 1,024',
    { kvTokens: 1024 },
    [32, 300],
    { requests: 3, pool: 'KV' },
  ],
  ['max running binds', {}, [32, 300], { requests: 8, pool: 'max running' }],
  ['both bind', { kvTokens: 1 + 8 * 333 }, [32, 300], { requests: 8, pool: 'max running' }],
  ['one KV token too few for the eighth', { kvTokens: 8 * 333 }, [32, 300], { requests: 7, pool: 'KV' }],
  [
    'pages round the prompt up and cost one more',
    { kvTokens: 1 + 3 * (64 + 300 + 64), pageSize: 64 },
    [32, 300],
    { requests: 3, pool: 'KV' },
  ],
  ['a page short', { kvTokens: 3 * (64 + 300 + 64), pageSize: 64 }, [32, 300], { requests: 2, pool: 'KV' }],
  ['the context is used up to its last two tokens', {}, [46, 2000], { requests: 2, pool: 'KV' }],
  [
    'one token more than the context allows',
    {},
    [47, 2000],
    {
      problem:
        'a request of 47 + 2000 tokens does not fit into the context of 2048 tokens (SGLang keeps 2 of them free); ask for fewer tokens',
    },
  ],
  ['the pool holds exactly one', { kvTokens: 1024 }, [900, 122], { requests: 1, pool: 'KV' }],
  [
    'the pool does not hold one, as when the real server cut 500 to 122',
    { kvTokens: 1024 },
    [900, 123],
    {
      problem:
        'a request of 900 + 123 tokens needs 1024 KV tokens, the pool of one rank has 1024; ask for fewer tokens',
    },
  ],
  ['the longest prompt that the real server took', { kvTokens: 1024 }, [1017, 2], { requests: 1, pool: 'KV' }],
  [
    'the shortest prompt that it refused',
    { kvTokens: 1024 },
    [1018, 2],
    { problem: 'a prompt of 1018 tokens is refused by the server, which takes at most 1017; ask for fewer tokens' },
  ],
  [
    'fewer running requests than ranks',
    { ranks: 2, kvTokens: 8192, maxRunning: 1 },
    [32, 300],
    { problem: 'max running requests 1 is less than the 2 dp ranks; set TOKRAMP_LIMIT' },
  ],
  [
    'KV unknown',
    { kvTokens: null },
    [32, 300],
    { problem: 'the server does not tell its KV tokens; set TOKRAMP_LIMIT to the most requests it holds at once' },
  ],
  [
    'nothing known',
    { kvTokens: null, maxRunning: null },
    [32, 300],
    {
      problem:
        'the server does not tell its KV tokens and its effective max running requests; set TOKRAMP_LIMIT to the most requests it holds at once',
    },
  ],
];

for (const [what, part, [promptTokens, outputTokens], expected] of LIMITS) {
  test(`the limit where ${what}`, () => {
    assert.deepEqual(limitOf({ ...IDLE_A, ...part }, { promptTokens, outputTokens }), expected);
  });
}

test('other engines fill their context to the last token', () => {
  const known: Capacity = { ...LLAMA, kvTokens: 4096, maxRunning: 4 };
  assert.deepEqual(limitOf(known, { promptTokens: 1000, outputTokens: 24 }), { requests: 3, pool: 'KV' });
  assert.deepEqual(limitOf(known, { promptTokens: 1000, outputTokens: 25 }), {
    problem: 'a request of 1000 + 25 tokens does not fit into the context of 1024 tokens; ask for fewer tokens',
  });
});

/** The names whose texts may appear in a subject; everything else of the replies must not. */
const PICKED = [
  'model_path',
  'served_model_name',
  'version',
  'dtype',
  'quantization',
  'kv_cache_dtype',
  'attention_backend',
  'prefill_attention_backend',
  'decode_attention_backend',
  'speculative_algorithm',
  'speculative_draft_model_path',
  'backend',
  'accelerator',
  'id',
  'root',
  'owned_by',
];

function planted(value: unknown, key: string): { readonly value: unknown; readonly count: number } {
  if (typeof value === 'string' || value === null) {
    return PICKED.includes(key) ? { value, count: 0 } : { value: 'planted-secret', count: 1 };
  }
  if (typeof value !== 'object') return { value, count: 0 };
  const inner = Object.entries(value).map(
    ([name, child]) => [name, planted(child, Array.isArray(value) ? key : name)] as const,
  );
  const count = inner.reduce((sum, [, child]) => sum + child.count, 0);
  const entries = inner.map(([name, child]) => [name, child.value] as const);
  return { value: Array.isArray(value) ? entries.map(([, child]) => child) : Object.fromEntries(entries), count };
}

test('nothing of /server_info but the named fields reaches the capacity, keys least of all', () => {
  for (const [folder, names] of [
    ['A', IDLE],
    ['B', { info: 'key_server_info', loads: 'key_v1_loads', models: 'key_v1_models' }],
  ] as const) {
    const of = (name: string) => planted(capturedJson(`sglang-0.5.23/${folder}/${name}`), '');
    const [serverInfo, loads, models] = [of(names.info), of(names.loads), of(names.models)];
    assert.ok(serverInfo.count > 300, `${serverInfo.count} planted`);
    const capacity = capacityOf({ serverInfo: serverInfo.value, loads: loads.value, models: models.value });
    assert.ok(!JSON.stringify(capacity).includes('planted-secret'), JSON.stringify(capacity));
    assert.equal(capacity.subject.engine, 'sglang');
  }
  assert.match(JSON.stringify(capturedJson('sglang-0.5.23/B/key_server_info')), /"api_key":"sekret"/);
  assert.ok(!JSON.stringify(B).includes('sekret'));
});

test('a model named by a URL loses credentials and signature', () => {
  const serverInfo = { model_path: 's3://id:hunter2@bucket/qwen?X-Signature=hunter2', internal_states: [] };
  const { subject } = capacityOf({ serverInfo, loads: null, models: null });
  assert.equal(subject.model, 's3://bucket/qwen');
});

test('the arguments that change speed are readable', () => {
  const serverInfo = {
    internal_states: [{ page_size: 64, chunked_prefill_size: 8192, quantization: null }],
    page_size: null,
    quantization: 'fp8',
    disable_radix_cache: true,
    speculative_algorithm: 'EAGLE',
    speculative_num_steps: 3,
    speculative_eagle_topk: 1,
    speculative_num_draft_tokens: 4,
    attention_backend: 'fa3',
    decode_attention_backend: 'flashinfer',
    disable_cuda_graph: false,
    cuda_graph_config: { decode: { backend: 'full', max_bs: 160 } },
  };
  const { subject, pageSize } = capacityOf({ serverInfo, loads: { accelerator: 'H100', loads: [] }, models: null });
  assert.equal(pageSize, 64);
  assert.deepEqual(
    [
      subject.quantization,
      subject.radixCache,
      subject.speculation,
      subject.attentionBackend,
      subject.graphs,
      subject.accelerator,
    ],
    [
      'fp8',
      false,
      'EAGLE, steps 3, top-k 1, draft tokens 4',
      'prefill fa3, decode flashinfer',
      'full, batch up to 160',
      'H100',
    ],
  );
});

test('subjects differ by the allow-list alone, each difference in one line', () => {
  assert.deepEqual(subjectDifferences(A.subject, B.subject), []);
  assert.deepEqual(subjectDifferences(SUBJECT, { ...SUBJECT, accelerator: 'H100', servedModel: 'tiny' }), []);
  assert.deepEqual(
    subjectDifferences(SUBJECT, { ...SUBJECT, version: '0.5.24', radixCache: false, quantization: null }),
    ['version: 0.5.23 / 0.5.24', 'quantization: none / unknown', 'radixCache: true / false'],
  );
  for (const key of Object.keys(SUBJECT)) {
    const isCompared = !['accelerator', 'servedModel'].includes(key);
    const differences = subjectDifferences(SUBJECT, { ...SUBJECT, [key]: 'other' });
    assert.equal(differences.length, isCompared ? 1 : 0, key);
  }
});

test('only a version that says so is simulated', () => {
  for (const [version, expected] of [
    ['0.5.23+simulated', true],
    ['0.5.23', false],
    [null, false],
  ] as const) {
    assert.equal(isSimulated({ ...SUBJECT, version }), expected);
  }
});
