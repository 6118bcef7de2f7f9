import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scheduleOf } from '../lib/plan.ts';
import { type RunContext, summarise } from '../lib/summary.ts';
import { contextFor, planFor, serverFor } from './factories.ts';
import { heldExactly, type K6Data } from './k6-data.ts';

const STARTED = 1_800_000_000_000;

const PLAN = planFor({});
const TOTAL_MS = scheduleOf(PLAN).totalSeconds * 1000;
const rateAt = (server: string, inFlight: number): number =>
  (server === 's0' ? 30 : 28) * inFlight * (inFlight === 1 ? 1 : 0.8);

const figures = (data: K6Data, part: { now?: number; context?: RunContext } = {}) =>
  summarise({
    data,
    context: part.context ?? contextFor(PLAN),
    plan: PLAN,
    runName: null,
    tool: 'tokramp test',
    now: part.now ?? STARTED + TOTAL_MS + 1,
  });

test('a rate is tokens over the window of its level, summed over the fleet', () => {
  const run = figures(heldExactly(PLAN, rateAt, STARTED));
  assert.deepEqual(
    run.levels.map((level) => level.fleet.tokensPerSecond),
    [58, 185.6],
  );
  assert.deepEqual(
    run.levels.map((level) => level.fleet.efficiency),
    [1, 0.8],
  );
  const top = run.levels[1];
  assert.equal(top?.fleet.slowest, 's1');
  assert.equal(top?.fleet.minPerServer, 89.6);
  assert.equal(top?.fleet.maxPerServer, 96);
  assert.equal(top?.fleet.medianPerServer, 92.8);
  assert.equal(top?.fleet.inFlight, 8);
  assert.equal(top?.fleet.tokensPerSecondPerRequest, 23.2);
  assert.equal(run.interrupted, null);
  assert.equal(run.closing?.fleet.tokensPerSecond, 58);
});

test("the uncertainty of a sum is Student's interval over the servers, and none for one server", () => {
  // Two values 96 and 89.6: s = 4.5254834, t(0.975, 1) = 12.7062, so t * s / sqrt(2) / 92.8 = 0.43814.
  const run = figures(heldExactly(PLAN, rateAt, STARTED));
  assert.ok(Math.abs((run.levels[1]?.fleet.uncertainty ?? 0) - 0.43814) < 1e-5);
  const alone = contextFor(PLAN, { servers: [serverFor('s0')] });
  assert.equal(figures(heldExactly(PLAN, rateAt, STARTED), { context: alone }).levels[1]?.fleet.uncertainty, null);
});

test('an interrupted run keeps the windows that had ended one longest request before, and gives the others no figure', () => {
  const [first, second] = scheduleOf(PLAN).levels;
  if (first === undefined || second === undefined) throw new Error('two levels expected');
  const longest = second.requestSeconds / 1.1;
  const rows: readonly [string, number, readonly [boolean, boolean]][] = [
    ['just before the first window is safe', first.windowEnd + longest - 0.01, [false, false]],
    ['the first window is safe', first.windowEnd + longest + 0.01, [true, false]],
    ['just before the second is safe', second.windowEnd + longest - 0.01, [true, false]],
    ['both are safe', second.windowEnd + longest + 0.01, [true, true]],
  ];
  for (const [name, elapsed, measured] of rows) {
    const run = figures(heldExactly(PLAN, rateAt, STARTED), { now: STARTED + elapsed * 1000 });
    assert.notEqual(run.interrupted, null, name);
    assert.deepEqual(
      run.levels.map((level) => level.missing === null),
      measured,
      name,
    );
    assert.deepEqual(
      run.levels.map((level) => level.fleet.tokensPerSecond !== null),
      measured,
      name,
    );
    assert.equal(run.closing?.fleet.tokensPerSecond, null, name);
  }
});

test('an interrupted window that lost in-flight time has no figure either', () => {
  const [first] = scheduleOf(PLAN).levels;
  if (first === undefined) throw new Error('a level expected');
  const data = heldExactly(PLAN, rateAt, STARTED);
  const window = first.windowEnd - first.windowStart;
  data.set('inFlightSeconds', { server: 's1', level: 'l0' }, { count: 0.97 * window });
  assert.notEqual(figures(data, { now: STARTED + 10_000 }).levels[0]?.missing, null);
});

test('a server that took no part is in the ledger and in no sum', () => {
  const servers = [serverFor('s0'), serverFor('s1', { absent: 'cannot be reached', subject: null, warmUp: null })];
  const run = figures(heldExactly(PLAN, rateAt, STARTED), { context: contextFor(PLAN, { servers }) });
  assert.equal(run.levels[1]?.fleet.tokensPerSecond, 96);
  assert.deepEqual(
    run.levels[1]?.servers.map((server) => server.name),
    ['s0'],
  );
  assert.deepEqual(
    run.ledger.map((ledger) => ledger.name),
    ['s0', 's1'],
  );
});

test("k6's new machine-readable summary and replaced thresholds stop the summary instead of giving an empty one", () => {
  const input = { context: contextFor(PLAN), plan: PLAN, runName: null, tool: 't', now: STARTED };
  assert.throws(
    () => summarise({ ...input, data: { results: { metrics: [] }, version: '1.0.0' } }),
    /K6_NEW_MACHINE_READABLE_SUMMARY/,
  );
  assert.throws(() => summarise({ ...input, data: { metrics: {} } }), /lacks .*thresholds were replaced/);
});

test('the ledger counts whole answers by outcome and finish reason, and tokens by window', () => {
  const data = heldExactly(PLAN, rateAt, STARTED);
  data.set('requests', { server: 's1', outcome: 'rejected' }, { count: 3 });
  data.set('requestsStarted', { server: 's1' }, { count: 16 });
  data.set('outputTokens', { server: 's1', level: 'outside' }, { count: 12.5 });
  const ledger = figures(data).ledger[1];
  assert.equal(ledger?.scenarioStart, STARTED);
  assert.equal(ledger?.started, 16);
  assert.equal(ledger?.finished, 15);
  assert.equal(ledger?.outcomes['rejected'], 3);
  assert.equal(ledger?.finishReasons['length'], 12);
  assert.equal(ledger?.tokensByWindow['outside'], 12.5);
});

test('a server whose scenario never began has no start', () => {
  const data = heldExactly(PLAN, rateAt, STARTED);
  data.set('scenarioStart', { server: 's1' }, { value: 0, min: 0, max: 0 });
  assert.deepEqual(
    figures(data).ledger.map((ledger) => ledger.scenarioStart),
    [STARTED, null],
  );
});
