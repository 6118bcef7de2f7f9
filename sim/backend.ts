import { effectiveMaxRunning, type Limits } from './admission.ts';
import type { Call } from './call.ts';
import { Engine, type Timing } from './engine.ts';
import { EngineStats } from './engine-stats.ts';
import { type FaultState, NO_FAULTS } from './faults.ts';
import type { Completion, Job } from './job.ts';
import type { Profile } from './profiles.ts';
import type { Identity } from './server-info.ts';
import { hashText } from './text.ts';
import { type ServerTruth, truthOf } from './truth.ts';

const FOREIGN_PROMPT_TOKENS = 100;
const FOREIGN_NEW_TOKENS = 1024;

/** Epoch milliseconds with fractions, from a clock that never jumps. */
export const nowMs = (): number => performance.timeOrigin + performance.now();

/** An engine in real time: the only place where its model clock and the machine's meet. */
export class Backend {
  readonly profile: Profile;
  readonly stats: EngineStats;
  readonly engine: Engine;
  readonly startMs: number;
  /** Output tokens in answers that were written to the end. */
  tokensSent = 0;

  private faults: FaultState = NO_FAULTS;
  private requestsFinished = 0;
  private serial = 0;
  private timer: NodeJS.Timeout | undefined;
  private armedForMs: number | null = null;
  private readonly pending = new Map<string, (completion: Completion) => void>();
  private readonly foreign = new Set<string>();

  constructor(profile: Profile) {
    this.profile = profile;
    this.startMs = nowMs();
    const engineOptions = { conservativeness: profile.conservativeness, startMs: this.startMs };
    this.stats = new EngineStats(() => this.engine.occupancy(), this.startMs);
    this.engine = new Engine({ ...engineOptions, ...this.workings(), observer: this.stats });
  }

  /** How the server presents itself: a hidden limit is not shown. */
  identity(server: { readonly port: number; readonly apiKey: string | null }): Identity {
    const limits = { ...this.engine.limits, maxRunning: this.faults.maxRunning ?? this.profile.maxRunning };
    return {
      ...server,
      profile: this.profile,
      limits,
      model: this.faults.model ?? this.profile.model,
      metrics: this.profile.metrics && !this.faults.metricsOff,
      shownMaxRunning: effectiveMaxRunning(limits),
    };
  }

  /** Starts a call; each of its answers is one request of the engine. */
  run(call: Call): { readonly ids: readonly string[]; readonly done: Promise<Completion[]> } {
    const jobs = call.prompts.flatMap((prompt) =>
      Array.from({ length: call.choices }, () => this.jobOf(call, { tokens: prompt.tokens, key: prompt.key })),
    );
    const done = Promise.all(
      jobs.map((job) => new Promise<Completion>((resolve) => this.pending.set(job.id, resolve))),
    );
    const arrivedMs = nowMs();
    for (const job of jobs) this.engine.submit(job, arrivedMs);
    this.deliver();
    return { ids: jobs.map(({ id }) => id), done };
  }

  abort(ids: readonly string[]): void {
    const atMs = nowMs();
    for (const id of ids) this.engine.abort(id, atMs);
    this.deliver();
  }

  abortAll(): void {
    this.abort([...this.pending.keys()]);
  }

  /** Brings the engine to now and hands out what has finished. */
  catchUp(): void {
    this.engine.advance(nowMs());
    this.deliver();
  }

  /** Puts the faults that concern the engine in force. */
  apply(faults: FaultState): void {
    this.engine.advance(nowMs());
    this.faults = faults;
    const { limits, timing } = this.workings();
    this.engine.setLimits(limits);
    this.engine.timing = timing;
    if (faults.cold) this.engine.makeCold();
    this.holdForeign();
    this.deliver();
  }

  truth(): ServerTruth {
    this.catchUp();
    this.engine.countBusy(nowMs());
    return truthOf(this.engine, { tokensSent: this.tokensSent, requestsFinished: this.requestsFinished });
  }

  stop(): void {
    clearTimeout(this.timer);
    this.pending.clear();
  }

