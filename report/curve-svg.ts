/** The throughput curve of a run as one SVG: verdict, curve and table; a refused figure is neither drawn nor written. */
import { type ScaleLinear, scaleLinear } from 'd3-scale';
import { count } from '../lib/format.ts';
import type { RunResult } from '../lib/result.ts';
import { ticketLine } from '../lib/text.ts';
import { type CurvePoint, curvePoints, linearSlope, serversOf } from './curve-points.ts';
import { curveTable } from './curve-table.ts';
import { element, escapeText, label } from './svg.ts';

const WIDTH = 940;
const HEIGHT = 430;
const PLOT = { left: 66, right: 540, top: 118, bottom: 352 };
const TABLE = { left: 576, right: WIDTH - 24, top: 100 };
/** What fits into the width, in the size of its line. */
const MOST_IN_TITLE = 92;
const MOST_IN_DETAILS = 140;

/** Both colour schemes bring their own background: a page may be dark where the reader's system is light. */
const STYLE = `
svg{--paper:#fff;--ink:#1f2328;--quiet:#59636e;--line:#d1d9e0;--curve:#0969da}
@media(prefers-color-scheme:dark){svg{--paper:#0d1117;--ink:#e6edf3;--quiet:#9198a1;--line:#343b44;--curve:#58a6ff}}
text{font:12px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:var(--ink)}
.paper{fill:var(--paper);stroke:var(--line)}
.title{font-size:17px;font-weight:600}
.quiet{fill:var(--quiet)}
.small{font-size:11px;fill:var(--quiet)}
.strong{font-weight:600}
.rule{stroke:var(--line)}
.guess{stroke:var(--quiet);stroke-dasharray:6 5;fill:none}
.limit{stroke:var(--ink);stroke-dasharray:2 4}
.curve{stroke:var(--curve);stroke-width:2;fill:none}
.point{fill:var(--curve);stroke:var(--curve);stroke-width:2}
.hollow{fill:var(--paper)}
`;

interface Scales {
  readonly x: ScaleLinear<number, number>;
  readonly y: ScaleLinear<number, number>;
}

/** The picture as text of an SVG file. */
export function renderCurve(run: RunResult): string {
  const [verdict = '', figure = '', fleet = '', ...details] = ticketLine(run).split(' | ');
  const title = ['tokramp', verdict, figure, fleet].join(' | ');
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    width: WIDTH,
    height: HEIGHT,
    role: 'img',
  };
  const picture = element('svg', attributes, [
    element('title', {}, [escapeText(title)]),
    `<style>${STYLE}</style>`,
    element('rect', { class: 'paper', x: 0.5, y: 0.5, width: WIDTH - 1, height: HEIGHT - 1, rx: 8 }),
    label(clip(title, MOST_IN_TITLE), { class: 'title', x: 24, y: 34 }),
    label(clip(details.join(' | '), MOST_IN_DETAILS), { class: 'quiet', x: 24, y: 56 }),
    ...plot(run),
    curveTable(run, TABLE),
    ...legend(run),
  ]);
  return `${picture}\n`;
}

function plot(run: RunResult): readonly string[] {
  const points = curvePoints(run);
  if (points.length === 0) {
    const middle = { x: (PLOT.left + PLOT.right) / 2, y: (PLOT.top + PLOT.bottom) / 2, 'text-anchor': 'middle' };
    return [label('no curve: no level has a figure that may be shown', { class: 'quiet', ...middle })];
  }
  const slope = linearSlope(run);
  const scales = scalesFor(run, points, slope);
  return [
    ...verticalAxis(scales),
    ...horizontalAxes(scales, serversOf(run)),
    ...limitMark(run, scales),
    ...(slope === null ? [] : guess(slope, scales)),
    element('polyline', { class: 'curve', points: points.map((point) => place(point, scales).join(',')).join(' ') }),
    ...points.flatMap((point) => mark(point, scales)),
  ];
}

/** The straight line is shown to its end unless it would press the measured curve against the bottom. */
const MOST_ROOM_FOR_GUESS = 1.6;
const HEADROOM = 1.05;

