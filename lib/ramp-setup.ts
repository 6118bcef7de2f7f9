import { isSimulated, limitOf, subjectDifferences } from './capacity.ts';
import { NOT_MEASURED } from './discovery.ts';
import {
  type Doors,
  examineFleet,
  faultOr,
  type ReadyServer,
  readyWords,
  type UnfitServer,
  valuesOrFaults,
} from './fleet.ts';
import { printable } from './format.ts';
import type { Plan, PlannedServer } from './plan.ts';
import type { ServerRecord } from './result.ts';
import { type ServerSpec, type Settings, safeUrl } from './settings.ts';
import { answered, type Send, WarmUpError, warmRounds, warmSingles } from './warm-up.ts';

/** A fresh R may exceed the plan's by this much before the plan's windows are too short for the fleet. */
const R_TOLERANCE = 1.2;

export interface Prepared {
  readonly servers: readonly ServerRecord[];
  readonly simulated: boolean;
  readonly notes: readonly string[];
}

/** Checks and warms every planned server at once; returns the fleet as it stands, or every fault of every server. */
export async function prepareRamp(
  about: { readonly plan: Plan; readonly settings: Settings },
  doors: Doors,
): Promise<Prepared | { readonly faults: readonly string[] }> {
  const { plan, settings } = about;
  const fleet = await examineFleet(settings, doors);
  if ('faults' in fleet) return fleet;
  const other = fleet.ready.flatMap((entry) => otherSubject(entry, plan));
  if (other.length > 0) return { faults: other };
  const changed = fleet.ready.flatMap((entry) => limitFault(entry, about));
  if (changed.length > 0) return { faults: changed };

  doors.report(`${readyWords(fleet)}: warming them up`);
  const warmed = await valuesOrFaults(
    fleet.ready.map((entry) => {
      const send = doors.send(entry.server, entry.capacity.subject.servedModel);
      return faultOr(entry.server.name, () => warmServer(entry, about, send));
    }),
  );
  if ('faults' in warmed) return warmed;
  return {
    servers: [...warmed.values, ...fleet.missing.map(absentRecord)].sort(byPlan(plan)),
    simulated: fleet.ready.some((entry) => isSimulated(entry.capacity.subject)),
    notes: fleet.notes,
  };
}

/** What answers must be what the plan was measured on: its R and its limit belong to that model and those arguments. */
function otherSubject({ server, capacity }: ReadyServer, plan: Plan): readonly string[] {
  const differences = plan.subject === null ? [] : subjectDifferences(plan.subject, capacity.subject);
  if (differences.length === 0) return [];
  return [
    `${server.name} is not what the plan was measured on (plan / now): ${differences.map(printable).join('; ')}; ${RENEW}`,
  ];
}

const RENEW = 'renew the plan with: npm run discover';
const plannedOf = (plan: Plan, name: string): PlannedServer | undefined =>
  plan.servers.find((server) => server.name === name);

/**
 * The limit as it is now must be the planned one; where the user gave the limit there is nothing to compare, and a server that
 * discover has not seen must hold at least what the ladder tops at.
 */
function limitFault(
  entry: ReadyServer,
  about: { readonly plan: Plan; readonly settings: Settings },
): readonly string[] {
  const { plan, settings } = about;
  const planned = plannedOf(plan, entry.server.name);
  if (planned === undefined || planned.pool === 'given' || plan.pool === 'given' || plan.promptTokens === null)
    return [];
  const now = limitOf(entry.capacity, { promptTokens: plan.promptTokens, outputTokens: settings.maxTokens });
  if ('problem' in now) return [`${entry.server.name}: ${now.problem}`];
  const isUnseen = planned.pool === NOT_MEASURED;
  if (now.requests === planned.limit || (isUnseen && now.requests > planned.limit)) return [];
  const change = `limit ${now.requests} (${now.pool}) now, ${planned.limit} (${planned.pool}) in the plan`;
  return [`${entry.server.name} has another limit: ${change}; ${RENEW}`];
}

/** Warms one server and measures R at level 1 again; throws a WarmUpError where the run must not start. */
async function warmServer(
  entry: ReadyServer,
  about: { readonly plan: Plan; readonly settings: Settings },
  send: Send,
): Promise<ServerRecord> {
  const { plan, settings } = about;
  const planned = plannedOf(plan, entry.server.name);
  const limit = planned?.limit ?? plan.limit;
  const singles = await warmSingles(send, settings);
  const rounds = await warmRounds(send, { ...settings, limit });
  const one = answered(await send({ maxTokens: settings.maxTokens, timeoutSeconds: plan.timeoutSeconds }));
  const plannedSeconds = planned?.requestSecondsAtOne ?? null;
  // With natural stop a single answer's length says nothing about the speed.
  if (plannedSeconds !== null && settings.stop === 'fixed' && one.seconds > R_TOLERANCE * plannedSeconds) {
    const change = `R at level 1 is ${one.seconds.toFixed(2)} s, ${plannedSeconds.toFixed(2)} s in the plan`;
    throw new WarmUpError(`slower than planned: ${change} (more than 20 % above); ${RENEW}`);
  }
  return {
    ...identity(entry.server),
    absent: null,
    limit,
    pool: planned?.pool ?? null,
    subject: { ...entry.capacity.subject },
    warmUp: {
      requests: singles.answers.length + rounds.requests + 1,
      roundSeconds: [...rounds.roundSeconds],
      agreed: rounds.agreed,
      requestSecondsAtOne: one.seconds,
    },
  };
}

const identity = (server: ServerSpec) => ({ name: server.name, url: safeUrl(server.url), gpus: server.gpus });

function absentRecord(entry: UnfitServer): ServerRecord {
  return { ...identity(entry.server), absent: entry.fault, limit: null, pool: null, subject: null, warmUp: null };
}

function byPlan(plan: Plan): (a: ServerRecord, b: ServerRecord) => number {
  const order = plan.servers.map((server) => server.name);
  return (a, b) => order.indexOf(a.name) - order.indexOf(b.name);
}
