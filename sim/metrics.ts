import type { EngineStats } from './engine-stats.ts';
import { type Family, type Labels, renderFamilies, type Scope } from './exposition.ts';
import type { Histogram } from './histogram.ts';
import type { HttpStats } from './http-stats.ts';
import { idleFamilies } from './idle-metrics.ts';
import { type Identity, memoryOf } from './server-info.ts';

const NOT_STREAMED: Labels = { is_streaming: 'false' };

interface Sources {
  readonly identity: Identity;
  readonly stats: EngineStats;
  readonly http: HttpStats;
  readonly nowMs: number;
  readonly startMs: number;
}

/** The text of `/metrics`. */
export const renderMetrics = (sources: Sources): string =>
  renderFamilies(
    [
      ...constantFamilies(sources.identity),
      ...gaugeFamilies(sources.stats, sources.identity.limits.maxTotalTokens),
      ...idleFamilies(),
      ...schedulerCounters(sources),
      ...requestCounters(sources.stats),
      ...requestHistograms(sources.stats),
      ...sources.http.families(),
    ],
    sources.identity.model,
  );

const gauge = (name: string, help: string, value: number): Family => ({
  name,
  type: 'gauge',
  scope: 'scheduler',
  help,
  samples: [{ labels: {}, value }],
});

function constantFamilies({ limits }: Identity): Family[] {
  const memory = memoryOf(limits);
  return [
    gauge('max_total_num_tokens', 'Size of the KV pool in tokens.', limits.maxTotalTokens),
    gauge('page_size', 'Tokens per KV page.', limits.pageSize),
    gauge('num_pages', 'Pages of the KV pool.', Math.floor(limits.maxTotalTokens / limits.pageSize)),
    gauge('context_len', 'Longest prompt and answer together.', limits.contextLength),
    gauge('weight_memory_usage_gb', 'Memory of the weights, made up.', memory.weightGb),
    gauge('kv_cache_memory_usage_gb', 'Memory of the KV pool, made up.', memory.kvCacheGb),
    gauge('startup_available_gpu_memory_gb', 'Memory at start, made up.', memory.startupAvailableGb),
  ];
}

function gaugeFamilies(stats: EngineStats, poolTokens: number): Family[] {
  const { gauges } = stats;
  const usage = gauges.usedTokens / poolTokens;
  return [
    gauge('num_running_reqs', 'Requests in the running batch.', gauges.running),
    gauge('num_queue_reqs', 'Requests waiting.', gauges.waiting),
    gauge('gen_throughput', 'Output tokens per second since the report before.', stats.genThroughput),
    gauge('cache_hit_rate', 'Cached share of the last prefill.', stats.cacheHitRate),
    gauge('decode_sum_seq_lens', 'Tokens of all running sequences.', gauges.runningTokens),
    gauge('token_usage', 'Used share of the KV pool, rounded to 0.01.', Math.round(usage * 100) / 100),
    gauge('full_token_usage', 'Used share of the KV pool.', usage),
    gauge('num_used_tokens', 'KV tokens in use.', gauges.usedTokens),
    gauge('kv_used_tokens', 'KV tokens in use.', gauges.usedTokens),
    gauge('kv_evictable_tokens', 'KV tokens of unused cached prompts.', gauges.evictableTokens),
    gauge('kv_available_tokens', 'KV tokens free.', poolTokens - gauges.usedTokens - gauges.evictableTokens),
    gauge(
      'new_token_ratio',
      'Share of their remaining tokens that running requests are charged.',
      gauges.newTokenRatio,
    ),
  ];
}

/** A counter is absent until it is first used. */
function counter(name: string, scope: Scope, help: string, samples: readonly [Labels, number][]): Family {
  return { name, type: 'counter', scope, help, samples: samples.map(([labels, value]) => ({ labels, value })) };
}

const used = (labels: Labels, value: number): [Labels, number][] => (value > 0 ? [[labels, value]] : []);

function schedulerCounters({ stats, nowMs, startMs }: Sources): Family[] {
  const idleSeconds = Math.max(0, nowMs - startMs - stats.busyMs) / 1000;
  return [
    counter('realtime_tokens_total', 'scheduler', 'Tokens processed, moved with every pass.', [
      ...used({ mode: 'prefill_compute' }, stats.computedTokens),
      ...used({ mode: 'prefill_cache' }, stats.prefillCacheTokens),
      ...used({ mode: 'decode' }, stats.decodeTokens),
    ]),
    counter('prefill_effective_tokens_total', 'scheduler', 'Prompt tokens by where they came from.', [
      [{ mode: 'input' }, stats.computedTokens],
      [{ mode: 'device_hit' }, stats.prefillCacheTokens],
      [{ mode: 'host_hit' }, 0],
      [{ mode: 'storage_hit' }, 0],
    ]),
    counter('cuda_graph_passes_total', 'scheduler', 'Forward passes by kind.', [
      ...used({ mode: 'prefill_none' }, stats.prefillPasses),
      ...used({ mode: 'decode_none' }, stats.decodePasses),
    ]),
    counter('scheduler_idle_seconds_total', 'scheduler', 'Time without work.', [[{}, idleSeconds]]),
  ];
}

function requestCounters(stats: EngineStats): Family[] {
  const finished = (labels: Labels, value: number): [Labels, number][] => (stats.requests > 0 ? [[labels, value]] : []);
  return [
    counter(
      'prompt_tokens_total',
      'http',
      'Prompt tokens of finished requests.',
      finished(NOT_STREAMED, stats.promptTokens),
    ),
    counter(
      'generation_tokens_total',
      'http',
      'Output tokens of finished requests.',
      finished(NOT_STREAMED, stats.generationTokens),
    ),
    counter('num_requests_total', 'http', 'Requests finished.', finished(NOT_STREAMED, stats.requests)),
    counter('num_aborted_requests_total', 'http', 'Requests aborted.', used({}, stats.aborted)),
    counter(
      'cached_tokens_total',
      'http',
      'Cached prompt tokens of finished requests.',
      used({ cache_source: 'device' }, stats.cachedTokens),
    ),
  ];
}

function requestHistograms(stats: EngineStats): Family[] {
  const one = (name: string, labels: Labels, value: Histogram): Family => ({
    name,
    type: 'histogram',
    scope: 'http',
    help: 'Per finished request.',
    samples: value.count > 0 ? [{ labels, value }] : [],
  });
  return [
    one('time_to_first_token_seconds', NOT_STREAMED, stats.firstToken),
    one('e2e_request_latency_seconds', NOT_STREAMED, stats.endToEnd),
    one('request_time_per_output_token_seconds', NOT_STREAMED, stats.perOutputToken),
    one('inter_token_latency_seconds', {}, stats.interToken),
    one('prompt_tokens_histogram', {}, stats.promptSizes),
    one('uncached_prompt_tokens_histogram', {}, stats.uncachedSizes),
    one('generation_tokens_histogram', {}, stats.answerSizes),
    { ...one('queue_time_seconds', {}, stats.queueTime), scope: 'scheduler' },
    stageFamily(stats),
  ];
}

function stageFamily({ requestStage, prefillStage }: EngineStats): Family {
  const stages = [
    { labels: { stage: 'request_process' }, value: requestStage },
    { labels: { stage: 'prefill_forward' }, value: prefillStage },
  ];
  return {
    name: 'per_stage_req_latency_seconds',
    type: 'histogram',
    scope: 'scheduler',
    help: 'Per finished request and stage.',
    samples: stages.filter(({ value }) => value.count > 0),
  };
}
