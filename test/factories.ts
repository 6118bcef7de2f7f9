import type { Plan } from '../lib/plan.ts';
import type { Ask } from '../lib/protocol.ts';
import type { ServerRecord } from '../lib/result.ts';
import type { RunContext } from '../lib/summary.ts';
import type { Workload } from '../lib/workload.ts';

export const workloadFor = (part: Partial<Workload>): Workload => ({
  suiteMajor: 1,
  api: 'generate',
  stop: 'fixed',
  maxTokens: 64,
  inputTokens: null,
  prompts: { source: 'built-in', hash: '0000000000000000', count: null },
  cacheIsolation: false,
  ...part,
});

/** A plan of two servers and two levels, changed where a test says so. */
export function planFor(part: Partial<Omit<Plan, 'servers'>> & { readonly servers?: readonly string[] }): Plan {
  const { servers = ['s0', 's1'], ...rest } = part;
  return {
    schemaVersion: 1,
    kind: 'tokramp plan',
    createdAt: '2026-12-01T00:00:00.000Z',
    assumed: false,
    promptTokens: 101,
    inputLength: { mean: 100, error: 0 },
    outputLength: null,
    cachedShare: 0,
    hold: 3,
    closingBaseline: true,
    timeoutSeconds: 60,
    limit: 4,
    pool: 'KV',
    servers: servers.map((name) => ({ name, limit: 4, pool: 'KV', requestSecondsAtOne: 1, requestSecondsAtLimit: 2 })),
    levels: [
      { inFlight: 1, overLimit: false, requestSeconds: 1 },
      { inFlight: 4, overLimit: false, requestSeconds: 2 },
    ],
    workload: workloadFor({}),
    subject: null,
    ...rest,
  };
}

const SUBJECT = { servedModel: 'tiny', engine: 'sglang', version: '0.5.23', tp: 1 };

/** A server as setup() records it: present, warm, like all the others. */
export const serverFor = (name: string, part: Partial<ServerRecord> = {}): ServerRecord => ({
  name,
  url: `http://127.0.0.1:1/${name}`,
  gpus: 1,
  absent: null,
  limit: 4,
  pool: 'KV',
  subject: SUBJECT,
  warmUp: { requests: 12, roundSeconds: [1, 1], agreed: true, requestSecondsAtOne: 1 },
  ...part,
});

/** What setup() hands on for the servers of a plan. */
export const contextFor = (plan: Plan, part: Partial<RunContext> = {}): RunContext => ({
  runId: 'ramp-20261201T000000Z-test',
  startedAt: '2026-12-01T00:00:00.000Z',
  servers: plan.servers.map(({ name }) => serverFor(name)),
  simulated: false,
  ...part,
});

/** A request to /generate for eight tokens, changed where a test says so. */
export const askWith = (part: Partial<Ask>): Ask => ({
  api: 'generate',
  model: null,
  prompt: { kind: 'text', text: 'The quick brown fox' },
  maxTokens: 8,
  stop: 'fixed',
  cacheKey: null,
  ...part,
});
