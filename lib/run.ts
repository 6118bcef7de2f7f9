import { sleep } from 'k6';
import exec from 'k6/execution';
import { setTimeout } from 'k6/timers';
import { levelOf } from './attribution.ts';
import { backOffSeconds } from './back-off.ts';
import type { Environment } from './environment.ts';
import { metrics } from './metrics.ts';
import { planFaults, rampScenarios, SERVER_VARIABLE } from './options.ts';
import { measuredLevels, type Plan, type Schedule, scheduleOf } from './plan.ts';
import { type Door, proxyVariables, scenariosFault } from './preflight.ts';
import { levelLine } from './progress.ts';
import { type Ask, outcomeOf, requestOf } from './protocol.ts';
import { prepareRamp } from './ramp-setup.ts';
import { recordRequest, recordWarmUp } from './record.ts';
import { type Endpoint, getAsync, post, postAsync } from './request.ts';
import type { ServerRecord } from './result.ts';
import type { ServerSpec } from './settings.ts';
import type { RunContext } from './summary.ts';
import type { Send } from './warm-up.ts';
import { workloadDifferences } from './workload.ts';

/** A route that only tells something must answer within this (seconds); /health alone takes 1 s and up to 20 s. */
const LOOK_TIMEOUT_SECONDS = 30;

/** Checks and warms the fleet in setup(); every fault is a line of its own, then the run stops (exit 108). */
export async function setUpRamp(environment: Environment, plan: Plan): Promise<RunContext> {
  const { settings } = environment;
  const runId = runIdOf();
  const startedAt = new Date().toISOString();
  const replaced = scenariosFault(rampScenarios(plan), exec.test.options.scenarios ?? {});
  const early = [
    ...(replaced === null ? [] : [replaced]),
    ...planFaults(plan, settings, (planned) => workloadDifferences(planned, environment.workload())),
  ];
  if (early.length > 0) abort(early);
  for (const name of proxyVariables(__ENV))
    console.warn(`${name} is set: requests to servers beyond this machine go through that proxy`);
  const prepared = orAbort(await prepareRamp({ plan, settings }, doorsOf(environment, runId)));
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

/** Prints each fault and ends the test with k6's exit code 108; never returns. */
export function abort(faults: readonly string[]): never {
  for (const fault of faults) console.error(fault);
  exec.test.abort(
    `tokramp: ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'} before the start, nothing was measured`,
  );
  throw new Error('unreachable: exec.test.abort throws');
}

/** The run id that init put into the tags; a user's --tag replaces the whole map, then it is their testid or none. */
export function runIdOf(): string {
  const id = exec.test.options.tags?.['testid'];
  if (id === undefined)
    return abort(['the tag testid is missing: give --tag testid=NAME beside your own --tag options']);
  return /^[A-Za-z0-9._-]{1,100}$/.test(id)
    ? id
    : abort([`the tag testid is "${id}": it names files, so use only letters, digits, ".", "_" and "-"`]);
}

/** How setup() looks at servers and sends to them; every request of it is counted as warm-up. */
export function doorsOf(environment: Environment, runId: string) {
  const sent = new Map<string, number>();
  const door = (server: ServerSpec): Door => ({
    get: (path) => getAsync(endpointOf(server, environment), path, LOOK_TIMEOUT_SECONDS),
    sleep: (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000)),
    now: () => Date.now(),
    report: (line) => console.info(line),
  });
  const send = (server: ServerSpec, servedModel: string | null): Send => {
    return async ({ maxTokens, timeoutSeconds }) => {
      const index = sent.get(server.name) ?? 0;
      sent.set(server.name, index + 1);
      const nonce = `${runId}-warm-up`;
      const ask = askFor(environment, { server: server.name, index, nonce, servedModel, maxTokens });
      metrics.requestsStarted.add(1, { server: server.name });
      const exchange = await postAsync(endpointOf(server, environment), requestOf(ask), timeoutSeconds);
      const outcome = outcomeOf(ask, exchange.reply);
      recordWarmUp(server.name, outcome, exchange);
      return { outcome, seconds: (exchange.endedAt - exchange.startedAt) / 1000 };
    };
  };
  return { door, send };
}

