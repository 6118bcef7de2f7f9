import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ladder, measuredLevels, type Plan, requestSecondsAt, scheduleOf, totalsOf } from '../lib/plan.ts';
import { parsePlan } from '../lib/plan-file.ts';
import { planFor } from './factories.ts';

const inFlight = (limit: number, overLimit: boolean, levels: readonly number[] | null = null) =>
  ladder(limit, { levels, overLimit }).map((level) => level.inFlight);

test('the ladder doubles up to the limit, holds the limit itself, and goes one level beyond', () => {
  const rows: readonly [number, boolean, readonly number[]][] = [
    [37, true, [1, 2, 4, 8, 16, 32, 37, 46]],
    [37, false, [1, 2, 4, 8, 16, 32, 37]],
    [8, true, [1, 2, 4, 8, 10]],
    [1, false, [1]],
    [1, true, [1, 2]],
    [2, true, [1, 2, 3]],
  ];
  for (const [limit, overLimit, expected] of rows)
    assert.deepEqual(inFlight(limit, overLimit), expected, `limit ${limit}`);
});

test('given levels win, and those beyond the limit are marked', () => {
  assert.deepEqual(ladder(8, { levels: [1, 8, 12], overLimit: false }), [
    { inFlight: 1, overLimit: false },
    { inFlight: 8, overLimit: false },
    { inFlight: 12, overLimit: true },
  ]);
});

test('R is a straight line between level 1 and the limit plus 10 %, and grows in proportion beyond the limit', () => {
  const measured = { atOne: 1, atLimit: 3, limit: 5 };
  assert.equal(requestSecondsAt(1, measured), 1.1);
  assert.equal(requestSecondsAt(3, measured), 2.2);
  assert.equal(requestSecondsAt(5, measured), 3.3);
  assert.equal(requestSecondsAt(10, measured), 6.6);
});

test('a server that is faster at the limit than alone does not shorten any R', () => {
  assert.equal(requestSecondsAt(5, { atOne: 2, atLimit: 1, limit: 5 }), 2.2);
});

test('every level is joined over one R, held, and measured with a guard of a quarter of the hold or one R', () => {
  const plan = planFor({ hold: 3, closingBaseline: true, levels: [level(1, 1), level(4, 2)] });
  const schedule = scheduleOf(plan);
  const [first, second] = schedule.levels;
  assert.deepEqual(
    [first?.staggerStart, first?.holdStart, first?.windowStart, first?.windowEnd, first?.holdEnd],
    [0, 1, 1.75, 3.25, 4],
  );
  assert.deepEqual(
    [second?.staggerStart, second?.holdStart, second?.windowStart, second?.windowEnd, second?.holdEnd],
    [4, 6, 7.5, 10.5, 12],
  );
  assert.equal(scheduleOf({ ...plan, hold: 5 }).levels[0]?.windowStart, 2, 'the guard never exceeds one R');
});

test('after the last level the load stays for one R, goes down within 1.1 R, rests one R of the top and holds level 1 again', () => {
  const schedule = scheduleOf(planFor({ hold: 3, closingBaseline: true, levels: [level(1, 1), level(4, 2)] }));
  assert.deepEqual(schedule.stages.slice(4), [
    { seconds: 2, target: 4 },
    { seconds: 2.2, target: 1 },
    { seconds: 1, target: 1 },
    { seconds: 1, target: 1 },
    { seconds: 3, target: 1 },
  ]);
  assert.equal(schedule.closing?.holdStart, 18.2);
  assert.equal(schedule.totalSeconds, 21.2);
});

test('stages and windows come from the same numbers: the stages add up to the total, windows lie inside holds', () => {
  for (const hold of [2.2, 3, 4, 7.3]) {
    const plan = planFor({ hold, levels: [level(1, 1.0137), level(2, 1.2749), level(37, 1.5991)] });
    const schedule = scheduleOf(plan);
    const sum = schedule.stages.reduce((total, stage) => total + stage.seconds, 0);
    assert.ok(Math.abs(sum - schedule.totalSeconds) < 0.0005, `hold ${hold}`);
    for (const entry of measuredLevels(schedule)) {
      assert.ok(entry.windowStart > entry.holdStart && entry.windowEnd < entry.holdEnd);
      assert.ok(
        entry.windowEnd - entry.windowStart >= entry.requestSeconds * 0.999,
        'a window is never shorter than R',
      );
    }
  }
});

test('the totals are what a run will cost', () => {
  const plan = planFor({ hold: 3, closingBaseline: false, levels: [level(1, 1), level(4, 2)], servers: ['a', 'b'] });
  const totals = totalsOf(plan, [{ gpus: 1 }, { gpus: 3 }]);
  assert.equal(totals.virtualUsers, 8);
  // 4 R of one request and 4 R of four, on each of two servers.
  assert.equal(totals.requests, 40);
  assert.equal(totals.tokens, 40 * plan.workload.maxTokens);
  assert.ok(Math.abs(totals.gpuHours - (4 * totals.seconds) / 3600) < 1e-12);
});

test('a plan file is refused with its path, the field and the remedy', () => {
  const whole = planFor({});
  const rows: readonly [string, string, RegExp][] = [
    ['cut off', JSON.stringify(whole).slice(0, 100), /plan p\.json: not JSON .*npm run discover/],
    ['a foreign file', '{"schemaVersion":1}', /plan p\.json: kind must be/],
    ['a hold too short', JSON.stringify({ ...whole, hold: 2 }), /hold must be .*2\.2, is 2/],
    ['a newer version', JSON.stringify({ ...whole, schemaVersion: 2 }), /schemaVersion/],
    [
      'levels that fall',
      JSON.stringify({ ...whole, levels: [level(4, 2), level(1, 1)] }),
      /levels\[1\]\.inFlight must be above 4, is 1/,
    ],
    [
      'a mark that contradicts the limit',
      JSON.stringify({ ...whole, levels: [level(1, 1), level(5, 2)] }),
      /levels\[1\]\.overLimit must be true: 5 beside the limit 4/,
    ],
    ['an unknown field', JSON.stringify({ ...whole, holds: 3 }), /holds/],
  ];
  for (const [name, text, expected] of rows) assert.throws(() => parsePlan(text, 'p.json'), expected, name);
  assert.deepEqual(parsePlan(JSON.stringify(whole), 'p.json'), whole);
});

function level(count: number, requestSeconds: number): Plan['levels'][number] {
  return { inFlight: count, overLimit: false, requestSeconds };
}
