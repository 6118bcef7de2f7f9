/** Request bodies and the judgement of replies, without streaming: the one place that decides what counts. */
import { type Answer, abortReason, answerOf } from './protocol-answer.ts';
import { carriesError, isRecord, messageOf, oneLine, parseJson, textOf } from './protocol-json.ts';
import type { Tokens } from './units.ts';

export type Api = 'generate' | 'completions' | 'chat';

/** fixed: the end-of-text token is ignored, every answer must have exactly maxTokens; natural: the model may stop by itself. */
export type Stop = 'fixed' | 'natural';

export interface ChatMessage {
  readonly role: string;
  readonly content: string;
}

export type Prompt =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'ids'; readonly ids: readonly number[] }
  | { readonly kind: 'messages'; readonly messages: readonly ChatMessage[] };

/** Everything that shapes one request. */
export interface Ask {
  readonly api: Api;
  /** Null leaves the choice to the server. */
  readonly model: string | null;
  readonly prompt: Prompt;
  readonly maxTokens: number;
  readonly stop: Stop;
  /** Puts the prompt into a prefix cache of its own; null shares the server's. */
  readonly cacheKey: string | null;
}

/** A reply as k6 gives it: network failures have status 0 and an error code. */
export interface Reply {
  readonly status: number;
  readonly body: string | null;
  readonly errorCode: number;
  readonly error: string;
}

/** What became of one request; only `completed` and `truncated` carry tokens. */
export type Outcome =
  | ({ readonly state: 'completed' } & Counted)
  | ({ readonly state: 'truncated'; readonly reason: string } & Counted)
  | { readonly state: 'aborted'; readonly reason: string }
  | { readonly state: 'rejected'; readonly status: number; readonly reason: string }
  | { readonly state: 'malformed'; readonly reason: string }
  | { readonly state: 'timedOut'; readonly reason: string }
  | { readonly state: 'unreachable'; readonly reason: string };

interface Counted {
  readonly tokens: Tokens;
  readonly promptTokens: number;
  /** Null where the server does not report it. */
  readonly cachedTokens: number | null;
  readonly finishReason: string;
}

export const OUTCOME_STATES: readonly Outcome['state'][] = [
  'completed',
  'truncated',
  'aborted',
  'rejected',
  'malformed',
  'timedOut',
  'unreachable',
];

/** k6's code for a request that ran into its own timeout, also while the body was being read. */
const K6_TIMED_OUT = 1050;

/**
 * Path and JSON body of a request. Sampling is left to the server: fixed lengths need only ignore_eos, and a temperature of our
 * own would measure other sampling code and, with speculation, other accept lengths than the job that is being sized.
 */
export function requestOf(ask: Ask): { readonly path: string; readonly body: string } {
  const ignoreEos = ask.stop === 'fixed';
  if (ask.api === 'generate') {
    const body = {
      ...generatePrompt(ask.prompt),
      sampling_params: { max_new_tokens: ask.maxTokens, ignore_eos: ignoreEos },
      stream: false,
      // extra_key is the older of two names for the same thing here; /v1/* and vLLM know cache_salt.
      ...(ask.cacheKey === null ? {} : { extra_key: ask.cacheKey }),
    };
    return { path: '/generate', body: JSON.stringify(body) };
  }
  const body = {
    ...(ask.model === null ? {} : { model: ask.model }),
    ...(ask.api === 'chat' ? { messages: chatMessages(ask.prompt) } : { prompt: completionPrompt(ask.prompt) }),
    max_tokens: ask.maxTokens,
    ignore_eos: ignoreEos,
    stream: false,
    ...(ask.cacheKey === null ? {} : { cache_salt: ask.cacheKey }),
  };
  return { path: ask.api === 'chat' ? '/v1/chat/completions' : '/v1/completions', body: JSON.stringify(body) };
}

function generatePrompt(prompt: Prompt): { readonly text: string } | { readonly input_ids: readonly number[] } {
  if (prompt.kind === 'text') return { text: prompt.text };
  if (prompt.kind === 'ids') return { input_ids: prompt.ids };
  throw new Error('chat messages cannot be sent to /generate: api "chat" is for them');
}

