import { type Door, type Examined, examine, unlikeFaults } from './preflight.ts';
import type { ServerSpec, Settings } from './settings.ts';
import type { Send } from './warm-up.ts';

/** What setup() needs of each server: looking at it and sending to it. */
export interface Doors {
  readonly door: (server: ServerSpec) => Door;
  readonly send: (server: ServerSpec, servedModel: string | null) => Send;
  /** Takes each line of progress. */
  readonly report: (line: string) => void;
}

export type ReadyServer = Extract<Examined, { state: 'ready' }>;
export type UnfitServer = Extract<Examined, { state: 'unfit' }>;

export interface Fleet {
  readonly ready: readonly ReadyServer[];
  /** Servers that the run goes on without, because the settings allow it. */
  readonly missing: readonly UnfitServer[];
  readonly notes: readonly string[];
}

/** Looks at every server at once; the fleet, or one line for each fault of each server. */
export async function examineFleet(
  settings: Settings,
  doors: Doors,
): Promise<Fleet | { readonly faults: readonly string[] }> {
  const examined = await Promise.all(
    settings.servers.map((server) => examine(server, doors.door(server), settings.waitSeconds)),
  );
  const ready = examined.filter((entry) => entry.state === 'ready');
  const missing = examined.filter((entry) => entry.state === 'unfit');
  const lines = missing.map((entry) => `${entry.server.name} ${entry.fault}`);
  const enough = missing.length === 0 || (settings.minServers !== null && ready.length >= settings.minServers);
  const subjects = ready.map((entry) => ({ name: entry.server.name, subject: entry.capacity.subject }));
  const faults = [...(enough ? [] : lines), ...unlikeFaults(subjects)];
  if (faults.length > 0) return { faults };
  const notes = ready.flatMap(({ server, capacity }) => {
    const { running, queued } = capacity;
    const untold =
      running === null && queued === null ? ['does not tell its load: whether it is idle is not known'] : [];
    return [...capacity.notes, ...untold].map((note) => `${server.name}: ${note}`);
  });
  return { ready, missing, notes: [...lines.map((line) => `goes on without ${line}`), ...notes] };
}

/** Errors that tell a user what is wrong with a server; anything else is a fault of this tool and is thrown on. */
const SPOKEN = ['WarmUpError', 'PlanError'];

/** The value of a task on one server, or its fault as one line with the server's name. */
export async function faultOr<Value>(
  server: string,
  task: () => Promise<Value>,
): Promise<{ readonly value: Value } | { readonly fault: string }> {
  try {
    return { value: await task() };
  } catch (error) {
    if (error instanceof Error && SPOKEN.includes(error.name)) return { fault: `${server}: ${error.message}` };
    throw error;
  }
}

/** What was done on every server, or every fault. */
export type Values<Value> = { readonly values: readonly Value[] } | { readonly faults: readonly string[] };

/** Waits for what was begun on every server at once. */
export async function valuesOrFaults<Value>(
  tasks: readonly Promise<{ readonly value: Value } | { readonly fault: string }>[],
): Promise<Values<Value>> {
  const done = await Promise.all(tasks);
  const faults = done.flatMap((entry) => ('fault' in entry ? [entry.fault] : []));
  return faults.length > 0 ? { faults } : { values: done.flatMap((entry) => ('value' in entry ? [entry.value] : [])) };
}

/** How many servers a progress line speaks of. */
export const readyWords = ({ ready }: Fleet): string =>
  ready.length === 1 ? '1 server is ready and idle' : `${ready.length} servers are ready and idle`;
