/** The simulator against the captures: for each exchange it claims to serve, the same answer but for what the table lists. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, startCluster } from '../sim/cluster.ts';
import { PROFILES, type Profile } from '../sim/profiles.ts';
import { type Answer, capturedAnswer, capturedRequest, differences, metricSeries, replay } from './contract-replay.ts';

/** The captured servers as profiles, quick where nothing depends on time. */
const A: Profile = {
  ...PROFILES.story,
  model: '/models/tiny01',
  stepBaseMs: 0.02,
  stepPerRequestMs: 0,
  prefillBaseMs: 0.02,
  coldStartMs: 0,
  healthMs: 20,
  maxTotalTokens: 4096,
  contextLength: 2048,
  maxRunning: 8,
  chunkedPrefillTokens: 4096,
  naturalStopTokens: 1_000_000,
  cacheReport: false,
};
const B: Profile = { ...A, metrics: false, cacheReport: true, maxRunning: 2, maxQueued: 2 };
const C: Profile = { ...A, maxTotalTokens: 1024, conservativeness: 0.15 };
const KEY = 'sekret';

const words = (text: string): string[] => text.trim().split(/\s+/);

const ON_A = words(`
  idle_ping idle_root idle_model_info idle_get_model_info idle_v1_models idle_v1_models_one idle_v1_models_unknown
  idle_server_info idle_get_server_info idle_v1_loads idle_v1_loads_all idle_v1_loads_bad idle_v1_loads_prom
  idle_v1_loads_rank9 idle_get_load idle_weight_version idle_not_found idle_generate_get idle_health idle_health_generate
  gen gen_ids gen_default gen_greedy_eos gen_put gen_batch gen_n2 gen_prompt_ids gen_rid gen_cache_1st gen_cache_2nd
  gen_cache_salt gen_cache_extrakey gen_err_badjson gen_err_empty_body gen_err_missing gen_err_both gen_err_type
  gen_err_unknown_key gen_err_unknown_sp gen_err_temp gen_err_topp gen_err_neg_tokens gen_zero_tokens
  gen_err_empty_ids gen_err_empty_text gen_err_too_long gen_err_sum_too_long gen_near_limit gen_no_ctype gen_text_ctype
  gen_form_ctype gen_ctype_charset gen_stream comp comp_default comp_wrong_model comp_n2 comp_batch comp_ids
  comp_native_name comp_err_badjson comp_err_no_prompt comp_err_empty_prompt comp_err_empty_list comp_err_tokens0
  comp_err_type comp_err_too_long comp_err_sum comp_err_temp comp_err_no_ctype comp_err_text_ctype comp_get comp_stream
  chat chat_mct chat_wrong_model chat_n2 chat_meta chat_err_badjson chat_err_no_messages chat_err_empty_messages
  chat_err_role chat_err_tokens0 chat_err_too_long chat_no_limit chat_stream tokenize v1_tokenize v1_tokenize_chat
  v1_tokenize_bad v1_tokenize_nospecial flush_idle flush_idle_get flush_neg abort_unknown abort_empty idle2_v1_loads`);
const ON_B = words(`
  nokey_health nokey_health_generate nokey_metrics nokey_ping nokey_root nokey_v1_models nokey_server_info nokey_v1_loads
  nokey_not_found nokey_gen nokey_comp nokey_flush nokey_abort nokey_options wrongkey_gen basic_gen xapikey_gen
  key_metrics key_v1_loads key_server_info key_v1_models key_flush key_abort inc_gen cache_comp_1 cache_comp_2
  cache_gen_2`);
const ON_C = words(`
  idle_v1_models idle_server_info idle_v1_loads pool_prompt_1017 pool_prompt_1018 pool_comp_1100 pool_chat_1100
  clamp_900_500 clamp_comp_900_500 clamp_chat_nolimit`);

const ids = (count: number): number[] => Array.from({ length: count }, (_, index) => 3 + (index % 4000));
const native = (count: number, most: number): string =>
  JSON.stringify({ input_ids: ids(count), sampling_params: { ignore_eos: true, max_new_tokens: most } });
const completion = (count: number, most: number): string =>
  JSON.stringify({ prompt: ids(count), max_tokens: most, ignore_eos: true });
const chat = (repeats: number): string =>
  JSON.stringify({ messages: [{ role: 'user', content: 'the fox '.repeat(repeats) }], max_tokens: 4 });

/** Requests that the captures cut, made anew with the same sizes. */
const REBUILT: Readonly<Record<string, string>> = {
  'A/gen_err_too_long': native(2100, 8),
  'A/gen_near_limit': native(2030, 18),
  'A/comp_err_too_long': completion(2100, 8),
  'A/chat_err_too_long': chat(5000),
  'C/pool_prompt_1017': native(1017, 2),
  'C/pool_prompt_1018': native(1018, 2),
  'C/pool_comp_1100': completion(1100, 2),
  'C/pool_chat_1100': chat(550),
  'C/clamp_900_500': native(900, 500),
  'C/clamp_comp_900_500': completion(900, 500),
};

