/** Asks and measures: warms every server, finds its limit and R, and writes the plan that a ramp follows. */
import { discoverFleet } from '../lib/discovery.ts';
import { newRunId, readEnvironment, readPromptFile } from '../lib/environment.ts';
import { shared, sharedPrompts } from '../lib/k6.ts';
import { probeOptions } from '../lib/options.ts';
import type { Plan } from '../lib/plan.ts';
import { renderPlan } from '../lib/plan-text.ts';
import { doorsOf, orAbort, runIdOf } from '../lib/run.ts';
import { workloadOf } from '../lib/workload.ts';

const environment = shared('environment', readEnvironment)();
const { settings } = environment;
const prompts = sharedPrompts(settings, () => readPromptFile(settings));

export const options = probeOptions('discover', settings, newRunId('discover', settings));

// A text, since k6 would hand an object on with its keys in any order: the same plan must be the same file.
export async function setup(): Promise<string> {
  const about = { settings, workload: workloadOf(settings, prompts.describe), createdAt: new Date().toISOString() };
  return JSON.stringify(orAbort(await discoverFleet(about, doorsOf(settings, prompts, runIdOf()))).plan);
}

export default function discover(): void {}

export function handleSummary(data: { readonly setup_data?: string }): Record<string, string> {
  if (data.setup_data === undefined) return { stderr: 'tokramp: nothing was measured, no plan was written\n' };
  const plan: Plan = JSON.parse(data.setup_data);
  const written = `written: ${environment.planPath}\n`;
  return {
    stdout: renderPlan(plan, settings.servers) + written,
    [environment.planPath]: `${JSON.stringify(plan, null, 1)}\n`,
  };
}
