import { clampNewTokens, type Limits } from './admission.ts';
import { Buckets } from './buckets.ts';
import {
  type Completion,
  completionOf,
  type Ending,
  emittedTokens,
  type Job,
  newRequest,
  plannedTokens,
  type Request,
} from './job.ts';
import { type Batch, type PrefillPart, WaitingLine } from './waiting-line.ts';

/** The times of the model; a fault may change them while it runs. */
export interface Timing {
  readonly stepBaseMs: number;
  readonly stepPerRequestMs: number;
  readonly prefillBaseMs: number;
  readonly prefillTokensPerSecond: number;
  readonly coldStartMs: number;
  readonly chunkedPrefillTokens: number;
  /** Every time is multiplied by this. */
  readonly slowness: number;
}

/** What the engine holds at one moment. */
export interface Occupancy {
  readonly running: number;
  readonly waiting: number;
  readonly waitingTokens: number;
  readonly usedTokens: number;
  readonly evictableTokens: number;
  readonly runningTokens: number;
  readonly newTokenRatio: number;
}

/** Who wants to know what happens inside: the server's counters and gauges. */
export interface EngineObserver {
  prefillStarts(pass: { readonly atMs: number; readonly computed: number; readonly cached: number }): void;
  prefillEnds(pass: { readonly atMs: number; readonly durationMs: number; readonly computed: number }): void;
  decodeStepEnds(step: { readonly atMs: number; readonly durationMs: number; readonly batch: number }): void;
  idles(atMs: number): void;
  leaves(completion: Completion): void;
}

interface Pass {
  readonly startMs: number;
  readonly endMs: number;
  /** Null for a decode step. */
  readonly prefill: readonly PrefillPart[] | null;
}

/**
 * One GPU behind one scheduler, without a clock: it is told what time it is and catches up, pass by pass, so a late
 * caller changes nothing. A pass is either a prefill, for which all decoding stalls, or one decode step of everyone.
 *
 * Not simulated: retraction. Where answers may end by themselves the scheduler admits more than surely fits, and here the
 * pool then simply overflows.
 */
export class Engine implements Batch {
  limits: Limits;
  timing: Timing;
  /** Tokens emitted, by the time at which they were. */
  readonly emitted: Buckets;
  /** Milliseconds that requests spent in here, by time: divided by an interval, the mean in flight. */
  readonly busyMs: Buckets;

  private readonly observer: EngineObserver;
  private readonly line: WaitingLine;
  readonly running = new Set<Request>();
  private readonly live = new Map<string, Request>();
  private pass: Pass | null = null;
  step = 0;
  private nextFinish = Number.POSITIVE_INFINITY;
  private cold = true;
  private countedToMs: number;
  private completions: Completion[] = [];

  constructor(options: {
    readonly limits: Limits;
    readonly timing: Timing;
    readonly conservativeness: number;
    readonly observer: EngineObserver;
    readonly startMs: number;
  }) {
    this.limits = options.limits;
    this.timing = options.timing;
    this.observer = options.observer;
    this.line = new WaitingLine(options.conservativeness, options.limits.pageSize);
    this.emitted = new Buckets(options.startMs);
    this.busyMs = new Buckets(options.startMs);
    this.countedToMs = options.startMs;
  }

  get idle(): boolean {
    return this.live.size === 0;
  }

  isLive(id: string): boolean {
    return this.live.has(id);
  }

  /** The next request pays the cold start again. */
  makeCold(): void {
    this.cold = true;
  }

  /** Forgets all cached prompts; only an idle engine may. */
  flush(): void {
    this.line.flush(this.limits.pageSize);
  }

  setLimits(limits: Limits): void {
    this.limits = limits;
    this.line.reopen();
  }

  /** Takes a job that arrives now; it may be refused at once, which is a completion as well. */
  submit(job: Job, atMs: number): void {
    this.advance(atMs);
    this.countBusy(atMs);
    const limit = Math.min(
      clampNewTokens(job.maxNewTokens, job.promptTokens, this.limits),
      job.clampTo ?? Number.POSITIVE_INFINITY,
    );
    const request = newRequest(job, atMs, limit);
    this.live.set(job.id, request);
    if (this.limits.maxQueued !== null && this.line.length + 1 > this.limits.maxQueued) {
      this.leave(request, 'queue-full', atMs);
      return;
    }
    this.line.push(request);
    if (this.pass === null) this.beginPass(atMs);
  }

  /** Ends a request wherever it is; what it has emitted stays emitted. */
  abort(id: string, atMs: number): void {
    this.advance(atMs);
    const request = this.live.get(id);
    if (request === undefined) return;
    this.countBusy(atMs);
    this.line.remove(request);
    this.leave(request, 'abort', atMs);
    this.findNextFinish();
  }

  /** Runs every pass that has ended by now. */
  advance(toMs: number): void {
    while (this.pass !== null && this.pass.endMs <= toMs) this.endPass(this.pass);
  }