function endpointOf(server: ServerSpec, { settings }: Environment): Endpoint {
  const key = settings.apiKey === null ? {} : { Authorization: `Bearer ${settings.apiKey}` };
  return { url: server.url, headers: { 'Content-Type': 'application/json', ...key, ...settings.headers } };
}

interface AskOf {
  readonly server: string;
  readonly index: number;
  readonly nonce: string;
  readonly servedModel: string | null;
  readonly maxTokens: number;
}

function askFor({ settings, prompts }: Environment, of: AskOf): Ask {
  return {
    api: settings.api,
    model: settings.model ?? of.servedModel,
    prompt: prompts.promptAt({ server: of.server, index: of.index, nonce: of.nonce }),
    maxTokens: of.maxTokens,
    stop: settings.stop,
    cacheKey: settings.cacheIsolation ? `${of.nonce}-${of.server}-${of.index}` : null,
  };
}

/** One VU of a ramp: it holds one request in flight on its scenario's server, again and again. */
export function rampLoop(environment: Environment, plan: Plan): (context: RunContext) => void {
  const schedule = scheduleOf(plan);
  const levels = measuredLevels(schedule);
  const reportLevel = levelReporter(schedule);
  let failuresInARow = 0;
  let known = false;
  return (context) => {
    const { server, record } = placeOf(environment, context);
    const { name } = server;
    const origin = exec.scenario.startTime;
    if (!known) metrics.scenarioStart.add(origin, { server: name });
    known = true;
    if (record.absent !== null) {
      sleep(1);
      return;
    }
    reportLevel(levelOf((Date.now() - origin) / 1000, levels).tag, context);

    const ask = askFor(environment, {
      server: name,
      index: exec.scenario.iterationInTest,
      nonce: context.runId,
      servedModel: servedModelOf(record),
      maxTokens: environment.settings.maxTokens,
    });
    metrics.requestsStarted.add(1, { server: name });
    const exchange = post(endpointOf(server, environment), requestOf(ask), plan.timeoutSeconds);
    const outcome = outcomeOf(ask, exchange.reply);
    recordRequest(name, outcome, exchange, { origin, levels });
    failuresInARow = 'tokens' in outcome ? 0 : failuresInARow + 1;
    if (failuresInARow === 1 && 'reason' in outcome) console.warn(`${name}: ${outcome.state}, ${outcome.reason}`);
    if (failuresInARow > 0) sleep(backOffSeconds(failuresInARow));
  };
}

/** The server of this VU's scenario, in the settings and as setup() found it. */
function placeOf(
  environment: Environment,
  context: RunContext | undefined,
): { readonly server: ServerSpec; readonly record: ServerRecord } {
  const name = __ENV[SERVER_VARIABLE] ?? '';
  const server = environment.settings.servers.find((entry) => entry.name === name);
  const record = context?.servers.find((entry) => entry.name === name);
  if (server !== undefined && record !== undefined) return { server, record };
  return abort([`setup() told nothing about server "${name}": run without --no-setup`]);
}

function servedModelOf(record: ServerRecord): string | null {
  const model = record.subject?.['servedModel'];
  return typeof model === 'string' ? model : null;
}

/** Says when a level begins, from the one VU that sent the fleet's first request. */
function levelReporter(schedule: Schedule): (tag: string, context: RunContext) => void {
  let speaks: boolean | null = null;
  let last = '';
  return (tag, context) => {
    const present = context.servers.filter((entry) => entry.absent === null);
    speaks ??= exec.scenario.iterationInTest === 0 && present[0]?.name === __ENV[SERVER_VARIABLE];
    if (!speaks || tag === last) return;
    last = tag;
    const level = measuredLevels(schedule).find((entry) => entry.tag === tag);
    if (level !== undefined) console.info(levelLine(level, schedule, present.length));
  };
}
