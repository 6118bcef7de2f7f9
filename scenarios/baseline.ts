/** The classic batch-1 number: one request per server, first and warm, each server's and the fleet's. */
import { type Baseline, measureBaseline } from '../lib/baseline.ts';
import { renderBaseline } from '../lib/baseline-text.ts';
import { newRunId, readEnvironment, readPromptFile } from '../lib/environment.ts';
import { shared, sharedPrompts } from '../lib/k6.ts';
import { probeOptions } from '../lib/options.ts';
import { doorsOf, orAbort, runIdOf, say } from '../lib/run.ts';

const environment = shared('environment', readEnvironment)();
const { settings } = environment;
const prompts = sharedPrompts(settings, () => readPromptFile(settings));

export const options = probeOptions('baseline', settings, newRunId('baseline', settings));

export async function setup(): Promise<Baseline> {
  const runId = runIdOf();
  return orAbort(await measureBaseline({ settings, runId, report: say }, doorsOf(settings, prompts, runId)));
}

export default function baseline(): void {}

export function handleSummary(data: { readonly setup_data?: Baseline }): Record<string, string> {
  const measured = data.setup_data;
  if (measured === undefined) return { stderr: 'tokramp: nothing was measured\n' };
  const path = `${environment.resultsFolder}/${measured.runId}.json`;
  return { stdout: `${renderBaseline(measured)}written: ${path}\n`, [path]: `${JSON.stringify(measured, null, 1)}\n` };
}
