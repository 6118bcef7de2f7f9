import { type LevelSchedule, measuredLevels, type Plan, scheduleOf } from './plan.ts';
import { OUTCOME_STATES } from './protocol.ts';
import { type MetricSpec, REGISTRY, WARM_UP } from './registry.ts';
import type { LevelResult, RunResult, ServerAtLevel, ServerLedger, ServerRecord } from './result.ts';
import { SCHEMA_VERSION, stored } from './stored.ts';
import { studentQuantile } from './student.ts';
import { FINISH_TAGS, keyOf } from './thresholds.ts';
import { meanInFlight, rateOf, seconds, tokens } from './units.ts';

/** The part of handleSummary's argument that is read; k6's new machine-readable form has no `metrics` and is refused. */
type K6Metrics = Readonly<Record<string, { readonly values: Readonly<Record<string, number>> }>>;

/** A window counts after an interruption only if this share of its in-flight time arrived with finished requests. */
const COMPLETE_SHARE = 0.99;

/** What setup() found out; VUs and handleSummary read the same object. */
export interface RunContext {
  readonly runId: string;
  readonly startedAt: string;
  readonly servers: readonly ServerRecord[];
  /** True if a server says that it is tokramp's own simulator. */
  readonly simulated: boolean;
}

export interface SummaryInput {
  readonly data: unknown;
  readonly context: RunContext;
  readonly plan: Plan;
  readonly runName: string | null;
  readonly tool: string;
  /** The clock when the summary is made, in ms since 1970. */
  readonly now: number;
}

/** The figures of a ramp from k6's own data; findings and verdicts are added by `judge`. */
export function summarise(input: SummaryInput): Omit<RunResult, 'findings' | 'verdicts'> {
  const read = reader(input.data);
  const schedule = scheduleOf(input.plan);
  const all = input.context.servers.map((server) => server.name);
  const names = input.context.servers.filter((server) => server.absent === null).map((server) => server.name);
  const end = endOfRun(input, read);
  const interrupted =
    end.elapsedSeconds < schedule.totalSeconds
      ? `ended ${end.elapsedSeconds.toFixed(1)} s into the ramp of ${schedule.totalSeconds} s`
      : null;
  const longest = Math.max(
    0,
    ...measuredLevels(schedule).map((level) => read.trend({ level: level.tag })?.maxSeconds ?? 0),
  );
  const cutAt = interrupted === null ? Number.POSITIVE_INFINITY : end.elapsedSeconds - longest;
  const level = (planned: LevelSchedule): LevelResult => levelResult(planned, { names, read, cutAt });
  const levels = withEfficiency(schedule.levels.map(level));
  return {
    schemaVersion: SCHEMA_VERSION,
    kind: 'tokramp ramp',
    tool: input.tool,
    runId: input.context.runId,
    runName: input.runName,
    simulated: input.context.simulated,
    startedAt: input.context.startedAt,
    endedAt: new Date(input.now).toISOString(),
    interrupted,
    workload: input.plan.workload,
    plan: input.plan,
    servers: [...input.context.servers],
    levels,
    closing: schedule.closing === null ? null : level(schedule.closing),
    ledger: all.map((name) =>
      ledgerOf(
        name,
        read,
        measuredLevels(schedule).map((planned) => planned.tag),
      ),
    ),
    serverSide: null,
    serverSideMissing: "not observed: this version does not read the servers' own counters during a run",
  };
}

type Tags = Readonly<Record<string, string>>;

interface Reader {
  value(spec: MetricSpec, tags: Tags, field: string): number;
  trend(tags: Tags): LevelResult['fleet']['requestDuration'];
}

/** Access to k6's sub-metrics by the registry's keys; a missing one is a fault of the suite and stops the summary. */
function reader(data: unknown): Reader {
  const metrics = (data as { readonly metrics?: K6Metrics } | null)?.metrics;
  if (metrics === undefined) {
    throw new Error('tokramp: k6 gave handleSummary no metrics; unset K6_NEW_MACHINE_READABLE_SUMMARY and run again');
  }
  const value = (spec: MetricSpec, tags: Tags, field: string): number => {
    const key = keyOf(spec, tags);
    const found = metrics[key]?.values[field];
    if (found === undefined)
      throw new Error(`tokramp: k6's summary lacks ${key} ${field}; the thresholds were replaced`);
    return found;
  };
  const trend = (tags: Tags) => {
    const count = value(REGISTRY.requestDuration, tags, 'count');
    if (count === 0) return null;
    const at = (field: string): number => stored(value(REGISTRY.requestDuration, tags, field) / 1000);
    return { count, meanSeconds: at('avg'), p50Seconds: at('med'), maxSeconds: at('max') };
  };
  return { value, trend };
}

/** When a server's scenario began, in ms since 1970; an empty gauge reads 0. */
function scenarioStartOf(server: string, read: Reader): number | null {
  const start = read.value(REGISTRY.scenarioStart, { server }, 'min');
  return start > 0 ? start : null;
}

/** How far the ramp got, from the earliest start of a scenario; nothing started counts as zero seconds. */
function endOfRun(input: SummaryInput, read: Reader): { readonly elapsedSeconds: number } {
  const starts = input.context.servers
    .map((server) => scenarioStartOf(server.name, read))
    .filter((start) => start !== null);
  return { elapsedSeconds: starts.length === 0 ? 0 : (input.now - Math.min(...starts)) / 1000 };
}

