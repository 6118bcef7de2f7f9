import { pickMetric } from '../../lib/exposition.ts';
import type { EngineServer } from './servers.ts';

const PROMPT = 'Describe the harbour of a small town early in the morning.';

/** The body of a GET that must succeed, as JSON. */
export async function readJson(url: string): Promise<unknown> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`);
  return answer.json();
}

/** What stands at a path of keys in a JSON value; undefined where the path leads nowhere. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}

/** Lets an SGLang server write exactly so many tokens; returns what it says that it has written. */
export async function generate({ url }: EngineServer, tokens: number): Promise<unknown> {
  const sampling = { max_new_tokens: tokens, ignore_eos: true };
  return at(
    await post(`${url}/generate`, { text: PROMPT, sampling_params: sampling }),
    'meta_info',
    'completion_tokens',
  );
}

/** The same by an OpenAI route, as llama.cpp has it; it needs no model name. */
export async function complete({ url }: EngineServer, tokens: number): Promise<unknown> {
  const body = { prompt: PROMPT, max_tokens: tokens, ignore_eos: true };
  return at(await post(`${url}/v1/completions`, body), 'usage', 'completion_tokens');
}

async function post(url: string, body: unknown): Promise<unknown> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}: ${JSON.stringify(await answer.text())}`);
  return answer.json();
}

/** All output tokens that an SGLang server has counted, a moment after its answers; null before the first. */
export async function tokensCountedBy(server: EngineServer): Promise<number | null> {
  return pickMetric(await server.metrics(), 'sglang:generation_tokens_total');
}
