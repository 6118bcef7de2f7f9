import type { Call, Prompt } from './call.ts';
import type { Completion } from './job.ts';
import { answerIds, answerText, hashText } from './text.ts';

/** What an answer shows of the server that gave it. */
export interface AnswerContext {
  /** `--enable-metrics`: answers then carry times of every stage. */
  readonly metrics: boolean;
  /** `--enable-cache-report`: usage then carries cached tokens. */
  readonly cacheReport: boolean;
  readonly nowMs: number;
}

/** The body of a successful answer, in the form of the route that was called. */
export function renderAnswer(call: Call, completions: readonly Completion[], context: AnswerContext): unknown {
  if (call.api !== 'generate') return openAiAnswer(call, completions, context);
  const answers = completions.map((completion, index) => nativeAnswer(call, completion, { index, context }));
  return call.listed ? answers : answers[0];
}

function nativeAnswer(call: Call, completion: Completion, at: { index: number; context: AnswerContext }): unknown {
  const seed = hashText(completion.job.id);
  const ids = promptOf(call, at.index)?.ids;
  return {
    text: answerText(completion.tokens, seed),
    output_ids: answerIds(completion.tokens, seed),
    meta_info: metaInfo(completion, at.context),
    ...(call.returnPromptIds ? { prompt_token_ids: ids ?? answerIds(completion.job.promptTokens, seed) } : {}),
  };
}

const promptOf = (call: Call, index: number): Prompt | undefined => call.prompts[Math.floor(index / call.choices)];

/** Who never ran is reported with no prompt at all. */
const shownPromptTokens = ({ job, forwardMs }: Completion): number => (forwardMs === null ? 0 : job.promptTokens);

function metaInfo(completion: Completion, context: AnswerContext): Record<string, unknown> {
  const { job, tokens, cachedTokens, createdMs, finishedMs } = completion;
  return {
    id: job.id,
    finish_reason: nativeReason(completion),
    prompt_tokens: shownPromptTokens(completion),
    weight_version: 'default',
    num_retractions: 0,
    reasoning_tokens: 0,
    completion_tokens: tokens,
    cached_tokens: cachedTokens,
    weight_versions: weightVersions(tokens),
    cached_tokens_details: cachedTokens > 0 ? { device: cachedTokens, host: 0 } : null,
    dp_rank: null,
    e2e_latency: (finishedMs - createdMs) / 1000,
    response_sent_to_client_ts: context.nowMs / 1000,
    ...(context.metrics ? stageTimes(completion) : {}),
  };
}

function stageTimes({ tokens, createdMs, forwardMs, firstTokenMs, finishedMs }: Completion): Record<string, number> {
  const forward = forwardMs ?? finishedMs;
  const first = firstTokenMs ?? finishedMs;
  const decodeSeconds = (finishedMs - first) / 1000;
  return {
    storage_prefetch_wait: 0,
    storage_staging_wait: 0,
    forward_entry_time: forward / 1000,
    prefill_finished_time: first / 1000,
    queue_time: (forward - createdMs) / 1000,
    request_received_ts: createdMs / 1000,
    first_token_latency: (first - createdMs) / 1000,
    api_server_dispatch_finish_ts: createdMs / 1000,
    request_finished_ts: finishedMs / 1000,
    ...(tokens > 1 ? { decode_throughput: (tokens - 1) / Math.max(1e-6, decodeSeconds) } : {}),
  };
}

function nativeReason({ ending, limit, job, tokens }: Completion): Record<string, unknown> {
  if (ending === 'length') return { type: 'length', length: limit };
  if (ending === 'stop') return { type: 'stop', matched: answerIds(tokens, hashText(job.id)).at(-1) ?? 0 };
  return { type: 'abort', message: 'Aborted', status_code: null, err_type: null };
}

const weightVersions = (tokens: number) => [{ version: 'default', start: 0, end: tokens }];

function openAiAnswer(call: Call, completions: readonly Completion[], context: AnswerContext): unknown {
  return {
    id: completions[0]?.job.id,
    object: call.api === 'chat' ? 'chat.completion' : 'text_completion',
    created: Math.floor(context.nowMs / 1000),
    model: call.model,
    choices: completions.map((completion, index) => choiceOf(call, completion, { index, context })),
    usage: usageOf(call, completions, context),
    metadata: { weight_version: 'default', weight_versions: weightVersions(completions[0]?.tokens ?? 0) },
  };
}

function choiceOf(call: Call, completion: Completion, at: { index: number; context: AnswerContext }): unknown {
  const text = answerText(completion.tokens, hashText(completion.job.id));
  const said =
    call.api === 'chat' ? { message: { role: 'assistant', content: text, reasoning_content: null } } : { text };
  return {
    index: at.index,
    ...said,
    logprobs: null,
    finish_reason: completion.ending,
    matched_stop: completion.ending === 'stop' ? nativeReason(completion)['matched'] : null,
    ...(call.returnMeta ? { meta_info: metaInfo(completion, at.context) } : {}),
  };
}

/** Each prompt counts once however many choices it has; all answers count. */
function usageOf(call: Call, completions: readonly Completion[], context: AnswerContext): Record<string, unknown> {
  const firsts = completions.filter((_, index) => index % call.choices === 0);
  const prompt = firsts.reduce((sum, completion) => sum + shownPromptTokens(completion), 0);
  const completion = completions.reduce((sum, { tokens }) => sum + tokens, 0);
  const cached = firsts.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0);
  return {
    prompt_tokens: prompt,
    total_tokens: prompt + completion,
    completion_tokens: completion,
    prompt_tokens_details: context.cacheReport ? { cached_tokens: cached } : null,
    reasoning_tokens: 0,
    completion_tokens_details: null,
  };
}
