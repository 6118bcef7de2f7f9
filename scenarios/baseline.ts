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

// A text, since k6 would hand an object on with its keys in any order.
export async function setup(): Promise<string> {
  const runId = runIdOf();
  const measured = await measureBaseline({ settings, runId, report: say }, doorsOf(settings, prompts, runId));
  return JSON.stringify(orAbort(measured));
}

export default function baseline(): void {}

export function handleSummary(data: { readonly setup_data?: string }): Record<string, string> {
  if (data.setup_data === undefined) return { stderr: 'tokramp: nothing was measured\n' };
  const measured: Baseline = JSON.parse(data.setup_data);
  const path = `${environment.resultsFolder}/${measured.runId}.json`;
  return { stdout: `${renderBaseline(measured)}written: ${path}\n`, [path]: `${JSON.stringify(measured, null, 1)}\n` };
}
