import { BUCKET_MS } from './buckets.ts';
import type { Engine } from './engine.ts';

/** What a server really did, known to nobody who only talks to it over HTTP; times are epoch milliseconds. */
export interface ServerTruth {
  readonly bucketMs: number;
  readonly firstBucketMs: number;
  /** Output tokens per bucket, from the first on. */
  readonly buckets: readonly number[];
  readonly tokensEmitted: number;
  /** Output tokens in answers that were written to the end. */
  readonly tokensSent: number;
  readonly requestsFinished: number;
  tokensBetween(fromMs: number, toMs: number): number;
  /** Output tokens per second over an interval. */
  rate(fromMs: number, toMs: number): number;
  /** Mean number of requests in the server over an interval. */
  inFlight(fromMs: number, toMs: number): number;
}

/** The truth of an engine as of now; a later moment needs a new one. */
export function truthOf(
  engine: Engine,
  answers: { readonly tokensSent: number; readonly requestsFinished: number },
): ServerTruth {
  const { emitted, busyMs } = engine;
  return {
    bucketMs: BUCKET_MS,
    firstBucketMs: emitted.firstMs,
    buckets: emitted.toArray(),
    tokensEmitted: emitted.total,
    ...answers,
    tokensBetween: (fromMs, toMs) => emitted.between(fromMs, toMs),
    rate: (fromMs, toMs) => (emitted.between(fromMs, toMs) / (toMs - fromMs)) * 1000,
    inFlight: (fromMs, toMs) => busyMs.between(fromMs, toMs) / (toMs - fromMs),
  };
}
