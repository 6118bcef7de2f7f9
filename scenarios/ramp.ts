/** Ramps every server at once from one request in flight to its limit, by the plan, and prints the curve. */
import { newRunId, readEnvironment, readPlan } from '../lib/environment.ts';
import { judge } from '../lib/judge.ts';
import { rampOptions } from '../lib/options.ts';
import { rampLoop, setUpRamp } from '../lib/run.ts';
import { type RunContext, summarise } from '../lib/summary.ts';
import { lastLine, renderRun } from '../lib/text.ts';
import { TOOL } from '../lib/version.ts';

const environment = readEnvironment();
const plan = readPlan(environment);

export const options = rampOptions(plan, environment.settings, newRunId('ramp'));

export function setup(): Promise<RunContext> {
  return setUpRamp(environment, plan);
}

export default rampLoop(environment, plan);

export function handleSummary(data: { readonly setup_data?: RunContext }): Record<string, string> {
  const context = data.setup_data;
  if (context === undefined)
    return { stderr: 'tokramp: the run ended before setup() did; there is nothing to report\n' };
  const now = Date.now();
  const run = judge(summarise({ data, context, plan, runName: environment.settings.runName, tool: TOOL, now }));
  const path = `${environment.resultsFolder}/${run.runId}.json`;
  return { stdout: renderRun(run) + lastLine(run, path), [path]: `${JSON.stringify(run, null, 1)}\n` };
}
