/** Every metric of the suite: k6's engine, the summary and the tools that read results share this one table. */

export type MetricKind = 'counter' | 'gauge' | 'rate' | 'trend';

export interface MetricSpec {
  readonly name: string;
  readonly kind: MetricKind;
  /** k6 shows times in ms and exports them in seconds. */
  readonly isTime: boolean;
  readonly unit: string;
  readonly tags: readonly string[];
  readonly meaning: string;
}

const metric = (name: string, kind: MetricKind, rest: Omit<MetricSpec, 'name' | 'kind' | 'isTime'>): MetricSpec => ({
  name,
  kind,
  isTime: kind === 'trend',
  ...rest,
});

export const REGISTRY = {
  outputTokens: metric('output_tokens', 'counter', {
    unit: 'tokens',
    tags: ['server', 'level'],
    meaning: 'output tokens, pro-rated over the windows in which they were produced',
  }),
  inFlightSeconds: metric('in_flight_seconds', 'counter', {
    unit: 's',
    tags: ['server', 'level'],
    meaning: 'time that requests were in flight, by window; over its length: the time-mean in flight',
  }),
  requestsStarted: metric('requests_started', 'counter', {
    unit: 'requests',
    tags: ['server'],
    meaning: 'requests sent; less those finished: cut off by the end of the run',
  }),
  requests: metric('requests', 'counter', {
    unit: 'requests',
    tags: ['server', 'outcome', 'finish'],
    meaning: 'requests finished, by outcome and finish reason',
  }),
  answered: metric('answered', 'rate', {
    unit: 'share',
    tags: ['server', 'level'],
    meaning: 'share of the requests started at a level that were completed',
  }),
  requestDuration: metric('request_duration', 'trend', {
    unit: 'ms',
    tags: ['server', 'level'],
    meaning: 'R: duration of the completed requests that started while the level was held',
  }),
  answerTokens: metric('answer_tokens', 'counter', {
    unit: 'tokens',
    tags: ['server'],
    meaning: 'output tokens of whole answers, not pro-rated: what the server must have counted',
  }),
  promptTokens: metric('prompt_tokens', 'counter', {
    unit: 'tokens',
    tags: ['server'],
    meaning: 'input tokens of the answered requests',
  }),
  cachedTokens: metric('cached_tokens', 'counter', {
    unit: 'tokens',
    tags: ['server'],
    meaning: 'input tokens that came from the prefix cache',
  }),
  scenarioStart: metric('scenario_start', 'gauge', {
    unit: 'ms since 1970',
    tags: ['server'],
    meaning: "when the server's scenario began: windows count from here",
  }),
} as const;

/** What a sub-metric is called in thresholds and in the summary; always built here, since k6 compares the text. */
export function keyOf(spec: MetricSpec, tags: Readonly<Record<string, string>>): string {
  const pairs = spec.tags.flatMap((tag) => (tags[tag] === undefined ? [] : [`${tag}:${tags[tag]}`]));
  return `${spec.name}{${pairs.join(',')}}`;
}

export const OUTCOME_TAGS = [
  'completed',
  'truncated',
  'aborted',
  'rejected',
  'malformed',
  'timedOut',
  'unreachable',
] as const;
export const FINISH_TAGS = ['length', 'stop', 'other', 'none'] as const;
export type FinishTag = (typeof FINISH_TAGS)[number];

/** Engines name many finish reasons; the ledger keeps the two that a generation job has and the rest together. */
export function finishTagOf(reason: string | null): FinishTag {
  if (reason === null) return 'none';
  return reason === 'length' || reason === 'stop' ? reason : 'other';
}

export const WARM_UP = 'warmup';

/**
 * The thresholds of a run. An empty list only makes k6 keep the sub-metric for the summary; the floors fail the run (exit 99)
 * where a server answered nothing, or nothing at one of its levels.
 */
export function thresholdsOf(
  servers: readonly string[],
  levels: readonly string[],
): Readonly<Record<string, readonly string[]>> {
  const thresholds: Record<string, readonly string[]> = {};
  const keep = (spec: MetricSpec, tags: Readonly<Record<string, string>>, floors: readonly string[] = []): void => {
    thresholds[keyOf(spec, tags)] = floors;
  };
  for (const level of levels) keep(REGISTRY.requestDuration, { level });
  for (const server of servers) {
    for (const spec of [
      REGISTRY.requestsStarted,
      REGISTRY.answerTokens,
      REGISTRY.promptTokens,
      REGISTRY.cachedTokens,
    ]) {
      keep(spec, { server });
    }
    keep(REGISTRY.scenarioStart, { server });
    for (const outcome of OUTCOME_TAGS) {
      keep(REGISTRY.requests, { server, outcome }, outcome === 'completed' ? ['count>0'] : []);
    }
    for (const finish of FINISH_TAGS) keep(REGISTRY.requests, { server, finish });
    for (const level of [...levels, 'outside', WARM_UP]) {
      keep(REGISTRY.outputTokens, { server, level });
      keep(REGISTRY.inFlightSeconds, { server, level });
      keep(REGISTRY.answered, { server, level }, levels.includes(level) ? ['rate>0'] : []);
      if (levels.includes(level)) keep(REGISTRY.requestDuration, { server, level });
    }
  }
  return thresholds;
}
