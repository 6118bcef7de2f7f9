import { type Capacity, type Limit, limitOf } from './capacity.ts';
import { type Doors, examineFleet, faultOr, readyWords, type Values, valuesOrFaults } from './fleet.ts';
import {
  defaultTimeoutSeconds,
  type Length,
  ladder,
  MOST_VIRTUAL_USERS,
  type Plan,
  PlanError,
  type PlannedServer,
  requestSecondsAt,
  roundMilliseconds,
} from './plan.ts';
import type { Settings } from './settings.ts';
import { answered, type Send, type Singles, staggeredWave, tokensOf, warmRounds, warmSingles } from './warm-up.ts';
import type { Workload } from './workload.ts';

/** Stands for the pool of a server that was missing when the plan was made. */
export const NOT_MEASURED = 'not measured';

/** What discover measured on one server. */
export interface DiscoveredServer {
  readonly name: string;
  readonly limit: Limit;
  readonly promptTokens: number;
  readonly inputLength: Length;
  readonly outputLength: Length;
  readonly cachedShare: number;
  readonly requestSecondsAtOne: number;
  readonly requestSecondsAtLimit: number;
  readonly warm: boolean;
}

/** A limit found by the capacity, or given; throws a PlanError where neither tells. */
export function limitFor(
  capacity: Capacity,
  lengths: { readonly promptTokens: number; readonly outputTokens: number },
  given: number | null,
): Limit {
  if (given !== null) return { requests: given, pool: 'given' };
  const limit = limitOf(capacity, lengths);
  if ('problem' in limit) throw new PlanError(limit.problem);
  return limit;
}

/** Warms one server, finds its limit and measures R at level 1 and at the limit. */
export async function discoverServer(
  about: { readonly name: string; readonly capacity: Capacity; readonly settings: Settings },
  { send, sleep }: { readonly send: Send; readonly sleep: (seconds: number) => Promise<void> },
): Promise<DiscoveredServer> {
  const { capacity, settings } = about;
  const singles = await warmSingles(send, settings);
  const promptTokens = Math.max(...singles.promptTokens) + capacity.pageSize;
  const limit = limitFor(capacity, { promptTokens, outputTokens: settings.maxTokens }, settings.limit);
  tooMany(limit.requests * settings.servers.length);
  const rounds = await warmRounds(send, { ...settings, limit: limit.requests });

  const expected = singles.secondsPerToken * settings.maxTokens;
  const timeoutSeconds = settings.timeoutSeconds ?? defaultTimeoutSeconds(expected);
  const one = answered(await send({ maxTokens: settings.maxTokens, timeoutSeconds }));
  const slowdown = slowdownAt(rounds.roundSeconds, singles, settings.maxTokens);
  const wave = await staggeredWave(
    send,
    {
      limit: limit.requests,
      maxTokens: settings.maxTokens,
      timeoutSeconds: settings.timeoutSeconds ?? defaultTimeoutSeconds(one.seconds * slowdown),
      spreadSeconds: one.seconds,
    },
    sleep,
  );

  const all = [...singles.answers, one, ...wave].map((answer) => tokensOf(answer.outcome));
  const full = [one, ...wave].map((answer) => tokensOf(answer.outcome).output);
  const outputLength = lengthOf(full);
  // A natural answer has any length: one of them says little about R, its time per token does.
  const { mean } = outputLength;
  const prompts = all.reduce((sum, count) => sum + count.prompt, 0);
  return {
    name: about.name,
    limit,
    promptTokens: Math.max(...all.map((count) => count.prompt)) + capacity.pageSize,
    inputLength: lengthOf(all.map((count) => count.prompt)),
    outputLength,
    cachedShare: prompts > 0 ? all.reduce((sum, count) => sum + count.cached, 0) / prompts : 0,
    requestSecondsAtOne: one.seconds * (settings.stop === 'fixed' ? 1 : mean / tokensOf(one.outcome).output),
    requestSecondsAtLimit: wave.reduce((sum, answer) => sum + answer.seconds, 0) / wave.length,
    warm: rounds.agreed,
  };
}

