import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, type SimServer, startCluster } from '../sim/cluster.ts';
import type { AnswerFault, FaultState } from '../sim/faults.ts';
import { PROFILES, type Profile } from '../sim/profiles.ts';

/** 1 ms a step and 1 ms a prefill, whatever the batch: times of the model are round numbers. */
const PLAIN: Profile = {
  ...PROFILES.story,
  stepBaseMs: 1,
  stepPerRequestMs: 0,
  prefillTokensPerSecond: 1e12,
  coldStartMs: 0,
  healthMs: 30,
};

async function fleetFor(t: TestContext, part: Partial<Profile> = {}, count = 1): Promise<Cluster> {
  const cluster = await startCluster({ count, profile: { ...PLAIN, ...part } });
  t.after(() => cluster.close());
  return cluster;
}

async function serverFor(t: TestContext, part: Partial<Profile> = {}): Promise<SimServer> {
  const [server] = (await fleetFor(t, part)).servers;
  assert.ok(server);
  return server;
}

const post = (url: string, body: unknown, signal?: AbortSignal): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });

const ask = ({ url }: SimServer, tokens: number, signal?: AbortSignal): Promise<Response> =>
  post(
    `${url}/generate`,
    { text: 'a question', sampling_params: { max_new_tokens: tokens, ignore_eos: true } },
    signal,
  );

const askCompletion = ({ url }: SimServer, tokens: number): Promise<Response> =>
  post(`${url}/v1/completions`, { prompt: 'a question', max_tokens: tokens, ignore_eos: true });

interface Answer {
  readonly text: string;
  readonly meta_info: Readonly<Record<string, unknown>> & {
    readonly finish_reason: { readonly type: string; readonly length?: number };
    readonly e2e_latency: number;
  };
}

const answerOf = async (response: Promise<Response>): Promise<Answer> => (await response).json() as Promise<Answer>;

const loadsOf = async ({ url }: SimServer): Promise<Readonly<Record<string, number>>> => {
  const body = (await (await fetch(`${url}/v1/loads`)).json()) as { loads: [Record<string, number>] };
  return body.loads[0];
};

async function metricOf({ url }: SimServer, name: string): Promise<number | null> {
  const line = (await (await fetch(`${url}/metrics`)).text())
    .split('\n')
    .find((each) => each.startsWith(`sglang:${name}{`));
  return line === undefined ? null : Number(line.slice(line.lastIndexOf(' ')));
}

const isRefused = (error: unknown): boolean => error instanceof TypeError && 'cause' in error;

test('each answer fault spoils the answer of both kinds of route in its own way, and only that', async (t) => {
  const server = await serverFor(t);
  const rows: [AnswerFault, number, RegExp, RegExp][] = [
    ['status-500', 500, /^Internal Server Error$/, /^Internal Server Error$/],
    ['queue-full', 503, /"type":"503"/, /"type":"503"/],
    ['unauthorized', 401, /^\{"error":"Unauthorized"\}$/, /^\{"error":"Unauthorized"\}$/],
    ['bad-gateway', 502, /^<html>/, /^<html>/],
    ['no-usage', 200, /"meta_info":(?!.*completion_tokens)/, /"choices":(?!.*usage)/],
    ['tokens-as-text', 200, /"completion_tokens":"20"/, /"completion_tokens":"20"/],
    ['tokens-zero', 200, /"completion_tokens":0,/, /"completion_tokens":0,/],
    ['tokens-negative', 200, /"completion_tokens":-1,/, /"completion_tokens":-1,/],
    ['tokens-null', 200, /"completion_tokens":null,/, /"completion_tokens":null,/],
    ['abort', 200, /"type":"abort".*"completion_tokens":10,/, /"finish_reason":"abort".*"completion_tokens":10,/],
  ];
  for (const [answer, status, native, openAi] of rows) {
    await server.faults.set({ answer });
    for (const [response, pattern] of [
      [await ask(server, 20), native],
      [await askCompletion(server, 20), openAi],
    ] as const) {
      assert.equal(response.status, status, answer);
      assert.match(await response.text(), pattern, answer);
    }
    assert.equal((await fetch(`${server.url}/v1/models`)).status, 200);
  }
  await server.faults.set({ answer: 'truncated-json' });
  const cut = await (await ask(server, 20)).text();
  assert.throws(() => JSON.parse(cut), SyntaxError);
  await server.faults.clear();
  assert.equal((await answerOf(ask(server, 20))).meta_info['completion_tokens'], 20);
});