function levelResult(
  planned: LevelSchedule,
  run: { readonly names: readonly string[]; readonly read: Reader; readonly cutAt: number },
): LevelResult {
  const windowSeconds = stored(planned.windowEnd - planned.windowStart);
  const servers = run.names.map((name) => serverAtLevel(name, planned, run.read));
  const busy = servers.reduce((sum, server) => sum + server.busySeconds, 0);
  const expected = planned.inFlight * windowSeconds * run.names.length;
  const cut = run.cutAt < planned.windowEnd || (Number.isFinite(run.cutAt) && busy < COMPLETE_SHARE * expected);
  const missing = cut ? 'the run ended before the requests of this window had finished' : null;
  return {
    tag: planned.tag,
    inFlight: planned.inFlight,
    overLimit: planned.overLimit,
    windowSeconds,
    holdSeconds: stored(planned.holdEnd - planned.holdStart),
    missing,
    servers: servers.map(({ busySeconds: _, ...server }) =>
      cut ? { ...server, tokensPerSecond: null, inFlight: null } : server,
    ),
    fleet: cut ? EMPTY_FLEET : fleetAtLevel(servers, run.read.trend({ level: planned.tag })),
  };
}

function serverAtLevel(name: string, planned: LevelSchedule, read: Reader): ServerAtLevel & { busySeconds: number } {
  const tags = { server: name, level: planned.tag };
  const window = seconds(planned.windowEnd - planned.windowStart);
  const produced = tokens(read.value(REGISTRY.outputTokens, tags, 'count'));
  const busy = seconds(read.value(REGISTRY.inFlightSeconds, tags, 'count'));
  return {
    name,
    tokens: stored(produced),
    tokensPerSecond: stored(rateOf(produced, window)),
    inFlight: stored(meanInFlight(busy, window)),
    completed: read.value(REGISTRY.answered, tags, 'passes'),
    failed: read.value(REGISTRY.answered, tags, 'fails'),
    requestDuration: read.trend(tags),
    busySeconds: busy,
  };
}

const EMPTY_FLEET: LevelResult['fleet'] = {
  tokensPerSecond: null,
  uncertainty: null,
  inFlight: null,
  tokensPerSecondPerRequest: null,
  minPerServer: null,
  medianPerServer: null,
  maxPerServer: null,
  slowest: null,
  efficiency: null,
  requestDuration: null,
};

function fleetAtLevel(
  servers: readonly ServerAtLevel[],
  requestDuration: LevelResult['fleet']['requestDuration'],
): LevelResult['fleet'] {
  const rates = servers.map((server) => server.tokensPerSecond ?? 0);
  const sorted = [...rates].sort((a, b) => a - b);
  const sum = rates.reduce((total, rate) => total + rate, 0);
  const busy = servers.reduce((total, server) => total + (server.inFlight ?? 0), 0);
  const slowest = servers.find((server) => server.tokensPerSecond === sorted[0]);
  return {
    tokensPerSecond: stored(sum),
    uncertainty: relativeUncertainty(rates),
    inFlight: stored(busy),
    tokensPerSecondPerRequest: busy > 0 ? stored(sum / busy) : null,
    minPerServer: sorted[0] ?? null,
    medianPerServer: stored(
      ((sorted[Math.floor((sorted.length - 1) / 2)] ?? 0) + (sorted[Math.floor(sorted.length / 2)] ?? 0)) / 2,
    ),
    maxPerServer: sorted[sorted.length - 1] ?? null,
    slowest: slowest?.name ?? null,
    efficiency: null,
    requestDuration,
  };
}

/** t(0.975, n-1) * s / sqrt(n) over the mean (method.md 1.5); it holds the fixed differences between servers too. */
function relativeUncertainty(rates: readonly number[]): number | null {
  const n = rates.length;
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / n;
  if (n < 2 || mean <= 0) return null;
  const variance = rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0) / (n - 1);
  return stored((studentQuantile(0.975, n - 1) * Math.sqrt(variance / n)) / mean);
}

/** E(N) = X(N) / (N * X(1)), both per server; null where no level of one request was measured. */
function withEfficiency(levels: readonly LevelResult[]): LevelResult[] {
  const atOne = levels.find((level) => level.inFlight === 1)?.fleet.tokensPerSecond ?? null;
  return levels.map((level) => {
    const rate = level.fleet.tokensPerSecond;
    if (rate === null || atOne === null || atOne <= 0) return level;
    return { ...level, fleet: { ...level.fleet, efficiency: stored(rate / (level.inFlight * atOne)) } };
  });
}

function ledgerOf(name: string, read: Reader, levels: readonly string[]): ServerLedger {
  const count = (spec: MetricSpec, tags: Tags): number => read.value(spec, { server: name, ...tags }, 'count');
  const table = (tags: readonly string[], value: (tag: string) => number) =>
    Object.fromEntries(tags.map((tag) => [tag, value(tag)]));
  const outcomes = table(OUTCOME_STATES, (outcome) => count(REGISTRY.requests, { outcome }));
  const warmUp = { server: name, level: WARM_UP };
  return {
    name,
    scenarioStart: scenarioStartOf(name, read),
    started: count(REGISTRY.requestsStarted, {}),
    finished: Object.values(outcomes).reduce((sum, requests) => sum + requests, 0),
    outcomes,
    finishReasons: table(FINISH_TAGS, (finish) => count(REGISTRY.requests, { finish })),
    answerTokens: count(REGISTRY.answerTokens, {}),
    promptTokens: count(REGISTRY.promptTokens, {}),
    cachedTokens: count(REGISTRY.cachedTokens, {}),
    tokensByWindow: table([...levels, 'outside', WARM_UP], (level) => stored(count(REGISTRY.outputTokens, { level }))),
    warmUpRequests: read.value(REGISTRY.answered, warmUp, 'passes') + read.value(REGISTRY.answered, warmUp, 'fails'),
  };
}