/** One k6 carries a few thousand virtual users; a limit far beyond is a mistake, of the server's words or of the settings. */
function tooMany(virtualUsers: number): void {
  if (virtualUsers <= MOST_VIRTUAL_USERS) return;
  const most = `at most ${MOST_VIRTUAL_USERS} fit one k6`;
  throw new PlanError(`the limit means ${virtualUsers} requests in flight in the fleet, ${most}: give a lower --limit`);
}

/** Mean of a sample, and how far the mean itself may be off (relative standard error). */
export function lengthOf(tokens: readonly number[]): Length {
  const n = tokens.length;
  const mean = tokens.reduce((sum, count) => sum + count, 0) / n;
  const variance = tokens.reduce((sum, count) => sum + (count - mean) ** 2, 0) / Math.max(1, n - 1);
  return { mean: roundMilliseconds(mean), error: roundMilliseconds(Math.sqrt(variance / n) / mean) };
}

/** How much longer a request takes at the limit than alone, from the short warm-up rounds; only a timeout rests on it. */
function slowdownAt(roundSeconds: readonly number[], singles: Singles, maxTokens: number): number {
  const tokens = Math.min(64, maxTokens);
  return Math.max(1, (roundSeconds[roundSeconds.length - 1] ?? 0) / (singles.secondsPerToken * tokens));
}

/** Looks at, warms and measures every server at once; the plan for the fleet, or every fault of every server. */
export async function discoverFleet(
  about: { readonly settings: Settings; readonly workload: Workload; readonly createdAt: string },
  doors: Doors,
): Promise<{ readonly plan: Plan; readonly notes: readonly string[] } | { readonly faults: readonly string[] }> {
  const { settings } = about;
  const fleet = await examineFleet(settings, doors);
  if ('faults' in fleet) return fleet;
  doors.report(`${readyWords(fleet)}: warming up, then measuring R at level 1 and at the limit`);
  const measured = await valuesOrFaults(
    fleet.ready.map(({ server, capacity }) =>
      faultOr(server.name, async () => {
        const send = doors.send(server, capacity.subject.servedModel);
        const { sleep } = doors.door(server);
        const found = await discoverServer({ name: server.name, capacity, settings }, { send, sleep });
        doors.report(measuredLine(found));
        return { found, capacity };
      }),
    ),
  );
  if ('faults' in measured) return measured;
  const limited = await limitedAlike(measured.values, settings);
  if ('faults' in limited) return limited;
  const cold = limited.values.filter((server) => !server.warm);
  const notes = cold.map((server) => `${server.name}: not warm, its last warm-up rounds still differ by more than 3 %`);
  const missing = fleet.missing.map((entry) => entry.server.name);
  const plan = planFleet(limited.values, { ...about, missing, subject: fleet.ready[0]?.capacity.subject ?? null });
  const beyond = measured.values.flatMap(({ found, capacity }) => beyondLimit(found, capacity, plan));
  return { plan, notes: [...fleet.notes, ...notes, ...beyond] };
}

/** A limit given by hand counts; where the server's own is lower, requests will wait, and that must not be a surprise. */
function beyondLimit({ name, limit }: DiscoveredServer, capacity: Capacity, plan: Plan): readonly string[] {
  if (limit.pool !== 'given' || plan.promptTokens === null) return [];
  const own = limitOf(capacity, { promptTokens: plan.promptTokens, outputTokens: plan.workload.maxTokens });
  if ('problem' in own || own.requests >= limit.requests) return [];
  return [
    `${name}: the given limit ${limit.requests} is above its own, ${own.requests} (${own.pool}): requests will queue`,
  ];
}

/**
 * Limits for the largest prompt that any server has seen: the first prompts of a server, which its own waves were sized by, may be
 * shorter, and a ramp compares each server's limit with the plan by the plan's one prompt length.
 */
