import { type Limits, refusedInputTokens } from './admission.ts';
import { type Dialect, invalidBody, type Reply, refused } from './reply.ts';

/** A JSON object whose values are not looked at yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** One prompt: its length and what makes it equal to another. */
export interface Prompt {
  readonly tokens: number;
  readonly key: string;
  readonly ids: readonly number[] | null;
}

/** One generation request, whichever route it came by. */
export interface Call {
  readonly api: 'generate' | 'completions' | 'chat';
  readonly prompts: readonly Prompt[];
  /** Answers per prompt. */
  readonly choices: number;
  /** Null: as much as the context holds. */
  readonly maxNewTokens: number | null;
  readonly ignoreEos: boolean;
  readonly rid: string | null;
  /** The model's name as the request gave it. */
  readonly model: string;
  /** Whether the answer is a list even for one prompt. */
  readonly listed: boolean;
  readonly returnPromptIds: boolean;
  readonly returnMeta: boolean;
}

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isCount = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value);

const isIds = (value: unknown): value is number[] => Array.isArray(value) && value.every(isCount);
const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** The cache namespace that a request puts its prompt into. */
export const namespaceOf = (fields: Fields): string =>
  `${fields['cache_salt'] ?? ''}\u0000${fields['extra_key'] ?? ''}\u0000`;

/** Prompts given as text, texts, token ids or lists of token ids; null if it is none of these. */
export function readPrompts(value: unknown, namespace: string, count: (text: string) => number): Prompt[] | null {
  if (typeof value === 'string') return [{ tokens: count(value), key: `${namespace}t${value}`, ids: null }];
  if (isIds(value) && value.length > 0) return [{ tokens: value.length, key: `${namespace}i${value}`, ids: value }];
  if (isTexts(value)) return value.map((text) => ({ tokens: count(text), key: `${namespace}t${text}`, ids: null }));
  if (!Array.isArray(value) || !value.every(isIds)) return null;
  return value.map((ids) => ({ tokens: ids.length, key: `${namespace}i${ids}`, ids }));
}

/** Parses a body that must be a JSON object; what is wrong with it is the answer. */
export function readObject(body: string): Fields | Reply {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    return invalidBody(`body: JSON decode error (${error instanceof Error ? error.message : 'unknown'})`);
  }
  return isFields(value) ? value : invalidBody('body: Input should be an object');
}

export const isReply = (value: object): value is Reply => 'status' in value && 'body' in value && 'type' in value;

/** What a server says to a call that its context or its KV pool cannot hold; null if it can. */
export function refuseLength(call: Call, limits: Limits): Reply | null {
  const dialect: Dialect = call.api === 'generate' ? 'native' : 'openai';
  for (const { tokens } of call.prompts) {
    const message = lengthFault(tokens, call.maxNewTokens, limits);
    if (message !== null) return refused(dialect, message);
  }
  return null;
}

function lengthFault(promptTokens: number, maxNewTokens: number | null, limits: Limits): string | null {
  const { contextLength } = limits;
  if (promptTokens >= contextLength) {
    return `The input (${promptTokens} tokens) is longer than the model's context length (${contextLength} tokens).`;
  }
  const total = promptTokens + (maxNewTokens ?? 0);
  if (total > contextLength) {
    return `Requested token count exceeds the model's maximum context length of ${contextLength} tokens. You requested a total of ${total} tokens: ${promptTokens} tokens from the input messages and ${maxNewTokens} tokens for the completion.`;
  }
  const most = refusedInputTokens(limits);
  if (promptTokens < most) return null;
  return `Input length (${promptTokens} tokens) exceeds the maximum allowed length (${most} tokens).`;
}
