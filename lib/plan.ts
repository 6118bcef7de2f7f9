import { CLOSING } from './registry.ts';
import type { Workload } from './workload.ts';

/** Tags are l0..l15: more levels would cost every sample of a metric another comparison and tell little more. */
export const MAX_LEVELS = 16;
/** More than one process carries; a plan beyond it is refused before it fills the machine. */
export const MOST_VIRTUAL_USERS = 20_000;
/** How far the one level above the limit goes: a knee can only be confirmed beyond it. */
const OVER_LIMIT_FACTOR = 1.25;
/** R measured by discover is a single wave; levels get this much more so that a hold stays >= 2 R of the real R. */
const R_MARGIN = 1.1;
/** The way down to level 1 takes this many R of the top level: every request ends by itself, nothing is cut. */
const RAMP_DOWN_R = 1.1;

/** One level: requests in flight per server, and the R (seconds) that its stages and windows are made for. */
export interface PlannedLevel {
  readonly inFlight: number;
  readonly overLimit: boolean;
  readonly requestSeconds: number;
}

export interface PlannedServer {
  readonly name: string;
  readonly limit: number;
  readonly pool: string;
  readonly requestSecondsAtOne: number | null;
  readonly requestSecondsAtLimit: number | null;
}

/** Tokens of a request as discover saw them: their mean, and the relative standard error of that mean. */
export interface Length {
  readonly mean: number;
  readonly error: number;
}

/** What shapes a run and must be known before k6 starts; everything else (windows, stages, totals) follows from it. */
export interface Plan {
  readonly schemaVersion: 1;
  readonly kind: 'tokramp plan';
  readonly createdAt: string;
  /** True where R was not measured but taken from settings or assumed; such figures are marked. */
  readonly assumed: boolean;
  /** P: the largest prompt seen plus a page; what the limit reserves for input. */
  readonly promptTokens: number | null;
  readonly inputLength: Length | null;
  readonly outputLength: Length | null;
  readonly cachedShare: number | null;
  readonly hold: number;
  readonly closingBaseline: boolean;
  readonly timeoutSeconds: number;
  readonly limit: number;
  readonly pool: string;
  readonly servers: readonly PlannedServer[];
  readonly levels: readonly PlannedLevel[];
  readonly workload: Workload;
  /** What answered when the plan was measured; null where nobody was asked. */
  readonly subject: Readonly<Record<string, string | number | boolean | null>> | null;
}

/** A plan that cannot be used: one line, naming what to do. */
export class PlanError extends Error {
  override readonly name = 'PlanError';
}

/** 1, 2, 4, ... up to the limit, the limit itself, then one level above it if wanted; explicit levels win over all. */
export function ladder(
  limit: number,
  wishes: { readonly levels: readonly number[] | null; readonly overLimit: boolean },
): readonly { readonly inFlight: number; readonly overLimit: boolean }[] {
  const mark = (inFlight: number) => ({ inFlight, overLimit: inFlight > limit });
  if (wishes.levels !== null) return wishes.levels.map(mark);
  const doubling: number[] = [];
  for (let level = 1; level < limit; level *= 2) doubling.push(level);
  const top = wishes.overLimit ? [Math.max(limit + 1, Math.round(limit * OVER_LIMIT_FACTOR))] : [];
  return [...doubling, limit, ...top].map(mark);
}

/**
 * R at a level, in seconds: a straight line in the level through what was measured at 1 and at the limit, plus a margin;
 * beyond the limit requests queue, so R grows in proportion.
 */
export function requestSecondsAt(
  level: number,
  measured: { readonly atOne: number; readonly atLimit: number; readonly limit: number },
): number {
  const { atOne, atLimit, limit } = measured;
  const slope = limit > 1 ? Math.max(0, (atLimit - atOne) / (limit - 1)) : 0;
  const running = Math.min(level, limit);
  const queueing = Math.max(1, level / limit);
  return roundMilliseconds((atOne + slope * (running - 1)) * queueing * R_MARGIN);
}

/** The request timeout must exceed the worst R by far: a cut request loses its tokens without a trace (seconds). */
export const defaultTimeoutSeconds = (worstRequestSeconds: number): number =>
  Math.max(60, Math.ceil(3 * worstRequestSeconds));

