import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
import { type MetricSpec, REGISTRY } from './registry.ts';

const counter = (spec: MetricSpec) => new Counter(spec.name);

/** The registry's metrics, constructed in k6 (init code only). */
export const metrics = {
  outputTokens: counter(REGISTRY.outputTokens),
  inFlightSeconds: counter(REGISTRY.inFlightSeconds),
  requestsStarted: counter(REGISTRY.requestsStarted),
  requests: counter(REGISTRY.requests),
  answered: new Rate(REGISTRY.answered.name),
  requestDuration: new Trend(REGISTRY.requestDuration.name, true),
  answerTokens: counter(REGISTRY.answerTokens),
  promptTokens: counter(REGISTRY.promptTokens),
  cachedTokens: counter(REGISTRY.cachedTokens),
  scenarioStart: new Gauge(REGISTRY.scenarioStart.name),
};
