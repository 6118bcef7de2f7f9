import { askFor, endpointOf, withoutSecrets } from './ask.ts';
import type { Doors } from './fleet.ts';
import { abort, pause, resolvedOptions } from './k6.ts';
import { metrics } from './metrics.ts';
import { planFaults, rampScenarios } from './options.ts';
import type { Plan } from './plan.ts';
import type { Door } from './preflight.ts';
import { proxyVariables, scenariosFault, summaryFaults } from './preflight.ts';
import type { PromptSource } from './prompts.ts';
import { outcomeOf, requestOf } from './protocol.ts';
import { prepareRamp } from './ramp-setup.ts';
import { recordWarmUp } from './record.ts';
import { getAsync, postAsync } from './request.ts';
import type { ServerSpec, Settings } from './settings.ts';
import type { RunContext } from './summary.ts';
import type { Send } from './warm-up.ts';
import { type Workload, workloadDifferences } from './workload.ts';

/** A route that only tells something must answer within this (seconds); /health alone takes 1 s and up to 20 s. */
const LOOK_TIMEOUT_SECONDS = 30;

/** Checks and warms the fleet in setup(); every fault is a line of its own, then the run stops (exit 108). */
export async function setUpRamp(
  { settings, plan }: { readonly settings: Settings; readonly plan: Plan },
  about: { readonly prompts: PromptSource; readonly workload: Workload },
): Promise<RunContext> {
  const runId = runIdOf();
  const startedAt = new Date().toISOString();
  const replaced = scenariosFault(rampScenarios(plan), resolvedOptions().scenarios ?? {});
  const early = [
    ...(replaced === null ? [] : [replaced]),
    ...summaryFaults(__ENV, resolvedOptions()),
    ...planFaults(plan, settings, (planned) => workloadDifferences(planned, about.workload)),
  ];
  if (early.length > 0) abort(early);
  for (const name of proxyVariables(__ENV))
    console.warn(`${name} is set: requests to servers beyond this machine go through that proxy`);
  const prepared = orAbort(await prepareRamp({ plan, settings }, doorsOf(settings, about.prompts, runId)));
  return { runId, startedAt, servers: prepared.servers, simulated: prepared.simulated };
}

/** The outcome of a task in setup(), its notes printed; or the end of the test with every fault on a line. */
export function orAbort<Done extends object>(done: Done | { readonly faults: readonly string[] }): Done {
  if ('faults' in done) return abort(done.faults);
  if ('notes' in done && Array.isArray(done.notes)) for (const note of done.notes) console.warn(String(note));
  return done;
}

/** A line of progress. */
export const say = (line: string): void => console.info(line);

/** The run id that init put into the tags; a user's --tag replaces the whole map, then it is their testid or none. */
export function runIdOf(): string {
  const id = resolvedOptions().tags?.['testid'];
  if (id === undefined)
    return abort(['the tag testid is missing: give --tag testid=NAME beside your own --tag options']);
  return /^[A-Za-z0-9._-]{1,100}$/.test(id)
    ? id
    : abort([`the tag testid is "${id}": it names files, so use only letters, digits, ".", "_" and "-"`]);
}

/** How setup() looks at servers and sends to them; every request of it is counted as warm-up. */
export function doorsOf(settings: Settings, prompts: PromptSource, runId: string): Doors {
  const sent = new Map<string, number>();
  const door = (server: ServerSpec): Door => ({
    get: (path) => getAsync(endpointOf(server, settings), path, LOOK_TIMEOUT_SECONDS),
    sleep: pause,
    now: () => Date.now(),
    report: (line) => console.info(line),
  });
  const send = (server: ServerSpec, servedModel: string | null): Send => {
    return async ({ maxTokens, timeoutSeconds }) => {
      // Backwards from -1: a prompt file's first ones must not be in the prefix cache when the ramp sends them.
      const index = (sent.get(server.name) ?? 0) - 1;
      sent.set(server.name, index);
      const nonce = `${runId}-warm-up`;
      const ask = askFor(settings, prompts, { server: server.name, index, nonce, servedModel, maxTokens });
      metrics.requestsStarted.add(1, { server: server.name });
      const exchange = await postAsync(endpointOf(server, settings), requestOf(ask), timeoutSeconds);
      const outcome = outcomeOf(ask, withoutSecrets(exchange.reply, settings));
      recordWarmUp(server.name, outcome, exchange);
      return { outcome, seconds: (exchange.endedAt - exchange.startedAt) / 1000 };
    };
  };
  return { door, send, report: say };
}
