import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CHECKOUT } from '../../cli/k6.ts';
import { pickMetric } from '../../lib/exposition.ts';
import type { Plan } from '../../lib/plan.ts';
import { parsePlan } from '../../lib/plan-file.ts';
import type { RunResult, ServerLedger } from '../../lib/result.ts';
import { type CliEnded, runCli } from '../e2e-fleet.ts';
import { resultIn } from '../e2e-row.ts';
import type { EngineServer } from './servers.ts';

/** Progress of a test that takes minutes. */
export const report = (line: string): void => console.error(line);

/** Says what is about to be spent, before anything is. */
export function announce(engine: 'sglang' | 'llama-cpp', minutes: number): void {
  const time = `about ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  const cost = engine === 'sglang' ? 'a download of 3.4 GB and 6.9 GB on disk, minutes more' : 'a download of 34 MB';
  const isThere = existsSync(join(CHECKOUT, '.engines', engine));
  report(`real ${engine} servers: ${time}${isThere ? '' : `; not installed yet, so first ${cost}`}`);
}

/** What the suite is pointed at, and what its commands are told. */
export interface Suite {
  readonly servers: readonly EngineServer[];
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Runs one command of the built suite on real servers, with the settings of a test as variables. */
export function runSuite(
  args: readonly string[],
  { servers, folder, environment }: Suite,
  onLine?: (line: string) => void,
): Promise<CliEnded> {
  const cluster = { environment: servers.map(({ url }, index) => `s${index}=${url}`).join(',') };
  return runCli(args, { cluster, folder, environment, ...(onLine === undefined ? {} : { onLine }) });
}

/** The same, which must end with the code given; all that it printed is in the failure. */
export async function runSuiteTo(
  code: number,
  args: readonly string[],
  suite: Suite & { readonly onLine?: (line: string) => void },
): Promise<readonly string[]> {
  const ended = await runSuite(args, suite, suite.onLine);
  assert.equal(ended.code, code, ended.lines.join('\n'));
  return ended.lines;
}

/** The plan that discover left. */
export async function planIn(folder: string): Promise<Plan> {
  const path = join(folder, 'plan.json');
  return parsePlan(await readFile(path, 'utf8'), path);
}

/** The one result that a ramp left. */
export async function runIn(folder: string): Promise<RunResult> {
  const run = await resultIn(folder);
  assert.ok(run !== null, `no result in ${folder}`);
  return run;
}

/** Tokens and finished requests by a server's own counters. */
export interface Counted {
  readonly tokens: number;
  readonly requests: number;
}

/** Counters follow the answers by a moment, however soon they are asked for. */
const COUNTERS_LAG_MS = 1000;

/** What an SGLang server has counted; health probes are in neither counter, and before the first request there are none. */
export async function countedBy(server: EngineServer): Promise<Counted> {
  await pause(COUNTERS_LAG_MS);
  const page = await server.metrics();
  const total = (name: string) => pickMetric(page, `sglang:${name}`) ?? 0;
  return { tokens: total('generation_tokens_total'), requests: total('num_requests_total') };
}

/** What each server counts while some work runs. */
export async function countedDuring(
  servers: readonly EngineServer[],
  work: () => Promise<unknown>,
): Promise<Counted[]> {
  const before = await Promise.all(servers.map(countedBy));
  await work();
  const after = await Promise.all(servers.map(countedBy));
  return after.map(({ tokens, requests }, index) => ({
    tokens: tokens - (before[index]?.tokens ?? 0),
    requests: requests - (before[index]?.requests ?? 0),
  }));
}

/** What a ledger says that the server must have counted. */
export const countedIn = ({ answerTokens, finished }: ServerLedger): Counted => ({
  tokens: answerTokens,
  requests: finished,
});

/** Every request of a run was answered whole. */
export function assertAllCompleted(run: RunResult): void {
  for (const ledger of run.ledger) {
    const happened = Object.entries(ledger.outcomes).filter(([, count]) => count > 0);
    assert.deepEqual(happened, [['completed', ledger.finished]], ledger.name);
    const reasons = Object.entries(ledger.finishReasons).filter(([, count]) => count > 0);
    assert.deepEqual(reasons, [['length', ledger.finished]], ledger.name);
    assert.equal(ledger.started, ledger.finished, ledger.name);
  }
}