function scalesFor(run: RunResult, points: readonly CurvePoint[], slope: number | null): Scales {
  const widest = Math.max(...run.levels.map((level) => level.inFlight * serversOf(run)));
  const highest = Math.max(...points.map((point) => point.tokensPerSecond));
  const guessed = Math.min((slope ?? 0) * widest, MOST_ROOM_FOR_GUESS * highest);
  const x = scaleLinear([0, HEADROOM * widest], [PLOT.left, PLOT.right]);
  const y = scaleLinear([0, Math.max(HEADROOM * highest, guessed)], [PLOT.bottom, PLOT.top]);
  return { x, y };
}

const rounded = (value: number): number => Math.round(value * 10) / 10;

const place = (point: CurvePoint, { x, y }: Scales): readonly [number, number] => [
  rounded(x(point.fleetInFlight)),
  rounded(y(point.tokensPerSecond)),
];

function verticalAxis({ y }: Scales): readonly string[] {
  const rows = y.ticks(5).flatMap((tick) => {
    const at = y(tick);
    return [
      element('line', { class: 'rule', x1: PLOT.left, x2: PLOT.right, y1: at, y2: at }),
      label(count(tick), { class: 'small tick-y', x: PLOT.left - 8, y: at + 4, 'text-anchor': 'end' }),
    ];
  });
  return [...rows, label('output tok/s, fleet', { class: 'small', x: PLOT.left - 42, y: PLOT.top - 32 })];
}

/** In flight in the whole fleet below, per server above. */
function horizontalAxes({ x }: Scales, servers: number): readonly string[] {
  const end = x.invert(PLOT.right);
  const below = x
    .ticks(7)
    .map((tick) =>
      label(count(tick), { class: 'small tick-x', x: x(tick), y: PLOT.bottom + 18, 'text-anchor': 'middle' }),
    );
  const above = scaleLinear([0, end / servers], [0, 1])
    .ticks(7)
    .filter((tick) => Number.isInteger(tick))
    .map((tick) =>
      label(count(tick), { class: 'small', x: x(tick * servers), y: PLOT.top - 12, 'text-anchor': 'middle' }),
    );
  const middle = { class: 'small', x: (PLOT.left + PLOT.right) / 2, 'text-anchor': 'middle' };
  return [
    ...below,
    ...above,
    label('requests in flight, fleet', { ...middle, y: PLOT.bottom + 38 }),
    label('requests in flight, per server', { ...middle, y: PLOT.top - 32 }),
  ];
}

function limitMark(run: RunResult, { x }: Scales): readonly string[] {
  const at = x(run.plan.limit * serversOf(run));
  if (at > PLOT.right) return [];
  return [
    element('line', { class: 'limit', x1: at, x2: at, y1: PLOT.top, y2: PLOT.bottom }),
    label(`limit ${run.plan.limit} (${run.plan.pool})`, {
      class: 'strong',
      x: at - 8,
      y: PLOT.bottom - 10,
      'text-anchor': 'end',
    }),
  ];
}

function guess(slope: number, { x, y }: Scales): readonly string[] {
  const endX = Math.min(x.invert(PLOT.right), y.invert(PLOT.top) / slope);
  const at = { x1: x(0), y1: y(0), x2: x(endX), y2: y(slope * endX) };
  const words = { class: 'small', x: x(0.72 * endX) - 12, y: y(0.72 * slope * endX), 'text-anchor': 'end' };
  return [element('line', { class: 'guess', ...at }), label('level 1 x N (the linear guess)', words)];
}

function mark(point: CurvePoint, scales: Scales): readonly string[] {
  const [cx, cy] = place(point, scales);
  const hollow = point.place === 'over the limit' ? ' hollow' : '';
  const strong = point.place === 'limit' ? ' strong' : '';
  return [
    element('circle', { class: `point${hollow}`, cx, cy, r: 4, 'data-level': point.level }),
    label(String(point.level), { class: `small${strong}`, x: cx + 5, y: cy + 16 }),
  ];
}

function legend(run: RunResult): readonly string[] {
  const servers = run.simulated
    ? 'Simulated servers: these figures show the tool, not a GPU. '
    : 'Tokens of each request are spread over its duration; a figure is what falls into its window. ';
  const points =
    'Numbers at the points: requests in flight per server. Hollow: over the limit. Refused levels are not drawn.';
  return [label(`${servers}${points}`, { class: 'small', x: 24, y: HEIGHT - 16 })];
}

const clip = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
