import type { EngineStats, Snapshot } from './engine-stats.ts';
import { type Identity, memoryOf, SIMULATED_VERSION } from './server-info.ts';

const SECTIONS = ['core', 'memory', 'spec', 'lora', 'disagg', 'queues', 'all'];

/** Sections asked for, or null if a name is none of them (which SGLang answers with a bare 500). */
export function readInclude(include: string | null): readonly string[] | null {
  const asked = include === null || include === '' ? ['all'] : include.split(',');
  return asked.every((name) => SECTIONS.includes(name)) ? asked : null;
}

/** The body of `/v1/loads`, as fresh as the engine's last snapshot. */
export function loadsBody(
  identity: Identity,
  stats: EngineStats,
  ask: { readonly sections: readonly string[]; readonly rank: string | null; readonly nowMs: number },
): Record<string, unknown> {
  return {
    timestamp: new Date(ask.nowMs).toISOString(),
    version: SIMULATED_VERSION,
    accelerator: null,
    num_accelerators: 1,
    loads: ask.rank === null || ask.rank === '0' ? [rankLoads(identity, stats, ask.sections)] : [],
  };
}

function rankLoads(identity: Identity, stats: EngineStats, sections: readonly string[]): Record<string, unknown> {
  const { loads, moments } = stats;
  const { limits } = identity;
  const total = loads.usedTokens + loads.waitingTokens;
  const wants = (name: string) => sections.includes('all') || sections.includes(name);
  return {
    timestamp: loads.atMs / 1000,
    dp_rank: 0,
    num_running_reqs: loads.running,
    num_waiting_reqs: loads.waiting,
    num_waiting_uncached_tokens: loads.waitingTokens,
    num_used_tokens: loads.usedTokens,
    num_total_tokens: total,
    num_active_tokens: total,
    num_prealloc_ready_tokens: 0,
    max_total_num_tokens: limits.maxTotalTokens,
    max_running_requests: identity.shownMaxRunning,
    token_usage: round(loads.usedTokens / limits.maxTotalTokens, 4),
    gen_throughput: round(stats.genThroughput, 2),
    cache_hit_rate: round(stats.cacheHitRate, 4),
    utilization: 0,
    total_prefill_uncached_tokens: stats.computedTokens,
    total_prefill_busy_us: Math.round(stats.prefillBusyMs * 1000),
    decode_moments: moments,
    ...(wants('memory') ? { memory: memorySection(identity) } : {}),
    ...(wants('disagg') ? { disaggregation: NO_DISAGGREGATION } : {}),
    ...(wants('queues') ? { queues: queuesSection(loads) } : {}),
  };
}

const round = (value: number, digits: number): number => Number(value.toFixed(digits));

function memorySection({ limits }: Identity): Record<string, number> {
  const memory = memoryOf(limits);
  return {
    weight_gb: memory.weightGb,
    kv_cache_gb: memory.kvCacheGb,
    graph_gb: 0,
    token_capacity: limits.maxTotalTokens,
  };
}

const NO_DISAGGREGATION = {
  mode: 'null',
  prefill_bootstrap_queue_reqs: 0,
  prefill_inflight_queue_reqs: 0,
  decode_prealloc_queue_reqs: 0,
  decode_transfer_queue_reqs: 0,
  decode_retracted_queue_reqs: 0,
  kv_transfer_speed_gb_s: 0,
  kv_transfer_latency_ms: 0,
};

const queuesSection = ({ waiting }: Snapshot): Record<string, number> => ({
  waiting,
  grammar: 0,
  paused: 0,
  retracted: 0,
  prealloc_ready: 0,
});

/** The body of the old `/get_load`, which knew neither capacity nor ranks by name. */
export const oldLoadBody = ({ loads }: EngineStats): readonly Record<string, unknown>[] => [
  {
    dp_rank: 0,
    num_reqs: loads.running + loads.waiting,
    num_waiting_reqs: loads.waiting,
    num_tokens: loads.usedTokens + loads.waitingTokens,
    num_pending_tokens: loads.waitingTokens,
    ts_tic: loads.atMs / 1000,
  },
];
