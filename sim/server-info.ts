import { type Limits, refusedInputTokens } from './admission.ts';
import modelInfoTemplate from './model-info.json' with { type: 'json' };
import type { Profile } from './profiles.ts';
import template from './server-info.json' with { type: 'json' };

/** The version that the simulator imitates, and that it is a simulator. */
export const SIMULATED_VERSION = '0.5.23+simulated';

/** What a server knows of itself when it is asked. */
export interface Identity {
  readonly profile: Profile;
  readonly limits: Limits;
  readonly model: string;
  readonly metrics: boolean;
  readonly apiKey: string | null;
  readonly port: number;
  /** The effective max running that the server admits to. */
  readonly shownMaxRunning: number;
}

/** Memory in GB as the server reports it: made up from the pool, so that it moves when the pool does. */
export const memoryOf = (limits: Limits) => ({
  weightGb: 54,
  kvCacheGb: limits.maxTotalTokens * 0.0002,
  startupAvailableGb: 94,
});

/** The body of `/server_info`: the key set of 0.5.23 with this server's values. */
export function serverInfo(identity: Identity, lastGenThroughput: number): Record<string, unknown> {
  const { limits, shownMaxRunning } = identity;
  const memory = memoryOf(limits);
  const startup = template.startup;
  const args = serverArguments(identity);
  return {
    ...args,
    launch_command: `simulated --profile ${identity.profile.name}`,
    status: 'ready',
    max_total_num_tokens: limits.maxTotalTokens,
    max_req_input_len: refusedInputTokens(limits),
    startup_time: { ...startup, tokenizer_e2e: template.tokenizerStartup },
    ...template.handshake,
    internal_states: [
      {
        ...args,
        ...template.internal,
        pp_max_micro_batch_size: shownMaxRunning,
        startup_time: startup,
        effective_max_running_requests_per_dp: shownMaxRunning,
        last_gen_throughput: lastGenThroughput,
        memory_usage: {
          ...template.memory,
          weight: memory.weightGb,
          kvcache: memory.kvCacheGb,
          startup_available: memory.startupAvailableGb,
          token_capacity: limits.maxTotalTokens,
        },
      },
    ],
    version: SIMULATED_VERSION,
  };
}

/** The server's start arguments: what was configured, not what is in force. The key is shown in clear, as SGLang does. */
function serverArguments({ profile, model, metrics, apiKey, port }: Identity): Record<string, unknown> {
  return {
    ...template.serverArgs,
    model_path: model,
    tokenizer_path: model,
    served_model_name: model,
    host: '127.0.0.1',
    port,
    random_seed: port,
    max_running_requests: profile.maxRunning,
    max_queued_requests: profile.maxQueued,
    max_total_tokens: profile.maxTotalTokens,
    chunked_prefill_size: profile.chunkedPrefillTokens,
    schedule_conservativeness: profile.conservativeness,
    page_size: profile.pageSize,
    enable_metrics: metrics,
    enable_cache_report: profile.cacheReport,
    api_key: apiKey,
    pp_max_micro_batch_size: null,
  };
}

/** The body of `/model_info`. */
export const modelInfo = (model: string): Record<string, unknown> => ({
  ...modelInfoTemplate,
  model_path: model,
  served_model_name: model,
  tokenizer_path: model,
});

/** One model card of `/v1/models`. */
export const modelCard = (model: string, nowMs: number, contextLength: number): Record<string, unknown> => ({
  id: model,
  object: 'model',
  created: Math.floor(nowMs / 1000),
  owned_by: 'sglang',
  root: model,
  parent: null,
  max_model_len: contextLength,
});
