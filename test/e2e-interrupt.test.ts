import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { ServerLedger } from '../lib/result.ts';
import type { Cluster } from '../sim/cluster.ts';
import { fleetFor, folderFor, runCli } from './e2e-fleet.ts';
import { claimsWith, countsOf, findingsIn, planFor, resultIn } from './e2e-row.ts';
import { hasGuard, isGroupRunning, testK6, until } from './k6-for-tests.ts';

/** Longer than two signals of one keystroke may lie apart, so that the next one counts as a second. */
const NEXT_KEYSTROKE_MS = 600;

interface Stop {
  /** The signals come this long after the line that begins so. */
  readonly line: string;
  readonly afterMs: number;
  /** Sends the signals to the command; k6 is the group that it runs. */
  readonly signal: (command: number, k6: number) => Promise<void>;
}

/** Ramps two servers by a plan of two levels and stops the command on the way. */
async function stopped(t: TestContext, { line, afterMs, signal }: Stop) {
  const cluster = await fleetFor(t, {});
  const folder = await folderFor(t);
  await writeFile(join(folder, 'plan.json'), JSON.stringify(planFor(cluster, {})));
  // k6 itself under a known process id: the shell writes it down and becomes k6.
  const k6 = join(folder, 'k6');
  const body = `#!/bin/sh\necho $$ > '${folder}/pid'\nexec '${(await testK6()).path}' "$@"\n`;
  await writeFile(k6, body, { mode: 0o755 });
  const groupOf = async () => Number(await readFile(join(folder, 'pid'), 'utf8'));
  let signals: Promise<void> | undefined;
  const end = await runCli(['ramp', '--plan', 'plan.json'], {
    cluster,
    folder,
    environment: { K6_BIN: k6 },
    onLine: (said, command) => {
      if (said.startsWith(line)) signals ??= pause(afterMs).then(async () => signal(command, await groupOf()));
    },
  });
  await signals;
  const group = await groupOf();
  await until('the process group of k6 is gone', async () => !(await isGroupRunning(group)));
  await until('the guard is gone', async () => (await hasGuard(group)) !== true);
  return { end, said: end.lines.join('\n'), cluster, run: await resultIn(folder) };
}

const once = async (command: number): Promise<void> => void process.kill(command, 'SIGINT');

/** A client that is gone leaves nothing running on a server: what it had in flight is cancelled. */
async function checkIdle(cluster: Cluster): Promise<void> {
  for (const server of cluster.servers) {
    const loads: unknown = await (await fetch(`${server.url}/v1/loads`)).json();
    assert.match(JSON.stringify(loads), /"num_running_reqs":0/);
  }
}

test('Ctrl-C in the warm-up: nothing was measured, it is said so, exit 130', async (t) => {
  const { end, said, cluster, run } = await stopped(t, { line: 'in all:', afterMs: 1_200, signal: once });
  assert.equal(end.code, 130, said);
  assert.equal(run, null);
  assert.match(said, /^SIGINT: k6 stops and writes what it measured; once more kills it$/m);
  assert.match(said, /nothing was measured/);
  await checkIdle(cluster);
});

test('Ctrl-C in a hold: complete levels keep their figures, the others are null with the reason, exit 130', async (t) => {
  // The second level is held from 1.1 s after its first line at the earliest; its window ends 2.9 s after it began.
  const { end, said, cluster, run } = await stopped(t, { line: 'level 2 of 2', afterMs: 1_500, signal: once });
  assert.equal(end.code, 130, said);
  assert.ok(run !== null, said);
  const [first, second] = run.levels;
  assert.equal(first?.missing, null);
  assert.ok((first?.fleet.tokensPerSecond ?? 0) > 0);
  assert.equal(second?.missing, 'the run ended before the requests of this window had finished');
  assert.deepEqual(new Set(Object.values(second?.fleet ?? {})), new Set([null]));
  for (const server of second?.servers ?? []) assert.deepEqual([server.tokensPerSecond, server.inFlight], [null, null]);
  assert.deepEqual(findingsIn(run), ['note V5 s0', 'note V5 s1', 'refuse V5 l1']);
  assert.deepEqual(claimsWith(run, 'refused'), ['level:l1', 'baseline']);
  assert.match(said, /^interrupted: ended \d\.\d s into the ramp of 8\.\d+ s$/m);
  assert.match(said, /^Highest level: \S+ output tok\/s .* at 1 in flight per server \(limit 4, max running\)$/m);
  assert.match(said, /^ +4 +- .* the run ended before the requests of this window had finished$/m);
  for (const server of cluster.servers) {
    const ledger: ServerLedger | undefined = run.ledger.find((entry) => entry.name === server.name);
    const { tokensSent, requestsFinished } = server.truth();
    assert.equal(ledger?.started, (await countsOf(server)).received);
    assert.deepEqual([ledger?.finished, ledger?.answerTokens], [requestsFinished, tokensSent]);
  }
  await checkIdle(cluster);
});

test('a second Ctrl-C kills a k6 that does not come to its end, and leaves nothing running, exit 130', async (t) => {
  const twice = async (command: number, k6: number): Promise<void> => {
    process.kill(-k6, 'SIGSTOP');
    process.kill(command, 'SIGINT');
    await pause(NEXT_KEYSTROKE_MS);
    assert.ok(await isGroupRunning(k6), 'k6 cannot obey the first');
    process.kill(command, 'SIGINT');
  };
  const { end, said, cluster, run } = await stopped(t, { line: 'level 2 of 2', afterMs: 200, signal: twice });
  assert.equal(end.code, 130, said);
  assert.equal(run, null);
  await until('both servers are idle', async () =>
    checkIdle(cluster).then(
      () => true,
      () => false,
    ),
  );
});
