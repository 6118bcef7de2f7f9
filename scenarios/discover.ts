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

export async function setup(): Promise<{ readonly plan: Plan }> {
  const createdAt = new Date().toISOString();
  return orAbort(
    await discoverFleet(
      { settings, workload: workloadOf(settings, prompts.describe), createdAt },
      doorsOf(settings, prompts, runIdOf()),
    ),
  );
}

export default function discover(): void {}

export function handleSummary(data: { readonly setup_data?: { readonly plan: Plan } }): Record<string, string> {
  if (data.setup_data === undefined) return { stderr: 'tokramp: nothing was measured, no plan was written\n' };
  const { plan } = data.setup_data;
  const written = `written: ${environment.planPath}\n`;
  return {
    stdout: renderPlan(plan, settings.servers) + written,
    [environment.planPath]: `${JSON.stringify(plan, null, 1)}\n`,
  };
}