function completionPrompt(prompt: Prompt): string | readonly number[] {
  if (prompt.kind === 'text') return prompt.text;
  if (prompt.kind === 'ids') return prompt.ids;
  throw new Error('chat messages cannot be sent to /v1/completions: api "chat" is for them');
}

function chatMessages(prompt: Prompt): readonly ChatMessage[] {
  if (prompt.kind === 'messages') return prompt.messages;
  if (prompt.kind === 'text') return [{ role: 'user', content: prompt.text }];
  throw new Error('token ids cannot be sent to /v1/chat/completions: api "generate" or "completions" is for them');
}

/** What became of a request; never throws, whatever the server sent. */
export function outcomeOf(ask: Pick<Ask, 'api' | 'maxTokens' | 'stop'>, reply: Reply): Outcome {
  if (reply.errorCode === K6_TIMED_OUT) return { state: 'timedOut', reason: oneLine(reply.error) || 'request timeout' };
  if (!(reply.status > 0)) {
    return { state: 'unreachable', reason: `${oneLine(reply.error) || 'no answer'} (k6 error ${reply.errorCode})` };
  }
  const body = reply.body ?? '';
  const parsed = parseJson(ask.api === 'generate' ? withoutOutputIds(body) : body);
  const json = 'value' in parsed ? parsed.value : undefined;
  const abort = abortReason(json);
  if (abort !== null) return { state: 'aborted', reason: `finish_reason abort: ${oneLine(abort)}` };
  if (reply.status !== 200) {
    const said = messageOf(json) ?? (body.trim() === '' ? 'empty body' : textOf(body));
    return { state: 'rejected', status: reply.status, reason: `HTTP ${reply.status}: ${said}` };
  }
  if ('fault' in parsed) {
    return malformed(body.trim() === '' ? 'empty body' : `${parsed.fault}${numberlessCount(body)}`);
  }
  if (isRecord(json) && carriesError(json)) return malformed(`an error inside: ${messageOf(json) ?? 'no message'}`);
  const answer = answerOf(ask.api, json);
  return 'fault' in answer ? malformed(answer.fault) : judged(ask, answer.value);
}

/** Ids of the answer's tokens are most of a long answer, and k6 needs 0.5 ms to parse 1,000 of them for nothing. */
function withoutOutputIds(body: string): string {
  const name = '"output_ids":[';
  const start = body.indexOf(name);
  const end = start < 0 ? -1 : body.indexOf(']', start);
  if (end < 0 || !WHOLE_NUMBERS.test(body.slice(start + name.length, end))) return body;
  return body.slice(0, start + name.length) + body.slice(end);
}

const WHOLE_NUMBERS = /^(?:(?:0|[1-9]\d*)(?:, ?(?:0|[1-9]\d*))*)?$/;

function judged(ask: Pick<Ask, 'maxTokens' | 'stop'>, answer: Answer): Outcome {
  const { tokens, finishReason } = answer;
  // More work than was asked for is not comparable, whoever is to blame (a gateway that rewrites max_tokens).
  if (tokens > ask.maxTokens) return malformed(`completion_tokens: ${tokens} although ${ask.maxTokens} were asked for`);
  const isWhole =
    ask.stop === 'fixed'
      ? tokens === ask.maxTokens && finishReason === 'length'
      : finishReason === 'stop' || (finishReason === 'length' && tokens === ask.maxTokens);
  if (isWhole) return { state: 'completed', ...answer };
  const reason = `${tokens} of ${ask.maxTokens} tokens, finish_reason ${oneLine(finishReason)}`;
  return { state: 'truncated', reason, ...answer };
}

const malformed = (reason: string): Outcome => ({ state: 'malformed', reason });

// Python servers can write NaN, which is no JSON: name the count that made the whole body unreadable.
function numberlessCount(body: string): string {
  const found = /"(completion_tokens|prompt_tokens)"\s*:\s*(-?NaN|-?Infinity)/.exec(body);
  return found === null ? '' : `, with ${found[1]}: ${found[2]}`;
}
