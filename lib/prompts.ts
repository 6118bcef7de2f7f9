/** Which text a virtual user sends: the built-in prompts, or those of a file. */
import { builtInHash, builtInIds, builtInText, type PromptRequest } from './prompts-built-in.ts';
import { hash64, hex64 } from './prompts-hash.ts';
import type { Api, Prompt } from './protocol.ts';

export interface PromptSource {
  /** The prompt of one request; the same request always gets the same prompt. */
  promptAt(request: PromptRequest): Prompt;
  /** Identifies the prompts, so that only like workloads are compared; worked out when it is first asked for. */
  readonly describe: { readonly source: string; readonly hash: string; readonly count: number | null };
}

/** Endless unique prompts; with `inputTokens` exactly that long on /generate and about that long elsewhere. */
export function builtInPrompts(options: { readonly api: Api; readonly inputTokens: number | null }): PromptSource {
  const { api, inputTokens } = options;
  return {
    promptAt(request) {
      if (api === 'generate' && inputTokens !== null) return { kind: 'ids', ids: builtInIds(request, inputTokens) };
      return textPrompt(builtInText(request, inputTokens), api);
    },
    get describe() {
      return { source: 'built-in', hash: builtInHash(), count: null };
    },
  };
}

/** Prompts in an order that begins elsewhere for each server and wraps around; the list may be k6's SharedArray. */
export function promptsFrom(list: ArrayLike<Prompt>): PromptSource {
  let hash: string | null = null;
  return {
    promptAt({ server, index }) {
      const place = (hash64(server).low + index) % list.length;
      const prompt = list[place < 0 ? place + list.length : place];
      if (prompt === undefined) throw new Error('prompts: the list is empty');
      return prompt;
    },
    get describe() {
      // Seconds for a large file inside k6, and only one of its virtual users ever asks.
      hash ??= hashOfAll(list);
      return { source: 'file', hash, count: list.length };
    },
  };
}

/** A text as the API takes it. */
export function textPrompt(text: string, api: Api): Prompt {
  if (api === 'chat') return { kind: 'messages', messages: [{ role: 'user', content: text }] };
  return { kind: 'text', text };
}

function hashOfAll(list: ArrayLike<Prompt>): string {
  let hash = hash64('');
  for (let index = 0; index < list.length; index += 1) hash = hash64(`${JSON.stringify(list[index])}\n`, hash);
  return hex64(hash);
}
