/** What of a run may be drawn: the points that no verdict refuses, and what a straight line from level 1 would promise. */
import { EFFICIENCY, isSumRefused, verdictOf } from '../lib/claims.ts';
import type { LevelResult, RunResult } from '../lib/result.ts';

/** One level of the whole fleet. */
export interface CurvePoint {
  /** Requests held in flight per server. */
  readonly level: number;
  /** Time-mean of requests in flight in the whole fleet. */
  readonly fleetInFlight: number;
  /** Output tokens per second of the whole fleet. */
  readonly tokensPerSecond: number;
  readonly place: 'below the limit' | 'limit' | 'over the limit';
}

/** Whether a share of level 1 x N may be shown. */
export const isEfficiencyRefused = (run: RunResult): boolean => verdictOf(run, EFFICIENCY) === 'refused';

/** Where a level lies on the ladder. */
export function placeOf(run: RunResult, level: LevelResult): CurvePoint['place'] {
  if (level.overLimit) return 'over the limit';
  return level.inFlight === run.plan.limit ? 'limit' : 'below the limit';
}

/** The curve's points, in the order of the ladder; refused and unmeasured levels have none. */
export function curvePoints(run: RunResult): readonly CurvePoint[] {
  return run.levels.flatMap((level) => {
    const { tokensPerSecond, inFlight } = level.fleet;
    if (tokensPerSecond === null || inFlight === null || isSumRefused(run, level)) return [];
    return [{ level: level.inFlight, fleetInFlight: inFlight, tokensPerSecond, place: placeOf(run, level) }];
  });
}

/** Output tok/s of one request at level 1; null where nothing may be scaled by it. */
export function linearSlope(run: RunResult): number | null {
  const first = curvePoints(run).find((point) => point.level === 1);
  if (first === undefined || isEfficiencyRefused(run) || first.fleetInFlight <= 0) return null;
  return first.tokensPerSecond / first.fleetInFlight;
}

/** Servers that took part. */
export const serversOf = (run: RunResult): number => run.servers.filter((server) => server.absent === null).length;
