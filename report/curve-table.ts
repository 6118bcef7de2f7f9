import { isSumRefused } from '../lib/claims.ts';
import { duration, percent, rate } from '../lib/format.ts';
import type { LevelResult, RunResult } from '../lib/result.ts';
import { isEfficiencyRefused, placeOf } from './curve-points.ts';
import { element, label } from './svg.ts';

const ROW = 24;
const TITLES = [
  ['in flight', 'per server'],
  ['tok/s', 'fleet'],
  ['tok/s per', 'request'],
  ['% of level', '1 x N'],
  ['R', 'p50'],
] as const;

/** The levels as rows of SVG text beside the curve, right-aligned columns of equal width. */
export function curveTable(
  run: RunResult,
  box: { readonly left: number; readonly right: number; readonly top: number },
): string {
  const width = (box.right - box.left) / TITLES.length;
  const right = (column: number): number => box.left + width * (column + 1);
  const cell = (text: string, column: number, at: { readonly y: number; readonly look: string }): string =>
    label(text, { class: at.look, x: right(column), y: at.y, 'text-anchor': 'end' });
  const head = TITLES.flatMap(([first, second], column) => [
    cell(first, column, { y: box.top - 14, look: 'small' }),
    cell(second, column, { y: box.top, look: 'small' }),
  ]);
  const rows = run.levels.flatMap((level, index) => {
    const y = box.top + ROW * (index + 1) + 1;
    const look = placeOf(run, level) === 'limit' ? 'strong' : 'cell';
    const line = element('line', { class: 'rule', x1: box.left, x2: box.right, y1: y - 17, y2: y - 17 });
    return [line, ...cellsOf(run, level).map((text, column) => cell(text, column, { y, look }))];
  });
  return element('g', { class: 'table' }, [...head, ...rows]);
}

function cellsOf(run: RunResult, level: LevelResult): readonly string[] {
  const { fleet } = level;
  const refused = isSumRefused(run, level);
  const hidden = refused || isEfficiencyRefused(run);
  return [
    String(level.inFlight),
    refused ? 'refused' : rate(fleet.tokensPerSecond),
    refused ? 'refused' : rate(fleet.tokensPerSecondPerRequest),
    hidden ? 'refused' : percent(fleet.efficiency),
    fleet.requestDuration === null ? '-' : duration(fleet.requestDuration.p50Seconds),
  ];
}
