import type { Family, Labels } from './exposition.ts';
import { BOUNDS, newHistogram, observe } from './histogram.ts';

interface EndpointCount {
  readonly labels: Labels;
  active: number;
  requests: number;
  readonly responses: Map<number, number>;
}

/** What the HTTP layer counts of itself: requests, answers and those open, by endpoint and method. */
export class HttpStats {
  private readonly endpoints = new Map<string, EndpointCount>();
  private readonly loads = newHistogram(BOUNDS.loads);

  /** Counts a request that has come; call the result with the status once it is answered. */
  opened(endpoint: string, method: string): (status: number) => void {
    const key = `${method} ${endpoint}`;
    const count = this.endpoints.get(key) ?? {
      labels: { endpoint, method },
      active: 0,
      requests: 0,
      responses: new Map(),
    };
    this.endpoints.set(key, count);
    count.active += 1;
    count.requests += 1;
    return (status) => {
      count.active -= 1;
      count.responses.set(status, (count.responses.get(status) ?? 0) + 1);
      if (endpoint === '/v1/loads') observe(this.loads, 0);
    };
  }

  families(): Family[] {
    const all = [...this.endpoints.values()];
    const responses = all.flatMap(({ labels, responses: byStatus }) =>
      [...byStatus].map(([status, value]) => ({ labels: { ...labels, status_code: String(status) }, value })),
    );
    return [
      family(
        'http_requests_total',
        'counter',
        all.map(({ labels, requests }) => ({ labels, value: requests })),
      ),
      family('http_responses_total', 'counter', responses),
      family(
        'http_requests_active',
        'gauge',
        all.map(({ labels, active }) => ({ labels, value: active })),
      ),
      {
        name: 'get_loads_duration_seconds',
        type: 'histogram',
        scope: 'http',
        help: 'Time spent on /v1/loads.',
        samples: this.loads.count > 0 ? [{ labels: {}, value: this.loads }] : [],
      },
    ];
  }
}

const family = (name: string, type: Family['type'], samples: Family['samples']): Family => ({
  name,
  type,
  scope: 'plain',
  help: 'HTTP layer.',
  samples,
});
