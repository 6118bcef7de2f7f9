/** One request per server, every answer checked: the gate before anything longer. */
import { newRunId, readEnvironment } from '../lib/environment.ts';
import { probeOptions } from '../lib/options.ts';
import { doorsOf, orAbort, runIdOf } from '../lib/run.ts';
import { renderSmoke, type SmokeLine, smokeFleet } from '../lib/smoke.ts';

const environment = readEnvironment();

export const options = probeOptions('smoke', environment.settings, newRunId('smoke'));

export async function setup(): Promise<{ readonly lines: readonly SmokeLine[] }> {
  return orAbort(await smokeFleet(environment.settings, doorsOf(environment, runIdOf())));
}

export default function smoke(): void {}

export function handleSummary(data: {
  readonly setup_data?: { readonly lines: readonly SmokeLine[] };
}): Record<string, string> {
  if (data.setup_data === undefined) return { stderr: 'tokramp: the fleet is not fit for a run\n' };
  return { stdout: renderSmoke(data.setup_data.lines) };
}