  private workings(): { limits: Limits; timing: Timing } {
    const { profile, faults } = this;
    const shown = faults.maxRunning ?? profile.maxRunning;
    return {
      limits: {
        maxTotalTokens: faults.maxTotalTokens ?? profile.maxTotalTokens,
        contextLength: profile.contextLength,
        maxRunning: Math.min(shown, faults.hiddenMaxRunning ?? shown),
        maxQueued: profile.maxQueued,
        pageSize: profile.pageSize,
      },
      timing: {
        stepBaseMs: profile.stepBaseMs,
        stepPerRequestMs: profile.stepPerRequestMs,
        prefillBaseMs: profile.prefillBaseMs,
        prefillTokensPerSecond: profile.prefillTokensPerSecond,
        coldStartMs: profile.coldStartMs,
        chunkedPrefillTokens: profile.chunkedPrefillTokens,
        slowness: faults.slow,
      },
    };
  }

  private jobOf(call: Call, prompt: { readonly tokens: number; readonly key: string }): Job {
    const single = call.prompts.length === 1 && call.choices === 1;
    const ownId = this.nextId();
    const id = single && call.rid !== null ? call.rid : ownId;
    // An answer that is to end aborted ends halfway, as one that an operator stopped would.
    const halfway = Math.ceil((call.maxNewTokens ?? FOREIGN_NEW_TOKENS) / 2);
    return {
      id,
      promptTokens: prompt.tokens,
      cacheKey: prompt.key,
      maxNewTokens: call.maxNewTokens,
      ignoreEos: call.ignoreEos,
      naturalTokens: this.naturalTokens(),
      stopEarlyAt: this.faults.stopEarlyAt,
      clampTo: this.faults.answer === 'abort' ? halfway : this.faults.clampTo,
    };
  }

  /** Seeded by the request's number, so that the same sequence of requests gets the same lengths. */
  private naturalTokens(): number {
    const share = (hashText(String(this.serial)) % 1000) / 1000;
    return Math.max(1, Math.round(this.profile.naturalStopTokens * (0.25 + 1.5 * share)));
  }

  private nextId(): string {
    this.serial += 1;
    const digits = hashText(String(this.serial)).toString(16).padStart(8, '0');
    return digits + this.serial.toString(16).padStart(24, '0');
  }

  private holdForeign(): void {
    const surplus = [...this.foreign].slice(this.faults.busy);
    for (const id of surplus) {
      this.foreign.delete(id);
      this.engine.abort(id, nowMs());
    }
    while (this.foreign.size < this.faults.busy) {
      const id = this.nextId();
      this.foreign.add(id);
      this.engine.submit(foreignJob(id), nowMs());
    }
  }

  private deliver(): void {
    for (const completion of this.engine.takeCompletions()) {
      const { id } = completion.job;
      if (this.foreign.delete(id)) continue;
      if (completion.ending === 'length' || completion.ending === 'stop') this.requestsFinished += 1;
      this.pending.get(id)?.(completion);
      this.pending.delete(id);
    }
    if (this.foreign.size < this.faults.busy) this.holdForeign();
    this.arm();
  }

  /** One timer, to the next thing that somebody could see: what lies between is caught up then. */
  private arm(): void {
    const nextMs = this.engine.nextEventMs();
    if (nextMs === this.armedForMs) return;
    clearTimeout(this.timer);
    this.armedForMs = nextMs;
    if (nextMs === null) return;
    const wake = () => {
      this.armedForMs = null;
      this.catchUp();
    };
    this.timer = setTimeout(wake, Math.max(0, Math.ceil(nextMs - nowMs())));
  }
}

const foreignJob = (id: string): Job => ({
  id,
  promptTokens: FOREIGN_PROMPT_TOKENS,
  cacheKey: `foreign ${id}`,
  maxNewTokens: FOREIGN_NEW_TOKENS,
  ignoreEos: true,
  naturalTokens: FOREIGN_NEW_TOKENS,
  stopEarlyAt: null,
  clampTo: null,
});