  /** When the next thing happens that a caller could see; null while idle. */
  nextEventMs(): number | null {
    if (this.pass === null) return null;
    if (this.pass.prefill !== null || this.line.mayMove || this.running.size === 0) return this.pass.endMs;
    return this.pass.endMs + (this.nextFinish - this.step - 1) * this.stepMs();
  }

  /** Hands over what has left since the last call, in the order of leaving. */
  takeCompletions(): Completion[] {
    const taken = this.completions;
    this.completions = [];
    return taken;
  }

  /** Brings the count of requests in flight up to now. */
  countBusy(nowMs: number): void {
    if (nowMs <= this.countedToMs) return;
    const amount = this.live.size * (nowMs - this.countedToMs);
    if (amount > 0) this.busyMs.spread({ fromMs: this.countedToMs, toMs: nowMs }, amount);
    this.countedToMs = nowMs;
  }

  occupancy(): Occupancy {
    const decoding = [...this.running];
    return {
      running: this.running.size,
      waiting: this.line.length,
      waitingTokens: this.line.promptTokens,
      usedTokens: this.line.usedTokens(this),
      evictableTokens: this.line.evictableTokens,
      runningTokens: decoding.reduce(
        (sum, request) => sum + request.job.promptTokens + emittedTokens(request, this.step),
        0,
      ),
      newTokenRatio: this.line.newTokenRatio,
    };
  }

  private stepMs(): number {
    const { stepBaseMs, stepPerRequestMs, slowness } = this.timing;
    return (stepBaseMs + stepPerRequestMs * this.running.size) * slowness;
  }

  private beginPass(atMs: number): void {
    const prefill = this.line.next(this, this.timing.chunkedPrefillTokens);
    if (prefill.length > 0) {
      this.beginPrefill(prefill, atMs);
      return;
    }
    if (this.running.size > 0) {
      this.pass = { startMs: atMs, endMs: atMs + this.stepMs(), prefill: null };
      return;
    }
    this.pass = null;
    this.line.rest();
    this.observer.idles(atMs);
  }

  private beginPrefill(prefill: readonly PrefillPart[], atMs: number): void {
    const { prefillBaseMs, prefillTokensPerSecond, coldStartMs, slowness } = this.timing;
    const computed = prefill.reduce((sum, { tokens }) => sum + tokens, 0);
    const fresh = prefill.filter(({ request }) => request.forwardMs === null);
    for (const { request } of fresh) request.forwardMs = atMs;
    const warmMs = (prefillBaseMs + (computed / prefillTokensPerSecond) * 1000) * slowness;
    this.pass = { startMs: atMs, endMs: atMs + warmMs + (this.cold ? coldStartMs : 0), prefill };
    this.cold = false;
    this.observer.prefillStarts({
      atMs,
      computed,
      cached: fresh.reduce((sum, { request }) => sum + request.cachedTokens, 0),
    });
  }

  private endPass(pass: Pass): void {
    if (pass.prefill === null) this.endDecodeStep(pass);
    else this.endPrefill(pass, pass.prefill);
    this.beginPass(pass.endMs);
  }

  private endDecodeStep(pass: Pass): void {
    const batch = this.running.size;
    this.step += 1;
    this.line.stepped();
    if (batch > 0) this.emitted.spread({ fromMs: pass.startMs, toMs: pass.endMs }, batch);
    this.observer.decodeStepEnds({ atMs: pass.endMs, durationMs: pass.endMs - pass.startMs, batch });
    if (this.step >= this.nextFinish) this.finishDone(pass.endMs);
  }

  private endPrefill(pass: Pass, prefill: readonly PrefillPart[]): void {
    const computed = prefill.reduce((sum, { tokens }) => sum + tokens, 0);
    this.observer.prefillEnds({ atMs: pass.endMs, durationMs: pass.endMs - pass.startMs, computed });
    for (const { request, tokens } of prefill) {
      if (request.gone) continue;
      request.prefilledTokens += tokens;
      if (this.line.isChunked(request)) continue;
      this.line.prefilled(request);
      request.firstStep = this.step;
      this.running.add(request);
      if (plannedTokens(request) === 0) continue;
      request.firstTokenMs = pass.endMs;
      this.emitted.add(pass.endMs, 1);
    }
    this.finishDone(pass.endMs);
  }

  private finishDone(atMs: number): void {
    this.countBusy(atMs);
    for (const request of this.running) {
      const planned = plannedTokens(request);
      if (emittedTokens(request, this.step) < planned) continue;
      this.leave(request, planned < request.limit ? 'stop' : 'length', atMs);
    }
    this.findNextFinish();
  }

  private findNextFinish(): void {
    this.nextFinish = Number.POSITIVE_INFINITY;
    for (const request of this.running) {
      this.nextFinish = Math.min(this.nextFinish, request.firstStep + plannedTokens(request) - 1);
    }
  }

  private leave(request: Request, ending: Ending, atMs: number): void {
    this.live.delete(request.job.id);
    this.running.delete(request);
    request.gone = true;
    this.line.left(request);
    const completion = completionOf(request, ending, { step: this.step, ms: atMs });
    this.completions.push(completion);
    this.observer.leaves(completion);
  }
}
