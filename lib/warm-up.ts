import type { Outcome } from './protocol.ts';
import type { Settings } from './settings.ts';

/** One answered request: its outcome and how long it took (seconds). */
export interface Answer {
  readonly outcome: Outcome;
  readonly seconds: number;
}

/** Sends one request of the workload with the given output length and timeout; never throws. */
export type Send = (ask: { readonly maxTokens: number; readonly timeoutSeconds: number }) => Promise<Answer>;

/** A server that did not answer as it must: one line, without the server's name. */
export class WarmUpError extends Error {
  override readonly name = 'WarmUpError';
}

/** Lazy loading, kernels and graphs are paid by the first requests; three is what V12 asks for. */
const SINGLES = 3;
const SINGLE_TOKENS = 16;
const ROUND_TOKENS = 64;
const MAX_ROUNDS = 6;
/** Two rounds agree within 3 %, or within 25 ms: below that a round shows the client's scheduling, not the server. */
const AGREE_RELATIVE = 0.03;
const AGREE_SECONDS = 0.025;
/** A cold server may compile for minutes before its first answer. */
const COLD_TIMEOUT_SECONDS = 300;

/** What the settings say of a warm-up request: the length of the real ones, and the user's timeout if there is one. */
export type WarmUpAsk = Pick<Settings, 'maxTokens' | 'timeoutSeconds'>;

export interface Singles {
  readonly answers: readonly Answer[];
  readonly promptTokens: readonly number[];
  readonly cachedTokens: number;
  /** Of the last, warm request: an estimate of a token's time at level 1. */
  readonly secondsPerToken: number;
}

/** A few short requests one after the other; the first may be cold. */
export async function warmSingles(send: Send, about: WarmUpAsk): Promise<Singles> {
  const asked = Math.min(SINGLE_TOKENS, about.maxTokens);
  const answers: Answer[] = [];
  for (let request = 0; request < SINGLES; request += 1) {
    answers.push(
      answered(await send({ maxTokens: asked, timeoutSeconds: about.timeoutSeconds ?? COLD_TIMEOUT_SECONDS })),
    );
  }
  const counts = answers.map((answer) => tokensOf(answer.outcome));
  const last = answers[answers.length - 1];
  const produced = counts[counts.length - 1]?.output ?? asked;
  return {
    answers,
    promptTokens: counts.map((count) => count.prompt),
    cachedTokens: counts.reduce((sum, count) => sum + count.cached, 0),
    secondsPerToken: (last?.seconds ?? 0) / produced,
  };
}

export interface Rounds {
  readonly requests: number;
  readonly roundSeconds: readonly number[];
  readonly agreed: boolean;
}

/** Bursts of short requests at the limit, repeated until two agree: every batch size up to the limit has then run. */
export async function warmRounds(send: Send, about: WarmUpAsk & { readonly limit: number }): Promise<Rounds> {
  const asked = Math.min(ROUND_TOKENS, about.maxTokens);
  const roundSeconds: number[] = [];
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const timeoutSeconds = about.timeoutSeconds ?? COLD_TIMEOUT_SECONDS;
    const burst = await burstOf(send, { limit: about.limit, maxTokens: asked, timeoutSeconds });
    roundSeconds.push(Math.max(...burst.map((answer) => answer.seconds)));
    if (agrees(roundSeconds)) return { requests: about.limit * roundSeconds.length, roundSeconds, agreed: true };
  }
  return { requests: about.limit * roundSeconds.length, roundSeconds, agreed: false };
}

/** Many requests at once; throws a WarmUpError if one of them is not answered. */
export async function burstOf(
  send: Send,
  about: { readonly limit: number; readonly maxTokens: number; readonly timeoutSeconds: number },
): Promise<readonly Answer[]> {
  const burst = Array.from({ length: about.limit }, () => send(about));
  return (await Promise.all(burst)).map(answered);
}

/**
 * A full, staggered load: places join one after the other over some seconds, and each sends two requests. The second ones are
 * returned: they run while every place is taken and others begin, as in a level that is held.
 */
export async function staggeredWave(
  send: Send,
  about: {
    readonly limit: number;
    readonly maxTokens: number;
    readonly timeoutSeconds: number;
    readonly spreadSeconds: number;
  },
  sleep: (seconds: number) => Promise<void>,
): Promise<readonly Answer[]> {
  const place = async (index: number): Promise<Answer> => {
    await sleep((about.spreadSeconds * index) / about.limit);
    answered(await send(about));
    return answered(await send(about));
  };
  return Promise.all(Array.from({ length: about.limit }, (_, index) => place(index)));
}

/** The tokens of an answered request; answered() has made sure that it has some. */
export function tokensOf(outcome: Outcome): {
  readonly prompt: number;
  readonly cached: number;
  readonly output: number;
} {
  if (outcome.state !== 'completed' && outcome.state !== 'truncated') return { prompt: 0, cached: 0, output: 0 };
  return { prompt: outcome.promptTokens, cached: outcome.cachedTokens ?? 0, output: outcome.tokens };
}

/** The answer itself if it is complete, else a WarmUpError that says what became of the request. */
export function answered(answer: Answer): Answer {
  const { outcome, seconds } = answer;
  if (outcome.state === 'completed') return answer;
  if (outcome.state === 'timedOut') throw new WarmUpError(`a request was not answered within ${seconds.toFixed(1)} s`);
  throw new WarmUpError(`a request was ${outcome.state}: ${outcome.reason}`);
}

function agrees(roundSeconds: readonly number[]): boolean {
  const [previous, last] = roundSeconds.slice(-2);
  if (previous === undefined || last === undefined) return false;
  const difference = Math.abs(last - previous);
  return difference <= AGREE_RELATIVE * previous || difference <= AGREE_SECONDS;
}