test('a dead server refuses connections, cuts the open ones, and comes back on the same port through another server', async (t) => {
  const [dead, peer] = (await fleetFor(t, {}, 2)).servers;
  assert.ok(dead && peer);
  const open = ask(dead, 30_000);
  open.catch(() => {});
  await delay(30);
  const admin = `${peer.url}/sim/faults?server=s0`;
  assert.equal((await post(admin, { dead: true })).status, 200);
  await assert.rejects(open, isRefused);
  await assert.rejects(ask(dead, 1), isRefused);
  assert.equal((await post(admin, { dead: false })).status, 200);
  assert.equal((await ask(dead, 1)).status, 200);
});

test('a server that is to die after three answers gives three', async (t) => {
  const server = await serverFor(t);
  await server.faults.set({ diesAfter: 3 });
  for (let index = 0; index < 3; index++) assert.equal((await ask(server, 5)).status, 200);
  await delay(20);
  await assert.rejects(ask(server, 5), isRefused);
  assert.equal(server.truth().requestsFinished, 3);
});

test('a hanging server accepts requests and answers only other routes', async (t) => {
  const server = await serverFor(t);
  await server.faults.set({ hang: true });
  await assert.rejects(ask(server, 1, AbortSignal.timeout(100)), { name: 'TimeoutError' });
  assert.equal((await fetch(`${server.url}/v1/models`)).status, 200);
});

test('answers can end early, be clamped, be slow or cold, and say so as a real server would', async (t) => {
  const server = await serverFor(t, { coldStartMs: 500 });
  // 100 tokens: a prefill of 1 ms and 99 steps of 1 ms.
  const rows: [Partial<FaultState>, { tokens: number; reason: string; seconds: number }][] = [
    [{}, { tokens: 100, reason: 'length', seconds: 0.6 }],
    [{}, { tokens: 100, reason: 'length', seconds: 0.1 }],
    [{ stopEarlyAt: 40 }, { tokens: 40, reason: 'stop', seconds: 0.04 }],
    [{ clampTo: 60 }, { tokens: 60, reason: 'length', seconds: 0.06 }],
    [{ slow: 3 }, { tokens: 100, reason: 'length', seconds: 0.3 }],
    [{ cold: true }, { tokens: 100, reason: 'length', seconds: 0.6 }],
    [{}, { tokens: 100, reason: 'length', seconds: 0.1 }],
  ];
  for (const [fault, expected] of rows) {
    await server.faults.clear();
    await server.faults.set(fault);
    const { meta_info: meta } = await answerOf(ask(server, 100));
    const got = { tokens: meta['completion_tokens'], reason: meta.finish_reason.type };
    assert.deepEqual(got, { tokens: expected.tokens, reason: expected.reason }, JSON.stringify(fault));
    // The model's own time: exact to the clock's resolution, however busy this machine is.
    assert.ok(Math.abs(meta.e2e_latency - expected.seconds) < 1e-3, `${JSON.stringify(fault)}: ${meta.e2e_latency} s`);
  }
});

test('time comes from the model: a process that was blocked answers late but reports and emits as planned', async (t) => {
  const server = await serverFor(t);
  const answer = answerOf(ask(server, 100));
  await delay(30);
  const until = performance.now() + 250;
  while (performance.now() < until) Math.sqrt(until);
  const { meta_info: meta } = await answer;
  assert.ok(Math.abs(meta.e2e_latency - 0.1) < 1e-3, `${meta.e2e_latency} s`);
  const truth = server.truth();
  assert.ok(Math.abs(truth.tokensEmitted - 100) < 1e-6);
});

