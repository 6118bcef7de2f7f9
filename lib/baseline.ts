import { pickMetric } from './exposition.ts';
import { type Doors, examineFleet, type ReadyServer, type UnfitServer } from './fleet.ts';
import type { ServerSpec, Settings } from './settings.ts';
import { safeUrl } from './settings.ts';
import type { Answer, Send } from './warm-up.ts';

/** The classic batch-1 number: one request per server, all servers at once; first and warm are never mixed. */
export interface Baseline {
  readonly schemaVersion: 1;
  readonly kind: 'tokramp baseline';
  readonly runId: string;
  readonly servers: readonly BaselineServer[];
  /** The first round, then the warm ones; null where a server did not answer. */
  readonly rounds: readonly (Makespan | null)[];
}

export interface BaselineServer {
  readonly name: string;
  readonly url: string;
  /** True only where the server's own counters prove that it had served nothing; null where they say nothing. */
  readonly cold: boolean | null;
  readonly rounds: readonly BaselineAnswer[];
}

export type BaselineAnswer =
  | { readonly tokens: number; readonly seconds: number; readonly tokensPerSecond: number }
  | { readonly failed: string };

/** Tokens of requests that began together over the time until the last one ended. */
export interface Makespan {
  readonly tokens: number;
  readonly seconds: number;
  readonly tokensPerSecond: number;
}

/** One round that may be cold and three that are warm. */
const ROUNDS = 4;
/** Without a plan nothing is known of R; a hung server must still end. */
const DEFAULT_TIMEOUT_SECONDS = 600;

/** A rate from what was measured; it throws rather than ever being empty, zero or not a number. */
export function makespanOf(answers: readonly { readonly tokens: number; readonly seconds: number }[]): Makespan {
  const tokens = answers.reduce((sum, answer) => sum + answer.tokens, 0);
  const seconds = Math.max(...answers.map((answer) => answer.seconds));
  if (!(tokens > 0 && seconds > 0 && Number.isFinite(seconds))) {
    throw new RangeError(`no rate from ${tokens} tokens in ${seconds} s`);
  }
  return { tokens, seconds, tokensPerSecond: tokens / seconds };
}

/** Sends one request to every server at once, four times; or every fault of every server. */
export async function measureBaseline(
  about: { readonly settings: Settings; readonly runId: string; readonly report: (line: string) => void },
  doors: Doors,
): Promise<Baseline | { readonly faults: readonly string[] }> {
  const { settings, runId, report } = about;
  const fleet = await examineFleet(settings, doors);
  if ('faults' in fleet) return fleet;
  const cold = await Promise.all(fleet.ready.map((entry) => coldOf(entry.server, doors)));
  const senders = fleet.ready.map((entry) => doors.send(entry.server, entry.capacity.subject.servedModel));
  const rounds: BaselineAnswer[][] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    report(
      `round ${round + 1} of ${ROUNDS}: one request of ${settings.maxTokens} tokens to each of ${senders.length} servers`,
    );
    rounds.push(await Promise.all(senders.map((send) => ask(send, settings))));
  }
  for (const note of fleet.notes) report(note);
  const row = (entry: ReadyServer, index: number): BaselineServer => ({
    name: entry.server.name,
    url: safeUrl(entry.server.url),
    cold: cold[index] ?? null,
    rounds: rounds.flatMap((answers) => answers[index] ?? []),
  });
  return {
    schemaVersion: 1,
    kind: 'tokramp baseline',
    runId,
    servers: [...fleet.ready.map(row), ...fleet.missing.map(missingRow)],
    // A sum without a server that was asked for would hide it.
    rounds: rounds.map((answers) => (fleet.missing.length > 0 ? null : fleetRound(answers))),
  };
}

function missingRow({ server, fault }: UnfitServer): BaselineServer {
  const rounds = Array.from({ length: ROUNDS }, () => ({ failed: fault }));
  return { name: server.name, url: safeUrl(server.url), cold: null, rounds };
}

async function ask(send: Send, settings: Settings): Promise<BaselineAnswer> {
  const { maxTokens } = settings;
  const answer: Answer = await send({ maxTokens, timeoutSeconds: settings.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS });
  const { outcome, seconds } = answer;
  if (outcome.state !== 'completed') return { failed: `${outcome.state}: ${outcome.reason}` };
  return { ...makespanOf([{ tokens: outcome.tokens, seconds }]) };
}

function fleetRound(answers: readonly BaselineAnswer[]): Makespan | null {
  const whole = answers.flatMap((answer) => ('failed' in answer ? [] : [answer]));
  return whole.length === answers.length && whole.length > 0 ? makespanOf(whole) : null;
}

/** A counter that is absent or zero proves that nothing was served; without the page there is no proof. */
async function coldOf(server: ServerSpec, doors: Doors): Promise<boolean | null> {
  const page = await doors.door(server).get('/metrics');
  if (page.status !== 200 || page.body === null || !/sglang[:_]/.test(page.body)) return null;
  const served = pickMetric(page.body, 'sglang:num_requests_total') ?? 0;
  const generated = pickMetric(page.body, 'sglang:generation_tokens_total') ?? 0;
  return served === 0 && generated === 0;
}
