import { type Capacity, capacityOf, type ServerReplies, type Subject, subjectDifferences } from './capacity.ts';
import { printable } from './format.ts';
import type { Reply } from './protocol.ts';
import { oneLine } from './protocol-json.ts';
import { type ServerSpec, safeUrl } from './servers.ts';

/** What a check of a server needs of the outside: a document, the clock and patience (seconds). */
export interface Door {
  get(path: string): Promise<Reply>;
  sleep(seconds: number): Promise<void>;
  now(): number;
  report(line: string): void;
}

/** A server that is ready and idle, with what it says of itself; or why it is not. */
export type Examined =
  | { readonly state: 'ready'; readonly server: ServerSpec; readonly capacity: Capacity }
  | { readonly state: 'unfit'; readonly server: ServerSpec; readonly fault: string };

/** A snapshot of the load may still hold the health probe: a server counts as busy only after this many looks. */
const LOOKS_BEFORE_BUSY = 4;
const LOOK_SECONDS = 1;
const REPORT_SECONDS = 10;

/** Asks one server whether it is ready, idle and what it can hold; waits up to `waitSeconds` for it to become so. */
export async function examine(server: ServerSpec, door: Door, waitSeconds: number): Promise<Examined> {
  const started = door.now();
  let reported = started;
  for (let look = 1; ; look += 1) {
    const seen = await lookAt(server, door);
    if (seen.state === 'ready') return seen;
    const waited = (door.now() - started) / 1000;
    const patience = seen.busy && look < LOOKS_BEFORE_BUSY;
    if (!patience && waited >= waitSeconds) return { state: 'unfit', server, fault: seen.fault };
    if (door.now() - reported >= REPORT_SECONDS * 1000) {
      door.report(`waiting for ${server.name}: ${seen.fault} (${Math.round(waited)} of ${waitSeconds} s)`);
      reported = door.now();
    }
    await door.sleep(LOOK_SECONDS);
  }
}

type Look =
  | Extract<Examined, { state: 'ready' }>
  | { readonly state: 'unfit'; readonly fault: string; readonly busy: boolean };

async function lookAt(server: ServerSpec, door: Door): Promise<Look> {
  const unfit = (fault: string): Look => ({ state: 'unfit', fault: `${safeUrl(server.url)} ${fault}`, busy: false });
  const health = await door.get('/health');
  const sick = faultOf(health, '/health');
  if (sick !== null) return unfit(sick);
  const asked = await askCapacity(door.get);
  if ('fault' in asked) return unfit(asked.fault);
  const capacity = capacityOf(asked.replies);
  const running = capacity.running ?? 0;
  const queued = capacity.queued ?? 0;
  if (running + queued > 0) {
    const fault = `is busy: ${running} requests running, ${queued} queued; it must be idle`;
    return { state: 'unfit', fault: `${safeUrl(server.url)} ${fault}`, busy: true };
  }
  return { state: 'ready', server, capacity };
}

/** What a server says of itself, by the routes that it has; or the fault of one that fails. */
export async function askCapacity(
  get: Door['get'],
): Promise<{ readonly replies: ServerReplies } | { readonly fault: string }> {
  const info = await firstOf(get, ['/server_info', '/get_server_info']);
  if ('fault' in info) return info;
  const loads = await firstOf(get, ['/v1/loads', '/get_load']);
  if ('fault' in loads) return loads;
  const models = await firstOf(get, ['/v1/models']);
  if ('fault' in models) return models;
  return { replies: { serverInfo: info.json, loads: loads.json, models: models.json } };
}

/** The JSON of the first route that exists, null if none does, or a fault; new names come before old ones. */
async function firstOf(
  get: Door['get'],
  paths: readonly string[],
): Promise<{ readonly json: unknown } | { readonly fault: string }> {
  for (const path of paths) {
    const reply = await get(path);
    if (reply.status === 404 || reply.status === 405) continue;
    const fault = faultOf(reply, path);
    if (fault !== null) return { fault };
    try {
      return { json: JSON.parse(reply.body ?? '') };
    } catch {
      return { fault: `GET ${path} answered 200 without JSON: is this an SGLang server?` };
    }
  }
  return { json: null };
}

