import type { EngineObserver, Occupancy } from './engine.ts';
import { BOUNDS, newHistogram, observe } from './histogram.ts';
import type { Completion } from './job.ts';

/** Decode steps between two refreshes of the gauges (`--decode-log-interval`). */
const GAUGE_STEPS = 40;
/** Decode steps between two refreshes of `/v1/loads` (`--load-snapshot-publish-interval`). */
const LOADS_STEPS = 15;
/** Answers that do not stream reach the HTTP process every so many tokens, which is when SGLang sees them come. */
const OUTPUT_INTERVAL = 50;
/** A step longer than this is left out of the decode moments. */
const LONGEST_MOMENT_MS = 2_000;

/** One refresh of what a server shows of itself. */
export interface Snapshot extends Occupancy {
  readonly atMs: number;
}

const EMPTY: Occupancy = {
  running: 0,
  waiting: 0,
  waitingTokens: 0,
  usedTokens: 0,
  evictableTokens: 0,
  runningTokens: 0,
  newTokenRatio: 0,
};

/** What the server tells about itself, moved at the moments at which SGLang moves it. */
export class EngineStats implements EngineObserver {
  promptTokens = 0;
  generationTokens = 0;
  requests = 0;
  aborted = 0;
  cachedTokens = 0;
  computedTokens = 0;
  prefillCacheTokens = 0;
  decodeTokens = 0;
  prefillPasses = 0;
  decodePasses = 0;
  prefillBusyMs = 0;
  busyMs = 0;
  genThroughput = 0;
  lastGenThroughput = 0;
  cacheHitRate = 0;
  gauges: Snapshot;
  loads: Snapshot;
  /** Lifetime sums over decode steps: n, B, t in microseconds, B squared, B times t, tokens; null before the first. */
  moments: readonly [number, number, number, number, number, number] | null = null;
  readonly firstToken = newHistogram(BOUNDS.firstToken);
  readonly interToken = newHistogram(BOUNDS.step);
  readonly endToEnd = newHistogram(BOUNDS.endToEnd);
  readonly perOutputToken = newHistogram(BOUNDS.step);
  readonly promptSizes = newHistogram(BOUNDS.tokens);
  readonly uncachedSizes = newHistogram(BOUNDS.tokens);
  readonly answerSizes = newHistogram(BOUNDS.tokens);
  readonly queueTime = newHistogram(BOUNDS.queue);
  readonly requestStage = newHistogram(BOUNDS.stage);
  readonly prefillStage = newHistogram(BOUNDS.stage);

  private readonly occupancy: () => Occupancy;
  private reportedAtMs: number;
  private tokensSinceReport = 0;
  private afterPrefill = true;

  constructor(occupancy: () => Occupancy, startMs: number) {
    this.occupancy = occupancy;
    this.reportedAtMs = startMs;
    this.gauges = { ...EMPTY, atMs: startMs };
    this.loads = { ...EMPTY, atMs: startMs };
  }

  prefillStarts({ atMs, computed, cached }: { atMs: number; computed: number; cached: number }): void {
    this.prefillPasses += 1;
    this.computedTokens += computed;
    this.prefillCacheTokens += cached;
    this.cacheHitRate = cached / Math.max(1, cached + computed);
    this.gauges = this.loads = { ...this.occupancy(), atMs };
  }

  prefillEnds({ durationMs }: { durationMs: number }): void {
    this.prefillBusyMs += durationMs;
    this.busyMs += durationMs;
    this.afterPrefill = true;
  }

  decodeStepEnds({ atMs, durationMs, batch }: { atMs: number; durationMs: number; batch: number }): void {
    this.decodePasses += 1;
    this.decodeTokens += batch;
    this.tokensSinceReport += batch;
    this.busyMs += durationMs;
    if (!this.afterPrefill && durationMs <= LONGEST_MOMENT_MS) this.addMoment(batch, durationMs * 1000);
    this.afterPrefill = false;
    if (this.decodePasses % LOADS_STEPS === 0) this.loads = { ...this.occupancy(), atMs };
    if (this.decodePasses % GAUGE_STEPS === 0) this.reportDecode(atMs);
  }

  idles(atMs: number): void {
    this.genThroughput = 0;
    this.afterPrefill = true;
    this.gauges = this.loads = { ...this.occupancy(), atMs };
  }

  leaves(completion: Completion): void {
    if (completion.ending === 'abort') this.aborted += 1;
    // Who never ran leaves no trace but the abort.
    if (completion.forwardMs === null) return;
    const { job, tokens, cachedTokens, createdMs, finishedMs, forwardMs } = completion;
    this.promptTokens += job.promptTokens;
    this.generationTokens += tokens;
    this.requests += 1;
    this.cachedTokens += cachedTokens;
    observe(this.promptSizes, job.promptTokens);
    observe(this.uncachedSizes, job.promptTokens - cachedTokens);
    observe(this.answerSizes, tokens);
    observe(this.endToEnd, (finishedMs - createdMs) / 1000);
    observe(this.queueTime, (forwardMs - createdMs) / 1000);
    observe(this.requestStage, 0);
    this.observeTokens(completion, forwardMs);
  }

  private observeTokens({ tokens, createdMs, firstTokenMs, finishedMs }: Completion, forwardMs: number): void {
    const firstMs = firstTokenMs ?? finishedMs;
    observe(this.prefillStage, (firstMs - forwardMs) / 1000);
    const perToken = tokens > 1 ? (finishedMs - firstMs) / (tokens - 1) / 1000 : 0;
    const seenFirst = Math.min(OUTPUT_INTERVAL, tokens);
    observe(this.firstToken, (firstMs - createdMs) / 1000 + perToken * Math.max(0, seenFirst - 1));
    if (tokens > 1) observe(this.perOutputToken, perToken);
    if (tokens > seenFirst) observe(this.interToken, perToken, tokens - seenFirst);
  }

  private reportDecode(atMs: number): void {
    this.genThroughput = (this.tokensSinceReport / Math.max(1, atMs - this.reportedAtMs)) * 1000;
    this.lastGenThroughput = this.genThroughput;
    this.tokensSinceReport = 0;
    this.reportedAtMs = atMs;
    this.cacheHitRate = 0;
    this.gauges = { ...this.occupancy(), atMs };
  }

  private addMoment(batch: number, micros: number): void {
    const [n, b, t, bb, bt, g] = this.moments ?? [0, 0, 0, 0, 0, 0];
    this.moments = [n + 1, b + batch, t + micros, bb + batch * batch, bt + batch * micros, g + batch];
  }
}
