import { ceilPage, chargedNewTokens, effectiveMaxRunning, type Limits, NewTokenRatio } from './admission.ts';
import { emittedTokens, type Request } from './job.ts';
import { KvPool } from './kv-pool.ts';

/** The running batch as admission sees it. */
export interface Batch {
  readonly limits: Limits;
  readonly running: ReadonlySet<Request>;
  /** Decode steps done so far. */
  readonly step: number;
}

/** One request's part of a prefill pass. */
export interface PrefillPart {
  readonly request: Request;
  readonly tokens: number;
}

/** Who waits, what the KV pool still takes, and therefore who is admitted next: first come, first served. */
export class WaitingLine {
  private readonly waiting: Request[] = [];
  private readonly ratio: NewTokenRatio;
  private pool: KvPool;
  /** The request whose prompt did not fit into one prefill pass. */
  private chunked: Request | null = null;
  /** Nothing more fits until something leaves. */
  private full = false;

  constructor(conservativeness: number, pageSize: number) {
    this.ratio = new NewTokenRatio(conservativeness);
    this.pool = new KvPool(pageSize);
  }

  get length(): number {
    return this.waiting.length;
  }

  get promptTokens(): number {
    return this.waiting.reduce((sum, { job }) => sum + job.promptTokens, 0);
  }

  get evictableTokens(): number {
    return this.pool.evictableTokens;
  }

  get newTokenRatio(): number {
    return this.ratio.value;
  }

  /** Whether the next pass may be a prefill. */
  get mayMove(): boolean {
    return this.chunked !== null || (this.waiting.length > 0 && !this.full);
  }

  isChunked(request: Request): boolean {
    return this.chunked === request;
  }

  push(request: Request): void {
    this.waiting.push(request);
  }

  remove(request: Request): void {
    const place = this.waiting.indexOf(request);
    if (place >= 0) this.waiting.splice(place, 1);
    if (this.chunked === request) this.chunked = null;
  }

  /** Limits changed: what did not fit may fit now. */
  reopen(): void {
    this.full = false;
  }

  /** A prompt is in the pool now and can be found by the next that is equal. */
  prefilled(request: Request): void {
    const { cacheKey, promptTokens } = request.job;
    if (!request.holdsCached) request.holdsCached = this.pool.enter(cacheKey, promptTokens);
  }

  left(request: Request): void {
    if (request.holdsCached) this.pool.release(request.job.cacheKey);
    this.full = false;
  }

  stepped(): void {
    this.ratio.step();
  }

  rest(): void {
    this.ratio.reset();
  }

  flush(pageSize: number): void {
    this.pool = new KvPool(pageSize);
  }

  /** Tokens held by those who run or are half prefilled, plus the cached prompts they use. */
  usedTokens({ running, step, limits }: Batch): number {
    let own = this.chunked === null ? 0 : ceilPage(this.chunked.job.promptTokens, limits.pageSize);
    for (const request of running) {
      // The last token emitted is not in the pool yet: the next step puts it there.
      const generated = Math.max(0, emittedTokens(request, step) - 1);
      own += ceilPage(ownPromptTokens(request) + generated, limits.pageSize);
    }
    return own + this.pool.sharedTokens;
  }

  /** The next prefill pass, by what fits the pool, the batch and the chunk budget; empty if nobody can be admitted. */
  next(batch: Batch, chunkTokens: number): PrefillPart[] {
    const parts = this.chunked === null ? [] : [this.continueChunk(this.chunked, chunkTokens)];
    let budget = chunkTokens - (parts[0]?.tokens ?? 0);
    if (this.full || this.waiting.length === 0) return parts;
    let room = this.roomForNewcomers(batch);
    while (budget > 0 && this.chunked === null) {
      const request = this.waiting[0];
      if (request === undefined) break;
      const taken = batch.running.size + parts.length;
      const cost = this.costOf(request, batch.limits.pageSize);
      // A pool shrunk by a fault may be too small for a request that waits: alone it runs all the same, or it would wait for ever.
      const fits = cost < room || taken === 0;
      if (!fits || taken >= effectiveMaxRunning(batch.limits)) {
        this.full = true;
        break;
      }
      this.waiting.shift();
      const tokens = this.claim(request, budget);
      parts.push({ request, tokens });
      room -= cost;
      budget -= tokens;
    }
    return parts;
  }

  private continueChunk(request: Request, budget: number): PrefillPart {
    const rest = request.job.promptTokens - request.cachedTokens - request.prefilledTokens;
    if (rest <= budget) this.chunked = null;
    return { request, tokens: Math.min(rest, budget) };
  }

  private claim(request: Request, budget: number): number {
    const share = this.pool.claim(request.job.cacheKey, request.job.promptTokens);
    request.cachedTokens = share.cachedTokens;
    request.holdsCached = share.holdsCached;
    const uncached = request.job.promptTokens - request.cachedTokens;
    if (uncached > budget) this.chunked = request;
    return Math.min(uncached, budget);
  }

  private costOf({ job, limit }: Request, pageSize: number): number {
    const uncached = job.promptTokens - this.pool.peek(job.cacheKey, job.promptTokens);
    return ceilPage(uncached, pageSize) + chargedNewTokens(limit) + pageSize;
  }

  private roomForNewcomers(batch: Batch): number {
    let owed = 0;
    for (const request of batch.running) {
      const remaining = chargedNewTokens(request.limit - emittedTokens(request, batch.step));
      // A fixed length is owed in full; elsewhere only the share that the scheduler expects.
      owed += remaining * (request.job.ignoreEos ? 1 : this.ratio.value);
    }
    const used = this.usedTokens(batch);
    this.pool.evictTo(Math.max(0, batch.limits.maxTotalTokens - used));
    return batch.limits.maxTotalTokens - used - owed;
  }
}

/** Prompt tokens that a request holds for itself, beyond what it shares with the cache. */
function ownPromptTokens({ job, cachedTokens, holdsCached }: Request): number {
  if (!holdsCached) return job.promptTokens;
  return cachedTokens === 0 ? 0 : job.promptTokens - cachedTokens;
}
