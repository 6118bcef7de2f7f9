/** Ramps every server at once from one request in flight to its limit, by the plan, and prints the curve. */
import { shared, sharedList, sharedPrompts } from '../lib/k6.ts';
import { rampLoop } from '../lib/ramp-loop.ts';
import { rampOnce, type SummaryData } from '../lib/ramp-once.ts';
import type { SetupData } from '../lib/setup-data.ts';

// Each of these is worked out in the first init; what a VU does not look at takes no memory in it.
const environment = shared('environment', () => rampOnce().readEnvironment());
const promptSettings = shared('prompt settings', () => rampOnce().promptSettingsOf(environment().settings));
const prompts = sharedPrompts(promptSettings(), () => rampOnce().readPromptFile(environment().settings));
const plan = shared('plan', () => rampOnce().readPlan(environment(), prompts));
const ramp = () => ({ ...environment(), plan: plan() });
const vu = shared('vu', () => rampOnce().vuOf(ramp()));
const servers = sharedList('servers', () => environment().settings.servers);

// k6 takes the options of the first init; in every VU they would cost 0.4 MB.
export const options = __VU === 0 ? rampOnce().options(ramp()) : {};

export const setup = (): Promise<SetupData> => rampOnce().setup(ramp(), prompts);

export default rampLoop(vu(), servers, prompts);

export const handleSummary = (data: SummaryData): Record<string, string> => rampOnce().handleSummary(ramp(), data);
