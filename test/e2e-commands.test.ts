import assert from 'node:assert/strict';
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { CHECKOUT } from '../cli/k6.ts';
import { type Baseline, makespanOf } from '../lib/baseline.ts';
import { renderBaseline } from '../lib/baseline-text.ts';
import type { RunResult } from '../lib/result.ts';
import type { Workload } from '../lib/workload.ts';
import type { Cluster } from '../sim/cluster.ts';
import { bareK6, fleetFor, folderFor, runCli, runProgram, TABLE_TOKENS } from './e2e-fleet.ts';
import { countsOf, findingsIn, rampRow, resultIn } from './e2e-row.ts';
import { testK6 } from './k6-for-tests.ts';

/** Since they started, each server has counted exactly what these results say that it answered. */
async function checkSums(cluster: Cluster, runs: readonly RunResult[], before: readonly number[][]): Promise<void> {
  for (const [index, server] of cluster.servers.entries()) {
    const ledgers = runs.map((run) => run.ledger.find((entry) => entry.name === server.name));
    const sum = (of: 'answerTokens' | 'finished') => ledgers.reduce((total, ledger) => total + (ledger?.[of] ?? 0), 0);
    const counts = await countsOf(server);
    const [tokens = 0, requests = 0] = before[index] ?? [];
    assert.equal(counts.tokens - tokens, sum('answerTokens'), `${server.name}: generation_tokens_total`);
    assert.equal(counts.requests - requests, sum('finished'), `${server.name}: num_requests_total`);
    assert.equal(server.truth().tokensSent, counts.tokens, `${server.name}: tokensSent`);
  }
}

const countsNow = (cluster: Cluster): Promise<number[][]> =>
  Promise.all(
    cluster.servers.map(async (server) => {
      const { tokens, requests } = await countsOf(server);
      return [tokens, requests];
    }),
  );

test('smoke, discover, plan, ramp and report by the command, each exit 0, with one ledger', async (t) => {
  const cluster = await fleetFor(t, {});
  const folder = await folderFor(t);
  const where = { cluster, folder, environment: { TOKRAMP_HOLD: '2.2', TOKRAMP_OVER_LIMIT: 'no' } };
  const run = async (...args: readonly string[]) => {
    const ended = await runCli(args, where);
    assert.equal(ended.code, 0, ended.lines.join('\n'));
    return ended.lines.join('\n');
  };
  assert.match(await run('smoke'), /^ {2}s1 {2}ok {2}16 output tokens for \d+ input tokens in \d\.\d\d s {2}sglang /m);
  assert.match(await run('discover'), /^written: \S+plan\.json$/m);
  const shown = await run('plan');
  assert.match(shown, /^limits: s0 4 \(max running\), s1 4 \(max running\)$/m);
  const before = await countsNow(cluster);
  const said = await run('ramp', '--plan', 'plan.json');
  const result = await resultIn(folder);
  assert.ok(result !== null);
  await checkSums(cluster, [result], before);
  assert.deepEqual(findingsIn(result), []);
  assert.match(said, /^SIMULATED valid \| /m);
  const [file] = (await readdir(folder)).filter((name) => name.startsWith('ramp-'));
  const report = await run('report', file ?? '');
  assert.ok(said.includes(report.trimEnd()), 'the report from the file is what the run printed');
});

test('baseline: first and warm apart, the fleet over the makespan, and cold only where the counters prove it', async (t) => {
  const cluster = await fleetFor(t, {});
  const folder = await folderFor(t);
  const ended = await runCli(['baseline', '--max-tokens', '128'], { cluster, folder });
  const said = ended.lines.join('\n');
  assert.deepEqual({ k6: ended.k6Code, cli: ended.code }, { k6: 0, cli: 0 }, said);
  const [name = ''] = (await readdir(folder)).filter((each) => each.startsWith('baseline-'));
  const baseline = JSON.parse(await readFile(join(folder, name), 'utf8')) as Baseline;
  for (const server of cluster.servers) assert.equal(server.truth().tokensSent, 4 * 128);
  assert.deepEqual(
    baseline.servers.map(({ cold }) => cold),
    [true, true],
  );
  assert.deepEqual(
    baseline.rounds.map((round) => round?.tokens),
    [256, 256, 256, 256],
  );
  // The first request pays 0.1 s on top of 0.33 s; a warm one less than half of that more than its own time.
  assert.match(said, /^ +s0 +\S+ +0\.4\d s +cold +\S+ +0\.3[34] s$/m);
});

test('the known answer: 8 x 1,024 tokens in 38.684 s are 211.8 tok/s', () => {
  const answers = Array.from({ length: 8 }, () => ({ tokens: 1_024, seconds: 38.684 }));
  const fleet = makespanOf(answers);
  assert.equal(fleet.tokensPerSecond.toFixed(1), '211.8');
  const servers = answers.map((answer, index) => {
    const round = makespanOf([answer]);
    return { name: `s${index}`, url: 'http://127.0.0.1:1', cold: true, rounds: [round, round] };
  });
  const text = renderBaseline({
    schemaVersion: 1,
    kind: 'tokramp baseline',
    runId: 'b',
    servers,
    rounds: [fleet, fleet],
  });
  assert.match(text, /^fleet, first round: +211\.8 output tok\/s \(8,192 tokens of 8 servers in 38\.684 s\)$/m);
  assert.match(text, /^ +s7 +26\.5 +39 s +cold +26\.5 +39 s$/m);
});

