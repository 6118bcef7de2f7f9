import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { CHECKOUT } from '../cli/k6.ts';
import { levelClaim } from '../lib/claims.ts';
import { type LevelSchedule, measuredLevels, scheduleOf } from '../lib/plan.ts';
import { CLOSING } from '../lib/registry.ts';
import { parseResult, type RunResult, type ServerLedger } from '../lib/result.ts';
import { type Cluster, startCluster } from '../sim/cluster.ts';
import type { Profile } from '../sim/profiles.ts';
import type { ServerTruth } from '../sim/truth.ts';
import { type Cost, costOf } from './process.ts';

/** One fleet and one workload to be ramped. */
export interface AccuracyCase {
  readonly profile: Profile;
  readonly servers: number;
  readonly stop: 'fixed' | 'natural';
  readonly maxTokens: number;
  /** In R. */
  readonly hold: number;
  /** Null: the whole ladder with the level over the limit and the closing baseline. */
  readonly levels: string | null;
}

/** What the suite said of one level and what its servers really did in the same window (output tok/s). */
export interface LevelError {
  readonly level: string;
  readonly measured: number;
  readonly truth: number;
  /** Of the fleet, relative; above 0 where the suite said too much. */
  readonly error: number;
  /** Whether the suite itself refuses the figure. */
  readonly refused: boolean;
  /** The largest error of a single server, relative. */
  readonly worstServer: { readonly name: string; readonly error: number };
}

export interface CaseOutcome {
  readonly levels: readonly LevelError[];
  /** The highest load average of the machine while the case ran: a starved client or fleet measures itself. */
  readonly load: number;
}

const LOAD_POLL_MS = 2_000;

/** Starts a fleet in this process, discovers and ramps it with k6, and holds every level against the fleet's own truth. */
export async function runCase(about: AccuracyCase, k6: string): Promise<CaseOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'tokramp-accuracy-'));
  const cluster = await startCluster({ count: about.servers, profile: about.profile });
  let load = 0;
  const timer = setInterval(() => {
    load = Math.max(load, loadavg()[0] ?? 0);
  }, LOAD_POLL_MS);
  try {
    const environment = variables(about, cluster, folder);
    await runScript('discover', k6, environment);
    const ramp = await runScript('ramp', k6, environment);
    const run = resultIn(folder, ramp);
    return { levels: levelErrors(run, cluster), load };
  } finally {
    clearInterval(timer);
    await cluster.close();
    rmSync(folder, { recursive: true });
  }
}

function variables(about: AccuracyCase, cluster: Cluster, folder: string): NodeJS.ProcessEnv {
  const narrowed = {
    TOKRAMP_LEVELS: about.levels ?? '',
    TOKRAMP_OVER_LIMIT: 'false',
    TOKRAMP_CLOSING_BASELINE: 'false',
  };
  return {
    ...process.env,
    K6_NO_USAGE_REPORT: 'true',
    TOKRAMP_SERVERS: cluster.environment,
    TOKRAMP_MAX_TOKENS: String(about.maxTokens),
    TOKRAMP_STOP: about.stop,
    TOKRAMP_HOLD: String(about.hold),
    TOKRAMP_RESULTS: folder,
    ...(about.levels === null ? {} : narrowed),
  };
}

async function runScript(name: 'discover' | 'ramp', k6: string, environment: NodeJS.ProcessEnv): Promise<Cost> {
  const script = join(CHECKOUT, 'scenarios', `${name}.js`);
  const ended = await costOf(k6, ['run', '--quiet', '--address', '', script], environment);
  if (ended.code !== 0) throw new Error(`${name} ended with code ${ended.code}:\n${complaintsOf(ended)}`);
  return ended;
}

/** k6's warnings and errors, without the hundreds of lines of its own summary. */
const complaintsOf = ({ output }: Cost): string =>
  output
    .split('\n')
    .filter((line) => /^time="[^"]*" level=(warning|error)/.test(line))
    .join('\n');

function resultIn(folder: string, ramp: Cost): RunResult {
  const name = readdirSync(folder).find((entry) => entry.startsWith('ramp-'));
  if (name === undefined) throw new Error(`the ramp left no result:\n${complaintsOf(ramp)}`);
  return parseResult(readFileSync(join(folder, name), 'utf8'), name);
}

function levelErrors(run: RunResult, cluster: Cluster): readonly LevelError[] {
  const truths = new Map(cluster.servers.map((server) => [server.name, server.truth()]));
  return measuredLevels(scheduleOf(run.plan)).map((planned) => levelError(planned, run, truths));
}

function levelError(planned: LevelSchedule, run: RunResult, truths: ReadonlyMap<string, ServerTruth>): LevelError {
  const level = planned.tag === CLOSING ? run.closing : run.levels.find(({ tag }) => tag === planned.tag);
  const measured = level?.fleet.tokensPerSecond ?? null;
  if (level == null || measured === null) throw new Error(`level ${planned.tag} has no figure: ${level?.missing}`);
  const servers = run.ledger.map((ledger) => {
    const said = level.servers.find(({ name }) => name === ledger.name)?.tokensPerSecond ?? 0;
    const truth = rateIn(planned, ledger, truths.get(ledger.name));
    return { name: ledger.name, truth, error: said / truth - 1 };
  });
  const truth = servers.reduce((sum, server) => sum + server.truth, 0);
  const [worstServer = { name: '', error: 0 }] = [...servers].sort((a, b) => Math.abs(b.error) - Math.abs(a.error));
  const claim = levelClaim(planned.tag);
  // The closing baseline has no claim of its own.
  const refused = run.verdicts.some((verdict) => verdict.claim === claim && verdict.verdict === 'refused');
  return { level: labelOf(planned), measured, truth, error: measured / truth - 1, refused, worstServer };
}

/** The server's own rate in the level's window, on the clock that the result names. */
function rateIn(planned: LevelSchedule, { name, scenarioStart }: ServerLedger, truth: ServerTruth | undefined): number {
  if (scenarioStart === null || truth === undefined) throw new Error(`${name}: its scenario never began`);
  return truth.rate(scenarioStart + planned.windowStart * 1000, scenarioStart + planned.windowEnd * 1000);
}

function labelOf({ tag, inFlight, overLimit }: LevelSchedule): string {
  if (tag === CLOSING) return `${inFlight} closing`;
  return overLimit ? `${inFlight} over` : String(inFlight);
}
