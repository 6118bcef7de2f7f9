import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CHECKOUT } from '../../cli/k6.ts';
import { FLEET, levelClaim, serverClaim, verdictOf } from '../../lib/claims.ts';
import { pickMetric } from '../../lib/exposition.ts';
import { folderFor } from '../e2e-fleet.ts';
import { installSglang } from './install.ts';
import { type SglangServer, startSglang } from './servers.ts';
import {
  announce,
  assertAllCompleted,
  type Counted,
  countedBy,
  countedDuring,
  countedIn,
  planIn,
  report,
  runIn,
  runSuiteTo,
  type Suite,
} from './suite-on-engines.ts';

/** Long enough a step that two servers on two cores behave like two GPUs. */
const STEP_SECONDS = 0.1;
const MAX_TOKENS = 40;
const MAX_RUNNING = 8;

const environment = { TOKRAMP_MAX_TOKENS: String(MAX_TOKENS), TOKRAMP_OVER_LIMIT: 'false' };

async function slowServer(t: TestContext, kvTokens: number): Promise<SglangServer> {
  const installed = await installSglang({ checkout: CHECKOUT, report });
  const server = await startSglang(installed, { maxRunning: MAX_RUNNING, kvTokens, metrics: true, report });
  t.after(server.close);
  await server.slowDown(STEP_SECONDS);
  return server;
}

async function folderIn(parent: string, name: string): Promise<string> {
  const folder = join(parent, name);
  await mkdir(folder);
  return folder;
}

const SMOKE_TOKENS = 16;

test('the suite measures two real SGLang servers, and counts what they count', async (t) => {
  announce('sglang', 6);
  const home = await folderFor(t);
  const servers = await Promise.all([slowServer(t, 4096), slowServer(t, 4096)]);

  for (const api of ['generate', 'completions', 'chat']) {
    await t.test(`smoke by ${api} is one request of 16 tokens to each`, async () => {
      const suite = { servers, folder: home, environment: { ...environment, TOKRAMP_API: api } };
      let lines: readonly string[] = [];
      const counted = await countedDuring(servers, async () => {
        lines = await runSuiteTo(0, ['smoke'], suite);
      });
      assert.deepEqual(counted, Array(2).fill({ tokens: SMOKE_TOKENS, requests: 1 }));
      for (const name of ['s0', 's1']) {
        const line = lines.find((each) => each.startsWith(`  ${name} `)) ?? '';
        assert.match(line, /ok {2}16 output tokens for \d+ input tokens in \d+\.\d\d s {2}sglang 0\.5\.23$/);
      }
    });
  }

  const folder = await folderIn(home, 'ramp');
  const suite: Suite = { servers, folder, environment: { ...environment, TOKRAMP_LEVELS: '1,2,4,8' } };
  await t.test("discover finds the servers' own limit", async () => {
    const counted = await countedDuring(servers, () => runSuiteTo(0, ['discover'], suite));
    const plan = await planIn(folder);
    for (const { limit, pool } of [plan, ...plan.servers])
      assert.deepEqual([limit, pool], [MAX_RUNNING, 'max running']);
    for (const server of counted) assertDiscovered(server);
  });

  await t.test('the ramp counts every token and request that the servers count', async (t) => {
    let lines: readonly string[] = [];
    const counted = await countedDuring(servers, async () => {
      lines = await runSuiteTo(0, ['ramp', '--plan', join(folder, 'plan.json')], suite);
    });
    for (const line of lines) t.diagnostic(line);
    const run = await runIn(folder);
    assert.deepEqual(run.ledger.map(countedIn), counted);
    assertAllCompleted(run);
    assert.equal(run.simulated, false);
    assert.deepEqual(
      run.findings.filter(({ severity }) => severity === 'refuse'),
      [],
    );
    for (const { inFlight, servers: measured } of [...run.levels, ...(run.closing === null ? [] : [run.closing])]) {
      for (const { name, tokensPerSecond } of measured) assertPlausible(name, inFlight, tokensPerSecond ?? 0);
    }
  });

  await t.test('a server that is killed during a level is named, and the other keeps its figures', async () => {
    const [survivor, victim] = servers;
    const folder = await folderIn(home, 'killed');
    const plan = await planIn(suite.folder);
    const levels = plan.levels.filter(({ inFlight }) => inFlight <= 4);
    await writeFile(join(folder, 'plan.json'), JSON.stringify({ ...plan, levels, closingBaseline: false }));
    const secondLevel = levels[1]?.requestSeconds ?? 0;
    let killing: Promise<void> | undefined;
    const kill = async () => {
      // The stagger takes one R, so this is in the middle of the hold.
      await pause(2.5 * secondLevel * 1000);
      await victim.close();
    };
    const before = await countedBy(survivor);
    const lines = await runSuiteTo(3, ['ramp', '--plan', join(folder, 'plan.json')], {
      servers,
      folder,
      environment,
      onLine: (line) => {
        if (line.startsWith('level 2 of 3')) killing ??= kill();
      },
    });
    await killing;
    for (const line of lines) t.diagnostic(line);
    const run = await runIn(folder);
    const after = await countedBy(survivor);
    const [kept] = run.ledger;
    assert.ok(kept !== undefined);
    assert.deepEqual(countedIn(kept), {
      tokens: after.tokens - before.tokens,
      requests: after.requests - before.requests,
    });
    const found = run.findings.map(({ severity, rule, server, level }) => `${severity} ${rule} ${server} ${level}`);
    assert.ok(found.includes('refuse V1 s1 l2'), found.join('\n'));
    assert.ok(found.includes('refuse V2 s1 l1'), found.join('\n'));
    for (const claim of [FLEET, levelClaim('l1'), levelClaim('l2'), serverClaim('s1')]) {
      assert.equal(verdictOf(run, claim), 'refused', claim);
    }
    assert.notEqual(verdictOf(run, serverClaim('s0')), 'refused');
    for (const { inFlight, servers: measured } of run.levels) {
      assertPlausible('s0', inFlight, measured.find(({ name }) => name === 's0')?.tokensPerSecond ?? 0);
    }
  });
});