interface Allowed {
  readonly exchanges: readonly string[];
  readonly path: string;
  readonly reason: string;
}

const STREAMS = 'streams come later: the simulator says 501 rather than answer something else';
const WHOLE_PROMPTS =
  'only whole prompts are found in the cache, a real one also shares beginnings such as the first token';
const TOKEN_RULE = 'text is counted by a fixed rule, so its tokens and the room they leave differ';
const ONE_LOADS_FORM = 'no client of ours reads this form: 501';

/** Differences by design, each of which must still be there. */
const ALLOWED: readonly Allowed[] = [
  { exchanges: words('A/gen_stream A/comp_stream A/chat_stream'), path: 'status', reason: STREAMS },
  { exchanges: words('A/gen_stream A/comp_stream A/chat_stream'), path: 'type', reason: STREAMS },
  { exchanges: ['A/idle_v1_loads_prom'], path: 'status', reason: ONE_LOADS_FORM },
  { exchanges: ['A/idle_v1_loads_prom'], path: 'type', reason: ONE_LOADS_FORM },
  {
    exchanges: words('A/gen A/gen_greedy_eos A/gen_err_unknown_key'),
    path: '$.meta_info.cached_tokens_details',
    reason: WHOLE_PROMPTS,
  },
  {
    exchanges: words('A/gen A/gen_greedy_eos A/gen_err_unknown_key'),
    path: '$.meta_info.cached_tokens',
    reason: WHOLE_PROMPTS,
  },
  { exchanges: ['A/gen_batch'], path: '$[].meta_info.cached_tokens_details', reason: WHOLE_PROMPTS },
  { exchanges: ['A/gen_batch'], path: '$[].meta_info.cached_tokens', reason: WHOLE_PROMPTS },
  {
    exchanges: words('A/gen_default A/gen_prompt_ids A/gen_rid'),
    path: '$.meta_info.cached_tokens',
    reason: TOKEN_RULE,
  },
  { exchanges: ['A/gen_n2'], path: '$[].meta_info.cached_tokens', reason: TOKEN_RULE },
  { exchanges: ['A/chat_meta'], path: '$.choices[].meta_info.cached_tokens', reason: TOKEN_RULE },
  { exchanges: ['A/chat_no_limit'], path: '$.usage.completion_tokens', reason: TOKEN_RULE },
];

interface Found {
  readonly exchange: string;
  readonly path: string;
  readonly text: string;
}

const compare = (exchange: string, simulated: Answer): Found[] =>
  differences(capturedAnswer(exchange), simulated).map(({ path, captured, simulated: ours }) => ({
    exchange,
    path,
    text: `${exchange} ${path}: captured ${captured}, simulated ${ours}`,
  }));

/** One server, closed when the test ends, however it ends. */
async function fleetFor(t: TestContext, profile: Profile, apiKey?: string): Promise<Cluster> {
  const cluster = await startCluster({ count: 1, profile, ...(apiKey === undefined ? {} : { apiKey }) });
  t.after(() => cluster.close());
  return cluster;
}

/** Replays exchanges one after the other on a server of their own. */
async function replayOn(
  t: TestContext,
  server: { folder: string; names: readonly string[]; profile: Profile; apiKey?: string },
): Promise<Found[]> {
  const { folder, names, profile, apiKey } = server;
  const cluster = await fleetFor(t, profile, apiKey);
  const found: Found[] = [];
  for (const name of names) {
    const exchange = `${folder}/${name}`;
    found.push(...compare(exchange, await send(cluster, exchange)));
  }
  return found;
}

const send = (cluster: Cluster, exchange: string): Promise<Answer> =>
  replay(cluster.servers[0]?.port ?? 0, capturedRequest(exchange, REBUILT[exchange]));

/** Fails on a difference that is not listed, and on an entry of the list that no longer differs. */
function assertListed(found: readonly Found[], allowed: readonly Allowed[]): void {
  const isListed = ({ exchange, path }: Found) =>
    allowed.some((entry) => entry.path === path && entry.exchanges.includes(exchange));
  assert.deepEqual(
    found.filter((each) => !isListed(each)).map(({ text }) => text),
    [],
  );
  const pairs = allowed.flatMap(({ exchanges, path }) => exchanges.map((exchange) => `${exchange} ${path}`));
  const differing = new Set(found.map(({ exchange, path }) => `${exchange} ${path}`));
  assert.deepEqual(
    pairs.filter((pair) => !differing.has(pair)),
    [],
    'listed, but no longer different',
  );
}