test('another model and other limits are shown; a hidden limit is enforced but not shown', async (t) => {
  const server = await serverFor(t);
  await server.faults.set({ model: 'another', maxTotalTokens: 9000, maxRunning: 12, hiddenMaxRunning: 2 });
  const info = (await (await fetch(`${server.url}/server_info`)).json()) as Record<string, unknown> & {
    internal_states: [Record<string, unknown>];
  };
  assert.equal(info['model_path'], 'another');
  assert.equal(info['max_total_num_tokens'], 9000);
  assert.equal(info['max_running_requests'], 64, 'what was configured');
  assert.equal(info.internal_states[0]['effective_max_running_requests_per_dp'], 12);
  assert.equal(info['version'], '0.5.23+simulated');
  const held = Array.from({ length: 5 }, () => ask(server, 300));
  await delay(120);
  const loads = await loadsOf(server);
  assert.deepEqual([loads['num_running_reqs'], loads['num_waiting_reqs'], loads['max_running_requests']], [2, 3, 12]);
  await Promise.all(held);
});

test('a busy server holds requests of others that take slots, and lets them go', async (t) => {
  const server = await serverFor(t, { maxRunning: 4 });
  await server.faults.set({ busy: 4 });
  await delay(60);
  assert.equal((await loadsOf(server))['num_running_reqs'], 4);
  assert.equal(await metricOf(server, 'num_running_reqs'), 4);
  const waiting = answerOf(ask(server, 10));
  await delay(60);
  assert.equal((await loadsOf(server))['num_waiting_reqs'], 1);
  await server.faults.set({ busy: 0 });
  assert.equal((await waiting).meta_info['completion_tokens'], 10);
  assert.equal(server.truth().tokensSent, 10);
});

test('readiness, metrics and the names of routes can be taken away and given back', async (t) => {
  const server = await serverFor(t);
  const status = async (path: string): Promise<number> => (await fetch(server.url + path)).status;
  const rows: [Partial<FaultState>, Record<string, number>][] = [
    [
      {},
      {
        '/health': 200,
        '/ping': 200,
        '/metrics': 200,
        '/server_info': 200,
        '/get_server_info': 200,
        '/v1/loads': 200,
        '/get_load': 404,
      },
    ],
    [{ notReady: true }, { '/health': 503, '/ping': 503, '/v1/models': 200, '/server_info': 200 }],
    [{ metricsOff: true }, { '/metrics': 404, '/v1/loads': 200 }],
    [
      { oldBuild: true },
      {
        '/server_info': 404,
        '/model_info': 404,
        '/v1/loads': 404,
        '/get_server_info': 200,
        '/get_model_info': 200,
        '/get_load': 200,
      },
    ],
  ];
  for (const [fault, expected] of rows) {
    await server.faults.clear();
    await server.faults.set(fault);
    for (const [path, wanted] of Object.entries(expected))
      assert.equal(await status(path), wanted, `${JSON.stringify(fault)} ${path}`);
  }
});

test('health takes its time and answers 503 while the server starts', async (t) => {
  const server = await serverFor(t, { startUpMs: 80, healthMs: 60 });
  assert.equal((await fetch(`${server.url}/health`)).status, 503);
  await delay(100);
  const sentAt = performance.now();
  assert.equal((await fetch(`${server.url}/health`)).status, 200);
  assert.ok(performance.now() - sentAt >= 59);
});

