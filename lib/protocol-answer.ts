/** What an answer without streaming says of itself, for each API: finish reason and token counts. */
import type { Api } from './protocol.ts';
import { countAt, isRecord, type JsonRecord, type Read, shown } from './protocol-json.ts';
import { type Tokens, tokens } from './units.ts';

/** An answer whose counts can be used. */
export interface Answer {
  readonly tokens: Tokens;
  readonly promptTokens: number;
  /** Null where the server does not report it. */
  readonly cachedTokens: number | null;
  readonly finishReason: string;
}

/** An answer of the right shape, before its counts are believed. */
interface Shape {
  readonly finishReason: string;
  readonly usage: JsonRecord;
  readonly usagePath: string;
  readonly cachedIn: unknown;
  readonly cachedPath: string;
}

/** Why the server gave the request up, or null if it did not; its counts mean nothing then (sglang.md 11, point 9). */
export function abortReason(json: unknown): string | null {
  if (!isRecord(json)) return null;
  const meta = json['meta_info'];
  const finish = isRecord(meta) ? meta['finish_reason'] : undefined;
  if (isRecord(finish) && finish['type'] === 'abort') {
    const message = finish['message'];
    return typeof message === 'string' && message !== '' ? message : 'no message';
  }
  const choices = json['choices'];
  const isAborted = (choice: unknown): boolean => isRecord(choice) && choice['finish_reason'] === 'abort';
  return Array.isArray(choices) && choices.some(isAborted) ? 'no message' : null;
}

/** Finish reason and counts of one answer, or what is wrong with it. */
export function answerOf(api: Api, json: unknown): Read<Answer> {
  if (!isRecord(json)) return { fault: `the answer is ${Array.isArray(json) ? 'a list' : shown(json)}, not an object` };
  const shape = api === 'generate' ? generateShape(json) : openAiShape(api, json);
  if ('fault' in shape) return shape;
  const { usage, usagePath, cachedIn, cachedPath, finishReason } = shape.value;
  const completion = countAt(usage, 'completion_tokens', { path: usagePath, least: 1 });
  if ('fault' in completion) return completion;
  // The limit is planned with P, so an answer that hides it is as unusable as one without output tokens.
  const prompt = countAt(usage, 'prompt_tokens', { path: usagePath, least: 1 });
  if ('fault' in prompt) return prompt;
  const cached = cachedTokensOf(cachedIn, cachedPath);
  if ('fault' in cached) return cached;
  return {
    value: {
      tokens: tokens(completion.value),
      promptTokens: prompt.value,
      cachedTokens: cached.value,
      finishReason,
    },
  };
}

function generateShape(json: JsonRecord): Read<Shape> {
  if ('choices' in json) return { fault: 'an answer of the OpenAI APIs ("choices"), not of /generate' };
  const meta = json['meta_info'];
  if (!isRecord(meta)) return { fault: `meta_info: ${shown(meta)}` };
  const finish = meta['finish_reason'];
  const type = isRecord(finish) ? finish['type'] : undefined;
  if (typeof type !== 'string' || type === '') return { fault: `meta_info.finish_reason: ${shown(finish)}` };
  return {
    value: { finishReason: type, usage: meta, usagePath: 'meta_info', cachedIn: meta, cachedPath: 'meta_info' },
  };
}

function openAiShape(api: Exclude<Api, 'generate'>, json: JsonRecord): Read<Shape> {
  if ('meta_info' in json) return { fault: 'an answer of /generate ("meta_info"), not of the OpenAI APIs' };
  const choices = json['choices'];
  if (!Array.isArray(choices)) return { fault: `choices: ${shown(choices)}` };
  if (choices.length !== 1) return { fault: `choices: ${choices.length} instead of 1` };
  const choice: unknown = choices[0];
  if (!isRecord(choice)) return { fault: `choices[0]: ${shown(choice)}` };
  const hasShape = api === 'chat' ? isRecord(choice['message']) : typeof choice['text'] === 'string';
  if (!hasShape) return { fault: api === 'chat' ? 'choices[0] has no message' : 'choices[0] has no text' };
  const finish = choice['finish_reason'];
  if (typeof finish !== 'string' || finish === '') return { fault: `choices[0].finish_reason: ${shown(finish)}` };
  const usage = json['usage'];
  if (!isRecord(usage)) return { fault: `usage: ${shown(usage)}` };
  const cachedPath = 'usage.prompt_tokens_details';
  return {
    value: { finishReason: finish, usage, usagePath: 'usage', cachedIn: usage['prompt_tokens_details'], cachedPath },
  };
}

function cachedTokensOf(details: unknown, path: string): Read<number | null> {
  if (details === undefined || details === null) return { value: null };
  if (!isRecord(details)) return { fault: `${path}: ${shown(details)}` };
  const cached = details['cached_tokens'];
  if (cached === undefined || cached === null) return { value: null };
  return countAt(details, 'cached_tokens', { path, least: 0 });
}