/** Three short requests, two to six rounds of bursts, one request alone and one burst, all bursts at the limit. */
function assertDiscovered({ tokens, requests }: Counted): void {
  const burst = MAX_RUNNING * MAX_TOKENS;
  const rounds = (tokens - 3 * 16 - MAX_TOKENS - burst) / burst;
  assert.ok([2, 3, 4, 5, 6].includes(rounds), `${tokens} tokens are no whole number of rounds`);
  assert.equal(requests, 3 + rounds * MAX_RUNNING + 1 + MAX_RUNNING);
}

/**
 * A token of one request is a step of its own, and a step takes 0.1 s at least: no server can be faster than that. Each of the others
 * prefills once during a request, which is a step for all; and of a step the processor may take half of the sleep, twice what it does.
 */
function assertPlausible(server: string, inFlight: number, tokensPerSecond: number): void {
  const most = inFlight / STEP_SECONDS;
  const least = (inFlight * MAX_TOKENS) / ((MAX_TOKENS + inFlight - 1) * 1.5 * STEP_SECONDS);
  const said = `${server}, ${inFlight} in flight: ${tokensPerSecond} tok/s, expected ${least.toFixed(1)} to ${most}`;
  assert.ok(tokensPerSecond <= most && tokensPerSecond >= least, said);
}

/** Five requests fit if the longest prompt has 125 to 157 tokens; those of the suite have 125 to 153 with this model. */
const SMALL_POOL = 1000;

test('a KV pool that binds gives the limit, and at that limit the server never retracts', async (t) => {
  announce('sglang', 3);
  const folder = await folderFor(t);
  const server = await slowServer(t, SMALL_POOL);
  const suite = { servers: [server], folder, environment: { ...environment, TOKRAMP_LEVELS: '1,5' } };
  await runSuiteTo(0, ['discover'], suite);
  const plan = await planIn(folder);
  const page = 1;
  const byKv = Math.floor((SMALL_POOL - 1) / ((plan.promptTokens ?? 0) + MAX_TOKENS + page));
  assert.deepEqual([plan.limit, plan.pool, byKv], [5, 'KV', 5]);
  const counted = await countedDuring([server], () =>
    runSuiteTo(0, ['ramp', '--plan', join(folder, 'plan.json')], suite),
  );
  const run = await runIn(folder);
  assert.deepEqual(run.ledger.map(countedIn), counted);
  assertAllCompleted(run);
  const metrics = await server.metrics();
  for (const name of ['num_retracted_requests_total', 'num_retracted_reqs']) {
    assert.equal(pickMetric(metrics, `sglang:${name}`) ?? 0, 0, name);
  }
});
