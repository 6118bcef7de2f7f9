import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EFFICIENCY, FLEET, levelClaim } from '../lib/claims.ts';
import { judge } from '../lib/judge.ts';
import { scheduleOf } from '../lib/plan.ts';
import type { RunResult } from '../lib/result.ts';
import { summarise } from '../lib/summary.ts';
import { renderCurve } from '../report/curve-svg.ts';
import { element, escapeText } from '../report/svg.ts';
import { contextFor, planFor, serverFor } from './factories.ts';
import { heldExactly } from './k6-data.ts';

const STARTED = 1_800_000_000_000;
const LEVELS = [1, 2, 4, 5].map((inFlight) => ({ inFlight, overLimit: inFlight > 4, requestSeconds: inFlight }));
/** Output tok/s per server: 30 alone, and bending. */
const rateAt = (inFlight: number): number => (33 * inFlight) / (1 + 0.1 * inFlight);

function runOf(part: { readonly model?: string; readonly refused?: readonly string[] } = {}): RunResult {
  const plan = planFor({ levels: LEVELS });
  const servers = plan.servers.map(({ name }) =>
    serverFor(name, { subject: { servedModel: part.model ?? 'tiny', engine: 'sglang', version: '0.5.23' } }),
  );
  const run = judge(
    summarise({
      data: heldExactly(plan, (_, inFlight) => rateAt(inFlight), STARTED),
      context: contextFor(plan, { servers, simulated: true }),
      plan,
      runName: null,
      tool: 't',
      now: STARTED + scheduleOf(plan).totalSeconds * 1000 + 1,
    }),
  );
  const verdicts = run.verdicts.map((entry) =>
    part.refused?.includes(entry.claim) ? { ...entry, verdict: 'refused' as const } : entry,
  );
  return { ...run, verdicts };
}

interface Mark {
  readonly level: number;
  readonly cx: number;
  readonly cy: number;
  readonly hollow: boolean;
}

const marksOf = (svg: string): readonly Mark[] =>
  [...svg.matchAll(/<circle class="point( hollow)?" cx="([\d.]+)" cy="([\d.]+)" r="4" data-level="(\d+)"\/>/g)].map(
    ([, hollow, cx, cy, level]) => ({
      level: Number(level),
      cx: Number(cx),
      cy: Number(cy),
      hollow: hollow !== undefined,
    }),
  );

/** What a pixel stands for, from the axis' own numbers. */
function axisOf(svg: string, name: 'x' | 'y'): (pixel: number) => number {
  const pattern = new RegExp(`<text class="small tick-${name}" x="([\\d.]+)" y="([\\d.]+)"[^>]*>([\\d,]+)<`, 'g');
  const ticks = [...svg.matchAll(pattern)].map(([, x, y, text = '']) => ({
    pixel: name === 'x' ? Number(x) : Number(y) - 4,
    value: Number(text.replaceAll(',', '')),
  }));
  const [first, last] = [ticks[0], ticks.at(-1)];
  assert.ok(first !== undefined && last !== undefined && first.pixel !== last.pixel, `ticks of ${name}`);
  const perPixel = (last.value - first.value) / (last.pixel - first.pixel);
  return (pixel) => first.value + (pixel - first.pixel) * perPixel;
}

test('every point stands where its figures are, read by the axes', () => {
  const svg = renderCurve(runOf());
  const [x, y] = [axisOf(svg, 'x'), axisOf(svg, 'y')];
  const marks = marksOf(svg);
  assert.deepEqual(
    marks.map(({ level }) => level),
    [1, 2, 4, 5],
  );
  for (const { level, cx, cy } of marks) {
    // Coordinates have one decimal, those of point and ticks together are at most 0.15 pixels off.
    const stepX = Math.abs(x(1) - x(0)) * 0.15;
    const stepY = Math.abs(y(1) - y(0)) * 0.15;
    assert.ok(Math.abs(x(cx) - 2 * level) <= stepX, `${x(cx)} in flight at level ${level}`);
    assert.ok(Math.abs(y(cy) - 2 * rateAt(level)) <= stepY, `${y(cy)} tok/s at level ${level}`);
  }
});

test('only the point over the limit is hollow, and the limit is named with its pool', () => {
  const svg = renderCurve(runOf());
  assert.deepEqual(
    marksOf(svg).map(({ hollow }) => hollow),
    [false, false, false, true],
  );
  assert.match(svg, />limit 4 \(KV\)</);
  const line = /<line class="limit" x1="([\d.]+)" x2="\1"/.exec(svg)?.[1];
  assert.equal(Number(line), marksOf(svg)[2]?.cx);
});

test('the straight line from level 1 starts in the origin and passes through level 1', () => {
  const svg = renderCurve(runOf());
  const [x, y] = [axisOf(svg, 'x'), axisOf(svg, 'y')];
  const found = /<line class="guess" x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)"/.exec(svg);
  const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = (found ?? []).slice(1).map(Number);
  const off = Math.abs(y(1) - y(0)) * 0.15;
  assert.ok(Math.abs(x(x1)) < 0.01 && Math.abs(y(y1)) <= off, 'the origin');
  // 2 servers, 30 tok/s each at level 1: 30 tok/s for each request in flight.
  assert.ok(Math.abs(y(y2) / x(x2) - 30) < 0.1, `${y(y2)} tok/s at ${x(x2)} in flight`);
});

test('a level that is refused is neither drawn nor written, and the line goes on without it', () => {
  const svg = renderCurve(runOf({ refused: [levelClaim('l1')] }));
  assert.deepEqual(
    marksOf(svg).map(({ level }) => level),
    [1, 4, 5],
  );
  assert.equal(/<polyline class="curve" points="([^"]+)"/.exec(svg)?.[1]?.split(' ').length, 3);
  assert.doesNotMatch(svg, />110\.0</);
  assert.match(svg, />refused</);
});

test('without a fleet figure there is no curve, and without efficiency no straight line', () => {
  const none = renderCurve(runOf({ refused: [FLEET] }));
  assert.deepEqual(marksOf(none), []);
  assert.match(none, />no curve: no level has a figure that may be shown</);
  assert.doesNotMatch(none, /class="(?:curve|guess)"/);
  const bare = renderCurve(runOf({ refused: [EFFICIENCY] }));
  assert.equal(marksOf(bare).length, 4);
  assert.doesNotMatch(bare, /class="guess"|\d %</);
});

test('the title has the verdict, says that servers were simulated, and names the figure of the limit', () => {
  const title = /<title>([^<]+)<\/title>/.exec(renderCurve(runOf()))?.[1];
  // 2 x 33 x 4 / 1.4
  assert.match(title ?? '', /^tokramp \| SIMULATED valid \| 188\.6 tok\/s \+- 0\.1 % \| 2 GPUs x 4 in flight$/);
});

test('no number in the picture is missing, and a number that is none stops the drawing', () => {
  for (const refused of [[], [FLEET], [EFFICIENCY], [levelClaim('l0')]]) {
    assert.doesNotMatch(renderCurve(runOf({ refused })), /NaN|Infinity|undefined|null/);
  }
  assert.throws(() => element('circle', { cx: Number.NaN }), /SVG: cx is NaN/);
});

test('a name with markup or control characters in it stays text', () => {
  const svg = renderCurve(runOf({ model: '</text><script>alert("x")</script>&\u0000' }));
  assert.ok(!svg.includes('<script') && !svg.includes('\u0000'));
  assert.match(svg, /&lt;script&gt;alert\(&quot;x&quot;\)&lt;\/script&gt;&amp;/);
  assert.equal(escapeText('a\u0007<b>'), 'a&lt;b&gt;');
});