function limitedAlike(
  measured: readonly { readonly found: DiscoveredServer; readonly capacity: Capacity }[],
  settings: Settings,
): Promise<Values<DiscoveredServer>> {
  const promptTokens = Math.max(...measured.map(({ found }) => found.promptTokens));
  const lengths = { promptTokens, outputTokens: settings.maxTokens };
  return valuesOrFaults(
    measured.map(({ found, capacity }) =>
      faultOr(found.name, async () => ({ ...found, limit: limitFor(capacity, lengths, settings.limit) })),
    ),
  );
}

/** Told as soon as a server is measured: with long answers discover takes minutes. */
function measuredLine({ name, limit, requestSecondsAtOne, requestSecondsAtLimit }: DiscoveredServer): string {
  const r = `R ${requestSecondsAtOne.toFixed(2)} s alone, ${requestSecondsAtLimit.toFixed(2)} s`;
  return `${name}: ${r} with ${limit.requests} in flight (${limit.pool})`;
}

/** The plan for a fleet: the ladder tops at the smallest limit, R is the slowest server's; missing servers get both. */
export function planFleet(
  discovered: readonly DiscoveredServer[],
  about: {
    readonly settings: Settings;
    readonly workload: Workload;
    readonly createdAt: string;
    readonly missing: readonly string[];
    readonly subject: Plan['subject'];
  },
): Plan {
  const { settings } = about;
  const [first, ...others] = discovered;
  if (first === undefined) throw new PlanError('no server could be measured');
  const smallest = others.reduce((a, b) => (b.limit.requests < a.limit.requests ? b : a), first);
  const slowest = (pick: (server: DiscoveredServer) => number): number => Math.max(...discovered.map(pick));
  const mean = (pick: (server: DiscoveredServer) => number): number =>
    roundMilliseconds(discovered.reduce((sum, server) => sum + pick(server), 0) / discovered.length);
  // The servers' samples are small and alike: their mean, and the error of one of them.
  const length = (pick: (server: DiscoveredServer) => Length): Length => ({
    mean: mean((server) => pick(server).mean),
    error: mean((server) => pick(server).error),
  });
  const limit = smallest.limit.requests;
  const measured = {
    atOne: slowest((server) => server.requestSecondsAtOne),
    atLimit: slowest((server) => server.requestSecondsAtLimit),
    limit,
  };
  const levels = ladder(limit, settings).map((level) => ({
    ...level,
    requestSeconds: requestSecondsAt(level.inFlight, measured),
  }));
  const longest = Math.max(...levels.map((level) => level.requestSeconds));
  return {
    schemaVersion: 1,
    kind: 'tokramp plan',
    createdAt: about.createdAt,
    assumed: false,
    promptTokens: slowest((server) => server.promptTokens),
    inputLength: length((server) => server.inputLength),
    outputLength: length((server) => server.outputLength),
    cachedShare: mean((server) => server.cachedShare),
    hold: settings.hold,
    closingBaseline: settings.closingBaseline,
    timeoutSeconds: settings.timeoutSeconds ?? defaultTimeoutSeconds(longest),
    limit,
    pool: smallest.limit.pool,
    servers: settings.servers.map(({ name }) => plannedServer(name, discovered, limit)),
    levels,
    workload: about.workload,
    subject: about.subject,
  };
}

function plannedServer(name: string, discovered: readonly DiscoveredServer[], limit: number): PlannedServer {
  const server = discovered.find((entry) => entry.name === name);
  if (server === undefined) {
    return { name, limit, pool: NOT_MEASURED, requestSecondsAtOne: null, requestSecondsAtLimit: null };
  }
  return {
    name,
    limit: server.limit.requests,
    pool: server.limit.pool,
    requestSecondsAtOne: server.requestSecondsAtOne,
    requestSecondsAtLimit: roundMilliseconds(server.requestSecondsAtLimit),
  };
}