test('answers of an idle server differ from the captured ones only as listed', async (t) => {
  const found = [
    ...(await replayOn(t, { folder: 'A', names: ON_A, profile: A })),
    ...(await replayOn(t, { folder: 'B', names: ON_B, profile: B, apiKey: KEY })),
    ...(await replayOn(t, { folder: 'C', names: ON_C, profile: C })),
  ];
  assertListed(found, ALLOWED);
});

test('a full server answers as the captured one: loads, flush, health, a second request of the same id', async (t) => {
  const cluster = await fleetFor(t, { ...A, stepBaseMs: 20 });
  const held = send(cluster, 'A/abort_target_nonstream');
  await delay(60);
  const found: Found[] = [];
  for (const name of words('load_v1_loads load_flush load_health dup_rid abort_by_rid')) {
    found.push(...compare(`A/${name}`, await send(cluster, `A/${name}`)));
  }
  found.push(...compare('A/abort_target_nonstream', await held));
  assertListed(found, [
    {
      exchanges: ['A/abort_target_nonstream'],
      path: '$.meta_info.completion_tokens',
      reason: 'aborted at another moment',
    },
  ]);
});

test('aborting everything ends running and waiting requests with status 200', async (t) => {
  const cluster = await fleetFor(t, { ...A, stepBaseMs: 20, maxRunning: 2 });
  const running = words('abort_all_gen abort_all_comp').map((name) => ({ name, answer: send(cluster, `A/${name}`) }));
  await delay(60);
  const waiting = { name: 'abort_all_chat', answer: send(cluster, 'A/abort_all_chat') };
  await delay(40);
  const found = compare('A/abort_all', await send(cluster, 'A/abort_all'));
  for (const { name, answer } of [...running, waiting]) found.push(...compare(`A/${name}`, await answer));
  const reason = 'aborted at another moment';
  assertListed(found, [
    { exchanges: ['A/abort_all_gen'], path: '$.meta_info.completion_tokens', reason },
    { exchanges: ['A/abort_all_comp'], path: '$.usage.completion_tokens', reason },
  ]);
});

test('a full queue answers 503 as the captured one, while health and loads still answer', async (t) => {
  const cluster = await fleetFor(t, { ...B, stepBaseMs: 20 }, KEY);
  const held: Promise<Answer | null>[] = [];
  // One by one: of four at once the last would already be refused, as it was in the capture.
  for (let index = 0; index < 4; index++) {
    held.push(send(cluster, 'B/qf_hold_0').catch(() => null));
    await delay(30);
  }
  const found: Found[] = [];
  for (const name of words('qf_hold_3 qf_v1_loads qf_comp qf_chat qf_health')) {
    found.push(...compare(`B/${name}`, await send(cluster, `B/${name}`)));
  }
  assertListed(found, []);
});

/** Series of a real server that are not simulated, as the beginning of a line of the page. */
const MISSING_SERIES: readonly { readonly series: RegExp; readonly reason: string }[] = [
  { series: /is_streaming="true"/, reason: 'streams come later' },
  { series: /^(# TYPE )?sglang:evict/, reason: 'evicted prompts are not counted' },
];

test('the metrics page of a fresh server and of a used one has the captured names, labels and types', async (t) => {
  const cluster = await fleetFor(t, { ...A, stepBaseMs: 0.5 });
  const missing = await missingSeries(cluster, 'A/idle_metrics', words('A/idle_v1_loads A/idle_ping'));
  const target = send(cluster, 'A/abort_target_nonstream');
  await delay(60);
  const used = words('A/abort_by_rid A/gen_default A/comp A/chat A/gen_cache_1st A/gen_cache_2nd');
  missing.push(...(await missingSeries(cluster, 'A/after_cut_metrics', used)));
  await target;
  const unlisted = missing.filter((line) => !MISSING_SERIES.some(({ series }) => series.test(line)));
  assert.deepEqual(unlisted, []);
  const unused = MISSING_SERIES.filter(({ series }) => !missing.some((line) => series.test(line)));
  assert.deepEqual(unused, [], 'listed, but no longer missing');
});

/** What a captured page has and the simulator's lacks, and the other way round, once it has answered some requests. */
async function missingSeries(cluster: Cluster, page: string, before: readonly string[]): Promise<string[]> {
  for (const exchange of before) await send(cluster, exchange);
  const captured = metricSeries(capturedAnswer(page).body);
  const simulated = metricSeries((await send(cluster, page)).body);
  return [
    ...[...captured].filter((line) => !simulated.has(line)),
    ...[...simulated].filter((line) => !captured.has(line)).map((line) => `only simulated: ${line}`),
  ];
}
