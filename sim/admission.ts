/** The rules by which SGLang's scheduler decides what fits: pure arithmetic on tokens, pages and ratios. */

/** What a request's estimate is cut to before it is charged (SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION). */
const CLIPPED_NEW_TOKENS = 4096;
/** Tokens SGLang keeps back from the longest acceptable prompt. */
const INPUT_RESERVE = 6;
/** Tokens SGLang keeps back from the longest acceptable answer. */
const OUTPUT_RESERVE = 2;

/** The limits a server enforces; a fault may change them while it runs. */
export interface Limits {
  readonly maxTotalTokens: number;
  readonly contextLength: number;
  readonly maxRunning: number;
  readonly maxQueued: number | null;
  readonly pageSize: number;
}

export const ceilPage = (tokens: number, pageSize: number): number => Math.ceil(tokens / pageSize) * pageSize;
export const floorPage = (tokens: number, pageSize: number): number => Math.floor(tokens / pageSize) * pageSize;

/** `max_req_input_len`: a prompt of this many tokens is refused. */
export const refusedInputTokens = (limits: Limits): number =>
  Math.min(limits.contextLength, limits.maxTotalTokens) - INPUT_RESERVE;

/** The effective number of running requests: what was configured, but never more than half the pool. */
export const effectiveMaxRunning = (limits: Limits): number =>
  Math.min(limits.maxRunning, Math.floor(limits.maxTotalTokens / 2));

/** The answer length that is really allowed; null asks for everything the context holds. The client is not told. */
export function clampNewTokens(asked: number | null, promptTokens: number, limits: Limits): number {
  const byContext = Math.min(limits.contextLength, limits.maxTotalTokens) - OUTPUT_RESERVE - promptTokens;
  const byPool = limits.maxTotalTokens - ceilPage(promptTokens, limits.pageSize) - limits.pageSize - 1;
  return Math.max(0, Math.min(asked ?? Number.POSITIVE_INFINITY, byContext, byPool));
}

/** What a request is charged for tokens it has not generated yet. */
export const chargedNewTokens = (remaining: number): number => Math.min(remaining, CLIPPED_NEW_TOKENS);

/** The share of their remaining tokens that running requests are charged: falls while decoding, resets when idle. */
export class NewTokenRatio {
  private readonly initial: number;
  private readonly lowest: number;
  private readonly decay: number;
  private current: number;

  constructor(conservativeness: number) {
    this.initial = Math.min(0.7 * conservativeness, 1);
    this.lowest = this.initial * 0.14;
    this.decay = (this.initial - this.lowest) / 600;
    this.current = this.initial;
  }

  get value(): number {
    return this.current;
  }

  step(): void {
    this.current = Math.max(this.lowest, this.current - this.decay);
  }

  reset(): void {
    this.current = this.initial;
  }
}
