/** What a caller asks of the engine. */
export interface Job {
  readonly id: string;
  readonly promptTokens: number;
  /** Equal keys are equal prompts in the same cache namespace. */
  readonly cacheKey: string;
  /** Null: as much as the context holds. */
  readonly maxNewTokens: number | null;
  readonly ignoreEos: boolean;
  /** After so many tokens the model would end by itself; heeded only where end-of-text is not ignored. */
  readonly naturalTokens: number;
  /** A fault: the answer ends here with reason "stop", whatever was asked. */
  readonly stopEarlyAt: number | null;
  /** A fault: the answer is silently limited to so many tokens. */
  readonly clampTo: number | null;
}

/** Why an answer ended. */
export type Ending = 'length' | 'stop' | 'abort' | 'queue-full';

/** One request as it left the engine; times are epoch milliseconds of the model, null where a stage was not reached. */
export interface Completion {
  readonly job: Job;
  readonly ending: Ending;
  /** The answer length that was allowed. */
  readonly limit: number;
  readonly tokens: number;
  readonly cachedTokens: number;
  readonly createdMs: number;
  readonly forwardMs: number | null;
  readonly firstTokenMs: number | null;
  readonly finishedMs: number;
}

/** A job inside the engine. */
export interface Request {
  readonly job: Job;
  readonly createdMs: number;
  limit: number;
  cachedTokens: number;
  holdsCached: boolean;
  prefilledTokens: number;
  forwardMs: number | null;
  firstTokenMs: number | null;
  /** The engine's decode-step count when the first token came; each later step gives one more. */
  firstStep: number;
  gone: boolean;
}

export const newRequest = (job: Job, createdMs: number, limit: number): Request => ({
  job,
  createdMs,
  limit,
  cachedTokens: 0,
  holdsCached: false,
  prefilledTokens: 0,
  forwardMs: null,
  firstTokenMs: null,
  firstStep: 0,
  gone: false,
});

/** How many tokens a request will emit if nobody stops it. */
export function plannedTokens(request: Request): number {
  const { job, limit } = request;
  const natural = job.ignoreEos ? limit : Math.min(limit, job.naturalTokens);
  return Math.min(natural, job.stopEarlyAt ?? natural);
}

/** How many tokens a request has emitted by a decode step. */
export function emittedTokens(request: Request, step: number): number {
  if (request.firstTokenMs === null) return 0;
  return Math.min(plannedTokens(request), 1 + step - request.firstStep);
}

/** The record of a request that ends now; a request that waited or never began has none of the later times. */
export function completionOf(
  request: Request,
  ending: Ending,
  at: { readonly step: number; readonly ms: number },
): Completion {
  return {
    job: request.job,
    ending,
    limit: request.limit,
    tokens: emittedTokens(request, at.step),
    cachedTokens: request.cachedTokens,
    createdMs: request.createdMs,
    forwardMs: request.forwardMs,
    firstTokenMs: request.firstTokenMs,
    finishedMs: at.ms,
  };
}