for (const [what, answers] of [
  ['no answers', []],
  ['no tokens', [{ tokens: 0, seconds: 38.684 }]],
  ['no time', [{ tokens: 1_024, seconds: 0 }]],
  ['tokens that are not a number', [{ tokens: Number.NaN, seconds: 1 }]],
  ['a time that is not a number', [{ tokens: 1_024, seconds: Number.NaN }]],
  ['an endless time', [{ tokens: 1_024, seconds: Number.POSITIVE_INFINITY }]],
] as const) {
  test(`there is no rate from ${what}: nothing empty, zero or not a number can be printed`, () => {
    assert.throws(() => makespanOf(answers), RangeError);
  });
}

/** Other ways to ask: by a plan of their own, on two levels. */
const WORKLOADS: Readonly<Record<string, Partial<Workload>>> = {
  'the completions API': { api: 'completions' },
  'the chat API': { api: 'chat' },
  'natural stop': { stop: 'natural' },
};

for (const [name, workload] of Object.entries(WORKLOADS)) {
  test(`a ramp with ${name} counts what the servers count`, async (t) => {
    const natural = workload.stop === 'natural';
    const { end, run } = await otherRow(t, workload);
    const said = end.lines.join('\n');
    for (const server of end.cluster.servers) {
      const ledger = run.ledger.find((entry) => entry.name === server.name);
      const counts = await countsOf(server);
      assert.equal(ledger?.answerTokens, counts.tokens);
      assert.equal(ledger?.finished, counts.requests);
      assert.equal(ledger?.outcomes['completed'], counts.requests, said);
      assert.equal((ledger?.finishReasons['stop'] ?? 0) > 0, natural);
    }
    // With lengths that vary, a short run may rightly be flagged or refused; with fixed ones nothing may fire.
    if (!natural)
      assert.deepEqual({ found: findingsIn(run), k6: end.k6Code, cli: end.code }, { found: [], k6: 0, cli: 0 });
  });
}

async function otherRow(t: TestContext, workload: Partial<Workload>) {
  const variable = workload.api === undefined ? 'TOKRAMP_STOP' : 'TOKRAMP_API';
  const value = workload.api ?? workload.stop ?? '';
  const outputLength = workload.stop === 'natural' ? null : { mean: TABLE_TOKENS, error: 0 };
  const end = await rampRow(t, {
    levels: '1,2',
    workload,
    change: { outputLength },
    environment: { [variable]: value },
  });
  assert.ok(end.run !== null, end.lines.join('\n'));
  return { end, run: end.run };
}

test('a prompts file is read from the working directory, and its prompts are what is sent', async (t) => {
  const cluster = await fleetFor(t, {});
  const folder = await folderFor(t);
  const words = Array.from({ length: 30 }, (_, index) => `word${index}`).join(' ');
  await writeFile(join(folder, 'prompts.jsonl'), `${JSON.stringify({ text: words })}\n"${words}"\n`);
  const smoke = await bareK6('smoke', { cluster, folder, environment: { TOKRAMP_PROMPTS: 'prompts.jsonl' } });
  const said = smoke.lines.join('\n');
  assert.equal(smoke.code, 0, said);
  const [first, second] = [...said.matchAll(/16 output tokens for (\d+) input tokens/g)].map((match) =>
    Number(match[1]),
  );
  assert.ok(first !== undefined && first === second && first >= 30 && first < 90, said);
});

test('discover.js and ramp.js run alone: two files, k6, no Node, another folder, relative paths', async (t) => {
  const cluster = await fleetFor(t, { count: 1 });
  const folder = await folderFor(t);
  await mkdir(join(folder, 'out'));
  for (const name of ['discover.js', 'ramp.js']) await copyFile(join(CHECKOUT, 'scenarios', name), join(folder, name));
  const environment = {
    PATH: '',
    TOKRAMP_SERVERS: cluster.environment,
    TOKRAMP_MAX_TOKENS: String(TABLE_TOKENS),
    TOKRAMP_LEVELS: '1,2',
    TOKRAMP_HOLD: '2.2',
    TOKRAMP_CLOSING_BASELINE: 'false',
    TOKRAMP_RESULTS: 'out',
    TOKRAMP_PLAN: 'out/plan.json',
  };
  const command = (await testK6()).path;
  for (const name of ['discover.js', 'ramp.js']) {
    const args = ['run', '--quiet', '--address', '', name];
    const ended = await runProgram({ command, args, environment, cwd: folder });
    assert.equal(ended.code, 0, ended.lines.join('\n'));
  }
  const run = await resultIn(join(folder, 'out'));
  assert.deepEqual(
    run?.verdicts.filter(({ verdict }) => verdict !== 'valid'),
    [],
  );
});