test('tokens sent in answers are the counters of the server and the truth of the engine, on every route', async (t) => {
  const cluster = await fleetFor(t, {}, 4);
  await Promise.all(
    cluster.servers.flatMap((server, index) => [
      ...Array.from({ length: 6 }, (_, each) => ask(server, 20 + each + index).then((response) => response.text())),
      askCompletion(server, 33).then((response) => response.text()),
      post(`${server.url}/v1/completions`, { prompt: ['one', 'two'], max_tokens: 7, n: 2, ignore_eos: true }).then(
        (response) => response.text(),
      ),
      post(`${server.url}/v1/chat/completions`, { messages: [{ role: 'user', content: 'x' }], max_tokens: 400 }).then(
        (response) => response.text(),
      ),
    ]),
  );
  for (const server of cluster.servers) {
    const truth = server.truth();
    const counted = await metricOf(server, 'generation_tokens_total');
    assert.equal(truth.tokensSent, counted);
    assert.ok(Math.abs(truth.tokensEmitted - truth.tokensSent) < 1e-6);
    // 6 + 1 + 2 x 2 + 1 requests, of which each got its first token from a prefill.
    assert.equal(await metricOf(server, 'num_requests_total'), 12);
    const decoded = (await (await fetch(`${server.url}/metrics`)).text()).match(
      /realtime_tokens_total\{[^}]*mode="decode"[^}]*\} (\S+)/,
    );
    assert.equal(Number(decoded?.[1]), truth.tokensSent - 12);
  }
});

test('a client that leaves frees its place at once', async (t) => {
  const server = await serverFor(t, { maxRunning: 1 });
  await assert.rejects(ask(server, 20_000, AbortSignal.timeout(80)), { name: 'TimeoutError' });
  const { meta_info: meta } = await answerOf(ask(server, 10));
  assert.ok(meta.e2e_latency < 1, `${meta.e2e_latency} s`);
  assert.equal(await metricOf(server, 'num_aborted_requests_total'), 1);
});

test('answers that may end by themselves have seeded lengths and stop with a token', async (t) => {
  const lengthsOf = async (server: SimServer): Promise<unknown[]> => {
    const lengths: unknown[] = [];
    for (let index = 0; index < 5; index++) {
      const body = { text: `question ${index}`, sampling_params: { max_new_tokens: 2000 } };
      const { meta_info: meta } = await answerOf(post(`${server.url}/generate`, body));
      assert.equal(meta.finish_reason.type, 'stop');
      lengths.push(meta['completion_tokens']);
    }
    return lengths;
  };
  const [one, two] = (await fleetFor(t, { naturalStopTokens: 30 }, 2)).servers;
  assert.ok(one && two);
  const lengths = await lengthsOf(one);
  assert.deepEqual(await lengthsOf(two), lengths);
  assert.ok(new Set(lengths).size > 1, String(lengths));
});

test('the admin routes refuse what they do not know in one line that names the valid choices', async (t) => {
  const server = await serverFor(t);
  const rows: [string, number, RegExp][] = [
    ['{"answre":"abort"}', 400, /unknown fault "answre"; known are dead, .*oldBuild/],
    ['{"answer":"nope"}', 400, /fault "answer": got "nope", want null or one of status-500, /],
    ['{"slow":0}', 400, /fault "slow": got 0, want a number above 0/],
    ['{"busy":-1}', 400, /fault "busy": got -1, want a whole number from 0/],
    ['{"dead":"yes"}', 400, /fault "dead": got "yes", want true or false/],
    ['not json', 400, /JSON decode error/],
  ];
  for (const [body, status, message] of rows) {
    const response = await fetch(`${server.url}/sim/faults`, { method: 'POST', body });
    assert.equal(response.status, status, body);
    const { error, message: shape } = (await response.json()) as { error?: string; message?: string };
    assert.match(error ?? shape ?? '', message);
  }
  assert.equal((await fetch(`${server.url}/sim/truth?server=s9`)).status, 404);
  assert.equal((await fetch(`${server.url}/sim/truth?from=5&to=4`)).status, 400);
  await ask(server, 50);
  const truth = (await (await fetch(`${server.url}/sim/truth`)).json()) as {
    tokensSent: number;
    interval: { tokens: number };
  };
  assert.equal(truth.tokensSent, 50);
  assert.ok(Math.abs(truth.interval.tokens - 50) < 1e-6);
});

test('idle connections are announced to close after five seconds, as uvicorn closes them', async (t) => {
  const server = await serverFor(t);
  assert.equal((await fetch(`${server.url}/v1/models`)).headers.get('keep-alive'), 'timeout=5');
});
