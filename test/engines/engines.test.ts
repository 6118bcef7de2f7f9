import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CHECKOUT } from '../../cli/k6.ts';
import { isGroupRunning, until } from '../k6-for-tests.ts';
import { at, complete, generate, readJson, tokensCountedBy } from './engine-client.ts';
import { installLlamaCpp, installSglang } from './install.ts';
import { type EngineServer, type SglangServer, startLlamaCpp, startSglang } from './servers.ts';

const report = (line: string) => console.error(line);
const where = { checkout: CHECKOUT, report };

test('a real SGLang server has the limits that were asked for and counts what it writes', async (t) => {
  const server = await startSglang(await installSglang(where), {
    maxRunning: 6,
    kvTokens: 3072,
    metrics: true,
    report,
  });
  t.after(server.close);
  const models = await readJson(`${server.url}/v1/models`);
  assert.equal(at(models, 'data', 0, 'object'), 'model');
  const info = await readJson(`${server.url}/server_info`);
  assert.equal(at(info, 'internal_states', 0, 'effective_max_running_requests_per_dp'), 6);
  assert.equal(at(info, 'max_total_num_tokens'), 3072);
  assert.equal(await generate(server, 16), 16);
  await until('the counter has the 16 tokens', async () => (await tokensCountedBy(server)) === 16);
});

/** Long enough a step that two servers on two cores hardly feel each other. */
const STEP_SECONDS = 0.1;
const ANSWER_TOKENS = 32;

test('two SGLang servers that are slowed down behave like two GPUs', async (t) => {
  const sglang = await installSglang(where);
  const options = { maxRunning: 8, kvTokens: 4096, metrics: true, report };
  const servers = await Promise.all([startSglang(sglang, options), startSglang(sglang, options)]);
  t.after(() => Promise.all(servers.map((server) => server.close())));
  for (const server of servers) await server.slowDown(STEP_SECONDS);
  const [first, second] = servers;
  for (const inFlight of [1, 4, 8]) {
    const alone = await rateOf(first, inFlight);
    const together = await Promise.all([rateOf(first, inFlight), rateOf(second, inFlight)]);
    const shown = together.map((rate) => rate.toFixed(1)).join(' and ');
    t.diagnostic(`${inFlight} in flight: alone ${alone.toFixed(1)} tok/s, together ${shown} tok/s`);
    // One GPU shared by two would give each a half, two GPUs the whole: the bound lies midway.
    for (const rate of together) assert.ok(rate > 0.75 * alone, `${rate} beside another server, ${alone} alone`);
  }
});

/** Output tokens per second of so many requests at once. */
async function rateOf(server: SglangServer, inFlight: number): Promise<number> {
  const startedAt = performance.now();
  const written = await Promise.all(Array.from({ length: inFlight }, () => generate(server, ANSWER_TOKENS)));
  const duration = (performance.now() - startedAt) / 1000;
  assert.deepEqual(written, Array(inFlight).fill(ANSWER_TOKENS));
  // Each token of one request is a step of its own.
  assert.ok(duration >= ANSWER_TOKENS * STEP_SECONDS, `${ANSWER_TOKENS} slow steps took only ${duration} s`);
  return (inFlight * ANSWER_TOKENS) / duration;
}

test("llama.cpp's server answers the OpenAI routes", async (t) => {
  const server: EngineServer = await startLlamaCpp(await installLlamaCpp(where), { slots: 4, report });
  t.after(server.close);
  const models = await readJson(`${server.url}/v1/models`);
  assert.equal(at(models, 'data', 0, 'object'), 'model');
  assert.equal(at(await readJson(`${server.url}/props`), 'total_slots'), 4);
  assert.deepEqual(await Promise.all([1, 2, 3, 4].map(() => complete(server, 16))), [16, 16, 16, 16]);
  assert.match(await server.metrics(), /^llamacpp:tokens_predicted_total 64$/m);
});

test('a port that is taken is refused, although llama.cpp would share it', async (t) => {
  const installed = await installLlamaCpp(where);
  const first = await startLlamaCpp(installed, { slots: 1, report });
  t.after(first.close);
  const port = Number(new URL(first.url).port);
  await assert.rejects(startLlamaCpp(installed, { slots: 1, port, report }), /port \d+ cannot be used: .*EADDRINUSE/);
});

test('a server that is closed is gone, and one whose test process is killed goes with it', async () => {
  const closed = await startLlamaCpp(await installLlamaCpp(where), { slots: 1, report });
  await closed.close();
  await assert.rejects(fetch(`${closed.url}/health`));
  const script = fileURLToPath(new URL('start-and-wait.ts', import.meta.url));
  const owner = spawn(process.execPath, ['--import', 'tsx', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(owner.stdout, 'data');
  const group = Number(String(line));
  assert.ok(await isGroupRunning(group));
  owner.kill('SIGKILL');
  await until('the group of the server is gone', async () => !(await isGroupRunning(group)));
});