/** When a level is joined, held and measured, in seconds after the scenario's start. */
export interface LevelSchedule extends PlannedLevel {
  readonly tag: string;
  readonly staggerStart: number;
  readonly holdStart: number;
  readonly holdEnd: number;
  readonly windowStart: number;
  readonly windowEnd: number;
}

export interface Stage {
  readonly seconds: number;
  readonly target: number;
}

export interface Schedule {
  readonly levels: readonly LevelSchedule[];
  readonly closing: LevelSchedule | null;
  readonly stages: readonly Stage[];
  readonly totalSeconds: number;
}

/** The stages that k6 walks and the windows that are measured, from one and the same arithmetic. */
export function scheduleOf(plan: Pick<Plan, 'levels' | 'hold' | 'closingBaseline'>): Schedule {
  const stages: Stage[] = [];
  let clock = 0;
  const walk = (seconds: number, target: number): void => {
    stages.push({ seconds, target });
    clock = roundMilliseconds(clock + seconds);
  };
  const holdLevel = (level: PlannedLevel, tag: string): LevelSchedule => {
    const staggerStart = clock;
    walk(level.requestSeconds, level.inFlight);
    const holdStart = clock;
    const holdSeconds = roundMilliseconds(plan.hold * level.requestSeconds);
    walk(holdSeconds, level.inFlight);
    // method.md E5: requests that straddle an edge may be misallocated, so the window keeps a guard on both sides.
    const guard = roundMilliseconds(Math.min(level.requestSeconds, holdSeconds / 4));
    return {
      ...level,
      tag,
      staggerStart,
      holdStart,
      holdEnd: clock,
      windowStart: roundMilliseconds(holdStart + guard),
      windowEnd: roundMilliseconds(clock - guard),
    };
  };

  const levels = plan.levels.map((level, index) => holdLevel(level, `l${index}`));
  const first = plan.levels[0];
  const last = plan.levels[plan.levels.length - 1];
  if (first === undefined || last === undefined) throw new PlanError('plan: no levels');
  // The last window's straddlers must finish under unchanged load.
  walk(last.requestSeconds, last.inFlight);
  if (!plan.closingBaseline) return { levels, closing: null, stages, totalSeconds: clock };
  walk(roundMilliseconds(RAMP_DOWN_R * last.requestSeconds), first.inFlight);
  // Requests of the top level may live on for its R: the rest, which the closing stagger ends, is as long as that.
  walk(roundMilliseconds(Math.max(0, last.requestSeconds - first.requestSeconds)), first.inFlight);
  const closing = holdLevel(first, CLOSING);
  return { levels, closing, stages, totalSeconds: clock };
}

/** Every level that is measured, the closing baseline last. */
export const measuredLevels = (schedule: Schedule): readonly LevelSchedule[] =>
  schedule.closing === null ? schedule.levels : [...schedule.levels, schedule.closing];

/** What a run will cost: virtual users, and requests and tokens about to be sent by the whole fleet. */
export interface PlanTotals {
  readonly seconds: number;
  readonly virtualUsers: number;
  readonly requests: number;
  readonly tokens: number;
  readonly gpuHours: number;
}

export function totalsOf(plan: Plan, fleet: readonly { readonly gpus: number }[]): PlanTotals {
  const schedule = scheduleOf(plan);
  const top = Math.max(...plan.levels.map((level) => level.inFlight));
  const perServer = measuredLevels(schedule)
    .map((level) => ((level.holdEnd - level.staggerStart) / level.requestSeconds) * level.inFlight)
    .reduce((sum, requests) => sum + requests, 0);
  const requests = Math.round(perServer * plan.servers.length);
  const gpus = fleet.reduce((sum, server) => sum + server.gpus, 0);
  return {
    seconds: schedule.totalSeconds,
    virtualUsers: top * plan.servers.length,
    requests,
    tokens: requests * plan.workload.maxTokens,
    gpuHours: (gpus * schedule.totalSeconds) / 3600,
  };
}

/** Durations go to k6 as whole milliseconds; windows must use the very same numbers. */
export function roundMilliseconds(value: number): number {
  return Math.round(value * 1000) / 1000;
}
