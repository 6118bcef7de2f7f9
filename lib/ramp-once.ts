import { type Environment, newRunId, readEnvironment, readPlan, readPromptFile } from './environment.ts';
import { judge } from './judge.ts';
import type { PromptSettings } from './k6.ts';
import { rampOptions } from './options.ts';
import { measuredLevels, type Plan, scheduleOf } from './plan.ts';
import type { PromptSource } from './prompts.ts';
import type { RampVu } from './ramp-loop.ts';
import { setUpRamp } from './run.ts';
import type { Settings } from './settings.ts';
import { contextOf, type SetupData, setupDataOf } from './setup-data.ts';
import { summarise } from './summary.ts';
import { lastLine, renderRun } from './text.ts';
import { TOOL } from './version.ts';
import { workloadOf } from './workload.ts';

/** What a ramp's script was given. */
export interface RampEnvironment extends Environment {
  readonly plan: Plan;
}

/** What k6 hands to handleSummary; the summary checks the metrics itself. */
export interface SummaryData {
  readonly setup_data?: SetupData;
  readonly metrics?: unknown;
}

/**
 * What a ramp does once and not in every VU. The build turns each "-once" module into a function that is evaluated when it is
 * first called: k6 evaluates the top level of a script in every VU, and all of this would cost 0.4 MB in each.
 */
export function rampOnce() {
  return { readEnvironment, promptSettingsOf, readPromptFile, readPlan, vuOf, options, setup, handleSummary };
}

const promptSettingsOf = ({ api, inputTokens, prompts }: Settings): PromptSettings => ({ api, inputTokens, prompts });

/** The little of it that every VU holds. */
function vuOf({ settings, plan }: RampEnvironment): RampVu {
  const { api, model, apiKey, headers, maxTokens, stop, cacheIsolation } = settings;
  const ask = { api, model, apiKey, headers, maxTokens, stop, cacheIsolation };
  return { ask, timeoutSeconds: plan.timeoutSeconds, levels: measuredLevels(scheduleOf(plan)) };
}

function options({ plan, settings }: RampEnvironment): object {
  return rampOptions(plan, settings, newRunId('ramp', settings));
}

async function setup(ramp: RampEnvironment, prompts: PromptSource): Promise<SetupData> {
  return setupDataOf(await setUpRamp(ramp, { prompts, workload: workloadOf(ramp.settings, prompts.describe) }));
}

const NO_METRICS =
  'tokramp: k6 gave the summary no metrics, the result is lost: run without --new-machine-readable-summary\n';

function handleSummary(ramp: RampEnvironment, data: SummaryData): Record<string, string> {
  if (data.metrics === undefined) return { stderr: NO_METRICS };
  if (data.setup_data === undefined) return { stderr: 'tokramp: nothing was measured, so there is no result\n' };
  const { plan, settings } = ramp;
  const context = contextOf(data.setup_data);
  const run = judge(summarise({ data, context, plan, runName: settings.runName, tool: TOOL, now: Date.now() }));
  const path = `${ramp.resultsFolder}/${run.runId}.json`;
  return { stdout: renderRun(run) + lastLine(run, path), [path]: `${JSON.stringify(run, null, 1)}\n` };
}
