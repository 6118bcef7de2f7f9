import { measuredLevels, type Plan, scheduleOf } from '../lib/plan.ts';
import { REGISTRY } from '../lib/registry.ts';
import { keyOf, thresholdsOf } from '../lib/thresholds.ts';

type Values = Record<string, number>;

/** handleSummary's argument as k6 makes it for a plan: every sub-metric present, zero unless a test says otherwise. */
export class K6Data {
  readonly metrics: Record<string, { values: Values }> = {};

  constructor(plan: Plan) {
    const names = plan.servers.map((server) => server.name);
    const tags = measuredLevels(scheduleOf(plan)).map((level) => level.tag);
    for (const key of Object.keys(thresholdsOf(names, tags))) this.metrics[key] = { values: zerosFor(key) };
  }

  set(metric: keyof typeof REGISTRY, tags: Readonly<Record<string, string>>, values: Values): this {
    const key = keyOf(REGISTRY[metric], tags);
    const entry = this.metrics[key];
    if (entry === undefined) throw new Error(`no sub-metric ${key}`);
    entry.values = { ...entry.values, ...values };
    return this;
  }
}

function zerosFor(key: string): Values {
  const spec = Object.values(REGISTRY).find((entry) => key.startsWith(`${entry.name}{`));
  if (spec?.kind === 'trend') return { count: 0, avg: 0, med: 0, min: 0, max: 0 };
  if (spec?.kind === 'rate') return { rate: 0, passes: 0, fails: 0 };
  if (spec?.kind === 'gauge') return { value: 0, min: 0, max: 0 };
  return { count: 0, rate: 0 };
}

/** The data of a run in which every server held every level exactly, at the given tok/s per server. */
export function heldExactly(
  plan: Plan,
  rateAt: (server: string, inFlight: number) => number,
  startedAt: number,
): K6Data {
  const data = new K6Data(plan);
  for (const { name } of plan.servers) {
    data.set('scenarioStart', { server: name }, { value: startedAt, min: startedAt, max: startedAt });
    let answers = 0;
    for (const level of measuredLevels(scheduleOf(plan))) {
      const tags = { server: name, level: level.tag };
      const window = level.windowEnd - level.windowStart;
      const tokens = rateAt(name, level.inFlight) * window;
      answers += tokens;
      const seconds = level.requestSeconds / 1.1;
      const trend = { count: 4, avg: seconds * 1000, med: seconds * 1000, min: seconds * 1000, max: seconds * 1000 };
      data.set('outputTokens', tags, { count: tokens });
      data.set('inFlightSeconds', tags, { count: level.inFlight * window });
      data.set('answered', tags, { rate: 1, passes: 4, fails: 0 });
      data.set('requestDuration', tags, trend);
      data.set('requestDuration', { level: level.tag }, trend);
    }
    const requests = 4 * measuredLevels(scheduleOf(plan)).length;
    data.set('answerTokens', { server: name }, { count: answers });
    data.set('requestsStarted', { server: name }, { count: requests });
    data.set('requests', { server: name, outcome: 'completed' }, { count: requests });
    data.set('requests', { server: name, finish: 'length' }, { count: requests });
    data.set('promptTokens', { server: name }, { count: 100 * requests });
  }
  return data;
}
