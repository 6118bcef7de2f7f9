import { OUTCOME_STATES } from './protocol.ts';
import { type FinishTag, type MetricSpec, REGISTRY, WARM_UP } from './registry.ts';

/** What a sub-metric is called in thresholds and in the summary; always built here, since k6 compares the text. */
export function keyOf(spec: MetricSpec, tags: Readonly<Record<string, string>>): string {
  const pairs = spec.tags.flatMap((tag) => (tags[tag] === undefined ? [] : [`${tag}:${tags[tag]}`]));
  return `${spec.name}{${pairs.join(',')}}`;
}

export const FINISH_TAGS: readonly FinishTag[] = ['length', 'stop', 'other', 'none'];

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
    for (const outcome of OUTCOME_STATES) {
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
