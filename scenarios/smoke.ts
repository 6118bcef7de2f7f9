/** One request per server, every answer checked: the gate before anything longer. */
import { newRunId, readEnvironment, readPromptFile } from '../lib/environment.ts';
import { shared, sharedPrompts } from '../lib/k6.ts';
import { probeOptions } from '../lib/options.ts';
import { doorsOf, orAbort, runIdOf } from '../lib/run.ts';
import { renderSmoke, type SmokeReport, smokeFleet } from '../lib/smoke.ts';

const { settings } = shared('environment', readEnvironment)();
const prompts = sharedPrompts(settings, () => readPromptFile(settings));

export const options = probeOptions('smoke', settings, newRunId('smoke', settings));

export async function setup(): Promise<SmokeReport> {
  return orAbort(await smokeFleet(settings, doorsOf(settings, prompts, runIdOf())));
}

export default function smoke(): void {}

export function handleSummary(data: { readonly setup_data?: SmokeReport }): Record<string, string> {
  if (data.setup_data === undefined) return { stderr: 'tokramp: the fleet is not fit for a run\n' };
  return { stdout: renderSmoke(data.setup_data) };
}
