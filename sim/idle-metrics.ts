import type { Family, Labels } from './exposition.ts';
import { BOUNDS, newHistogram } from './histogram.ts';

/** Gauges of features that this simulator does not have: present on a real server, always 0 here. */
const ZERO_GAUGES = [
  'num_grammar_queue_reqs',
  'swa_token_usage',
  'mamba_usage',
  'swa_available_tokens',
  'swa_evictable_tokens',
  'swa_used_tokens',
  'mamba_available_tokens',
  'mamba_evictable_tokens',
  'mamba_used_tokens',
  'spec_accept_length',
  'spec_accept_rate',
  'spec_cap_length',
  'spec_block_accept_length',
  'spec_num_steps',
  'spec_num_draft_tokens',
  'num_prefill_bootstrap_queue_reqs',
  'num_prefill_inflight_queue_reqs',
  'num_decode_prealloc_queue_reqs',
  'num_decode_transfer_queue_reqs',
  'num_decode_host_receive_queue_reqs',
  'num_decode_deferred_kv_release_reqs',
  'pending_prealloc_token_usage',
  'prealloc_full_token_usage',
  'prealloc_swa_token_usage',
  'utilization',
  'is_cuda_graph',
  'num_unique_running_routing_keys',
];

const GRAPH_PHASES = ['prefill', 'decode', 'target_verify', 'draft_prefill', 'draft_decode', 'draft_extend'];
const STARTUP_PHASES = ['load_weight', 'kv_cache_allocation', 'scheduler_e2e', 'tokenizer_e2e'];
const ROUTING_BOUNDS = ['0', '1', '2', '3', '5', '7', '10', '20', '50', '100', '200', '+Inf'];
const STAGES = [
  'other',
  'recv_requests',
  'process_input_requests',
  'get_next_batch_to_run',
  'process_queue',
  'run_batch',
  'process_batch_result',
  'sanity_check_cache',
  'idle',
];
const HELP = 'Not simulated, always 0.';

type Kind = Pick<Family, 'type' | 'scope'>;
const GAUGE: Kind = { type: 'gauge', scope: 'scheduler' };
const COUNTER: Kind = { type: 'counter', scope: 'scheduler' };
const HTTP_GAUGE: Kind = { type: 'gauge', scope: 'http' };

function zeros(name: string, kind: Kind, labels: readonly Labels[]): Family {
  return { name, ...kind, help: HELP, samples: labels.map((own) => ({ labels: own, value: 0 })) };
}

const valuesOf = (label: string, values: readonly string[]): Labels[] => values.map((value) => ({ [label]: value }));

const routingLabels = (): Labels[] =>
  ROUTING_BOUNDS.slice(1).map((le, index) => ({ gt: ROUTING_BOUNDS[index] ?? '0', le }));

/** What a real server shows and this one has no use for, so that a reader finds the names it would find there. */
export function idleFamilies(): Family[] {
  const pid = [{ pid: String(process.pid) }];
  return [
    ...ZERO_GAUGES.map((name) => zeros(name, GAUGE, [{}])),
    { name: 'fwd_occupancy', ...GAUGE, help: 'Not simulated.', samples: [{ labels: {}, value: Number.NaN }] },
    zeros('num_retracted_reqs', GAUGE, pid),
    zeros('num_paused_reqs', GAUGE, pid),
    zeros('graph_memory_usage_gb', GAUGE, valuesOf('phase', GRAPH_PHASES)),
    zeros('startup_time_seconds', HTTP_GAUGE, valuesOf('phase', STARTUP_PHASES)),
    zeros('startup_cuda_graph_time_seconds', HTTP_GAUGE, valuesOf('phase', GRAPH_PHASES)),
    zeros('routing_key_running_req_count', GAUGE, routingLabels()),
    zeros('routing_key_all_req_count', GAUGE, routingLabels()),
    zeros('routing_keys_active', { type: 'gauge', scope: 'plain' }, [{}]),
    zeros('dp_attention_tokens_total', COUNTER, valuesOf('kind', ['scheduled', 'imbalance'])),
    zeros('dp_attention_pairs_total', COUNTER, valuesOf('kind', ['scheduled', 'imbalance'])),
    zeros('dp_attention_steps_total', COUNTER, valuesOf('rank_state', ['active', 'idle'])),
    zeros('scheduler_process_cpu_seconds_total', COUNTER, [{}]),
    zeros(
      'scheduler_stage_seconds_total',
      COUNTER,
      STAGES.map((category) => ({ category, forward_overlap: 'none' })),
    ),
    zeros(
      'process_cpu_seconds_total',
      { type: 'counter', scope: 'plain' },
      valuesOf('component', ['detokenizer', 'tokenizer']),
    ),
    emptyHistogram('dp_attention_token_imbalance_ratio', BOUNDS.imbalance),
    emptyHistogram('dp_attention_sync_wait_seconds', BOUNDS.syncWait),
  ];
}

const emptyHistogram = (name: string, bounds: readonly number[]): Family => ({
  name,
  type: 'histogram',
  scope: 'scheduler',
  help: HELP,
  samples: [{ labels: {}, value: newHistogram(bounds) }],
});
