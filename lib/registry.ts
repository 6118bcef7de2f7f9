/** Every metric of the suite: k6's engine, the summary and the tools that read results share this one table. */

export type MetricKind = 'counter' | 'gauge' | 'rate' | 'trend';

export interface MetricSpec {
  readonly name: string;
  readonly kind: MetricKind;
  readonly unit: string;
  readonly tags: readonly string[];
}

const SERVER = ['server'];
const SERVER_AND_LEVEL = ['server', 'level'];

export const REGISTRY = {
  /** Output tokens, pro-rated over the windows in which they were produced. */
  outputTokens: { name: 'output_tokens', kind: 'counter', unit: 'tokens', tags: SERVER_AND_LEVEL },
  /** Time that requests were in flight, by window; over its length: the time-mean in flight. */
  inFlightSeconds: { name: 'in_flight_seconds', kind: 'counter', unit: 's', tags: SERVER_AND_LEVEL },
  /** Requests sent; less those finished: cut off by the end of the run. */
  requestsStarted: { name: 'requests_started', kind: 'counter', unit: 'requests', tags: SERVER },
  /** Requests finished, by outcome and finish reason. */
  requests: { name: 'requests', kind: 'counter', unit: 'requests', tags: ['server', 'outcome', 'finish'] },
  /** Share of the requests started at a level that were completed. */
  answered: { name: 'answered', kind: 'rate', unit: 'share', tags: SERVER_AND_LEVEL },
  /** R: duration of the completed requests that started while the level was held. */
  requestDuration: { name: 'request_duration', kind: 'trend', unit: 'ms', tags: SERVER_AND_LEVEL },
  /** Output tokens of whole answers, not pro-rated: what the server must have counted. */
  answerTokens: { name: 'answer_tokens', kind: 'counter', unit: 'tokens', tags: SERVER },
  /** Input tokens of the answered requests. */
  promptTokens: { name: 'prompt_tokens', kind: 'counter', unit: 'tokens', tags: SERVER },
  /** Input tokens that came from the prefix cache. */
  cachedTokens: { name: 'cached_tokens', kind: 'counter', unit: 'tokens', tags: SERVER },
  /** When the server's scenario began: windows count from here. */
  scenarioStart: { name: 'scenario_start', kind: 'gauge', unit: 'ms since 1970', tags: SERVER },
} as const satisfies Readonly<Record<string, MetricSpec>>;

export type FinishTag = 'length' | 'stop' | 'other' | 'none';

/** Engines name many finish reasons; the ledger keeps the two that a generation job has and the rest together. */
export function finishTagOf(reason: string | null): FinishTag {
  if (reason === null) return 'none';
  return reason === 'length' || reason === 'stop' ? reason : 'other';
}

/** Level tags beside l0..l15. */
export const WARM_UP = 'warmup';
export const CLOSING = 'closing';

/** Names the server to the VUs of its scenario. */
export const SERVER_VARIABLE = 'VU_SERVER';