function faultOf(reply: Reply, path: string): string | null {
  if (reply.status === 200) return null;
  if (reply.status === 0) return `cannot be reached (${oneLine(reply.error) || `k6 error ${reply.errorCode}`})`;
  if (reply.status === 401 || reply.status === 403) {
    return `answered ${reply.status} to GET ${path}: set TOKRAMP_API_KEY to a valid key`;
  }
  if (reply.status === 503 && path === '/health') return 'is not ready: GET /health answered 503';
  return `answered ${reply.status} to GET ${path}, expected 200: is this an SGLang server?`;
}

/** Lines for servers whose model, version or arguments differ from the first one's (V37). */
export function unlikeFaults(
  servers: readonly { readonly name: string; readonly subject: Subject }[],
): readonly string[] {
  const [first, ...others] = servers;
  if (first === undefined) return [];
  return others.flatMap((other) => {
    const differences = subjectDifferences(first.subject, other.subject);
    return differences.length === 0
      ? []
      : [`${other.name} is unlike ${first.name}: ${differences.map(printable).join('; ')}`];
  });
}

/** Names of proxy variables that would reroute the load; naming them is a note, k6 exempts loopback. */
export function proxyVariables(environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  return ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'].filter(
    (name) => (environment[name] ?? '') !== '',
  );
}

/** Why k6 would not run the scenarios that were planned (V35 and the command line's way to replace them), or null. */
export function scenariosFault(
  planned: Readonly<Record<string, unknown>>,
  resolved: Readonly<Record<string, { readonly executor?: string }> | undefined>,
): string | null {
  const wanted = Object.keys(planned).sort().join(', ');
  const got = Object.entries(resolved ?? {});
  const same =
    got
      .map(([name]) => name)
      .sort()
      .join(', ') === wanted;
  if (same) return null;
  const what = got.map(([name, scenario]) => `${name} (${scenario.executor ?? 'unknown'})`).join(', ');
  return (
    `k6 would run ${what} instead of the planned scenarios ${wanted}: ` +
    'take --vus, --duration, --iterations, --stage off the command line and K6_VUS, K6_DURATION, K6_ITERATIONS, K6_STAGES out of the environment'
  );
}

/** Variables of k6 that keep handleSummary from what it needs: the run would end hours later without a result. */
const SUMMARY_VARIABLES = ['K6_NO_SUMMARY', 'K6_NO_THRESHOLDS', 'K6_NEW_MACHINE_READABLE_SUMMARY', 'K6_SUMMARY_MODE'];
/** Variables of k6 that replace the planned scenarios, or what comes before them. */
const SCENARIO_VARIABLES = ['K6_VUS', 'K6_DURATION', 'K6_ITERATIONS', 'K6_STAGES', 'K6_NO_SETUP', 'K6_RPS'];
/** What a summary is made from; k6 computes only what it is told to. */
const TREND_STATS = ['count', 'avg', 'med', 'max'];

type Variables = Readonly<Record<string, string | undefined>>;

const isOn = (value: string): boolean =>
  !['', 'false', 'f', '0', 'compact', 'full', 'legacy'].includes(value.toLowerCase());

const takeOut = (names: readonly string[], environment: Variables): readonly string[] =>
  names
    .filter((name) => isOn(environment[name] ?? ''))
    .map(
      (name) =>
        `${name}=${environment[name]} is set, and the run would not be the planned one or would leave no result: take it out of the environment`,
    );

/** Lines for what would leave a whole run without a result, from the environment and k6's options as it resolved them. */
export function summaryFaults(
  environment: Variables,
  resolved: { readonly summaryTrendStats?: readonly string[]; readonly rps?: number | null },
): readonly string[] {
  const lacking = TREND_STATS.filter((name) => resolved.summaryTrendStats?.includes(name) === false);
  const stats =
    lacking.length === 0
      ? []
      : [
          `k6 would leave ${lacking.join(', ')} out of its summary: ` +
            'take --summary-trend-stats off the command line and K6_SUMMARY_TREND_STATS out of the environment',
        ];
  const slowed =
    (resolved.rps ?? 0) > 0 ? [`k6 would hold back requests to ${resolved.rps} a second: take --rps off`] : [];
  return [...takeOut(SUMMARY_VARIABLES, environment), ...stats, ...slowed];
}

/** The same for the command-line side, before k6 starts: every variable of k6's that spoils a run. */
export const k6VariableFaults = (environment: Variables): readonly string[] =>
  takeOut([...SCENARIO_VARIABLES, ...SUMMARY_VARIABLES], environment);
