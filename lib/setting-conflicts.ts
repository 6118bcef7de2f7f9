/** The rules between settings that are each valid alone. */
import type { SettingSpec, SettingTable } from './setting-table.ts';
import type { Settings } from './settings.ts';

/** Settings that cannot hold together, and why. */
export interface Conflict {
  readonly between: readonly SettingSpec[];
  readonly fault: string;
}

/** Every rule between settings that these break. */
export function conflictsOf(settings: Settings, table: SettingTable): readonly Conflict[] {
  return [...ladderConflicts(settings, table), ...inputConflicts(settings, table), ...fleetConflicts(settings, table)];
}

function ladderConflicts(
  { levels, limit, overLimit, requestSeconds }: Settings,
  table: SettingTable,
): readonly Conflict[] {
  const conflicts: Conflict[] = [];
  const top = levels?.at(-1) ?? 0;
  // With overLimit on, levels given explicitly win: those over the limit are measured and marked.
  if (limit !== null && top > limit && !overLimit) {
    const remedy = `end the levels at ${limit}, raise the limit or turn overLimit on`;
    const fault = `level ${top} is over the limit ${limit}, and levels over it are off; ${remedy}`;
    conflicts.push({ between: [table.levels, table.limit, table.overLimit], fault });
  }
  const durations = requestSeconds?.length ?? 1;
  if (durations !== 1 && durations !== levels?.length) {
    const count = levels === null ? 'levels that are not given' : `${levels.length} levels`;
    const fault = `${durations} durations for ${count}; give one for all levels or one for each`;
    conflicts.push({ between: [table.requestSeconds, table.levels], fault });
  }
  return conflicts;
}

function inputConflicts({ inputTokens, prompts }: Settings, table: SettingTable): readonly Conflict[] {
  if (inputTokens === null || prompts === null) return [];
  const fault = 'the prompts of a file have lengths of their own; give one of the two';
  return [{ between: [table.inputTokens, table.prompts], fault }];
}

function fleetConflicts({ servers, minServers, apiKey, headers }: Settings, table: SettingTable): readonly Conflict[] {
  const conflicts: Conflict[] = [];
  if (minServers !== null && minServers > servers.length) {
    const fault = `at least ${minServers} of ${servers.length} servers cannot be; the most is ${servers.length}`;
    conflicts.push({ between: [table.minServers, table.servers], fault });
  }
  const authorizing: readonly SettingSpec[] = [
    ...(apiKey === null ? [] : [table.apiKey]),
    ...(Object.keys(headers).some((name) => name.toLowerCase() === 'authorization') ? [table.headers] : []),
    ...(servers.some((server) => server.url.includes('@')) ? [table.servers] : []),
  ];
  if (authorizing.length > 1) {
    const fault = 'each makes the Authorization header, of which a request has one; give one of them';
    conflicts.push({ between: authorizing, fault });
  }
  return conflicts;
}
