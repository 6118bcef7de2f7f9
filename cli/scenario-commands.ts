import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Baseline } from '../lib/baseline.ts';
import { refusedClaims } from '../lib/claims.ts';
import { tooLong } from '../lib/options.ts';
import type { Plan } from '../lib/plan.ts';
import { parsePlan } from '../lib/plan-file.ts';
import { renderPlan } from '../lib/plan-text.ts';
import { parseResult, ResultError, type RunResult } from '../lib/result.ts';
import { ConfigError } from '../lib/settings.ts';
import { EXIT, type ExitCode, exitCodeOf } from './exit-codes.ts';
import type { FoundK6 } from './k6.ts';
import type { K6End } from './k6-process.ts';
import { newResult, readText, resultFiles, runScenario, type ScenarioName, type Session } from './session.ts';

const ending = (end: K6End) => ({ k6Code: end.code, signal: end.signal, interrupted: end.interrupted });

/** One short request to every server. */
export async function smoke(session: Session, k6: FoundK6): Promise<ExitCode> {
  const end = await runScenario('smoke', session, k6);
  return exitCodeOf({ ...ending(end), hasCompleteResult: true, refused: false });
}

/** Measures the fleet and leaves a plan; one that was there before stays where discover fails, and never passes for new. */
export async function discover(session: Session, k6: FoundK6): Promise<ExitCode> {
  const folder = dirname(session.planPath);
  if (!existsSync(folder))
    throw new ConfigError([
      `the plan ${session.planPath} cannot be written: the folder ${folder} does not exist; create it`,
    ]);
  const before = existsSync(session.planPath) ? readText(session.planPath) : null;
  const end = await runScenario('discover', session, k6);
  const isNew = existsSync(session.planPath) && readText(session.planPath) !== before;
  const hasCompleteResult = isNew && readPlanFile(session.planPath) !== null;
  return exitCodeOf({ ...ending(end), hasCompleteResult, refused: false });
}

/** The batch-1 number of every server. */
export async function baseline(session: Session, k6: FoundK6): Promise<ExitCode> {
  const before = resultFiles(session.resultsFolder, 'baseline');
  const end = await runScenario('baseline', session, k6);
  const path = newResult(session.resultsFolder, 'baseline', before);
  const measured = path === null ? null : readBaseline(path);
  return exitCodeOf({
    ...ending(end),
    hasCompleteResult: measured !== null,
    refused: measured?.rounds.includes(null) === true,
  });
}

/** The baseline that k6 has just written; null where only a part of it is there. */
function readBaseline(path: string): Baseline | null {
  try {
    return JSON.parse(readText(path)) as Baseline;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    console.error(`${path}: not a whole JSON file (${error.message})`);
    return null;
  }
}

/** Discovers unless a named plan is there already, then ramps by the plan. */
export async function ramp(session: Session, k6: FoundK6): Promise<ExitCode> {
  if (session.settings.requestSeconds !== null) {
    const remedy = 'leave it out; it is for `k6 run scenarios/ramp.js` without a plan';
    throw new ConfigError([`--request-seconds: npm run ramp goes by what discover measures: ${remedy}`]);
  }
  const named = session.settings.plan !== null && existsSync(session.planPath);
  if (named) {
    console.error(`by the plan ${session.planPath}`);
    process.stdout.write(renderPlan(planOf(session), session.settings.servers));
  } else {
    if (session.settings.plan !== null)
      console.error(`there is no plan ${session.planPath} yet: discover makes it first`);
    const found = await discover(session, k6);
    if (found !== EXIT.ok) return found;
  }
  const long = tooLong(planOf(session), session.settings);
  if (long !== null) throw new ConfigError([long]);
  const before = resultFiles(session.resultsFolder, 'ramp');
  const end = await runScenario('ramp', session, k6);
  const run = readNewRun(session, 'ramp', before);
  return exitCodeOf({
    ...ending(end),
    hasCompleteResult: run !== null,
    refused: run !== null && refusedClaims(run).length > 0,
  });
}

const planOf = ({ planPath }: Session): Plan => parsePlan(readText(planPath), planPath);

function readNewRun(session: Session, kind: ScenarioName, before: readonly string[]): RunResult | null {
  const path = newResult(session.resultsFolder, kind, before);
  if (path === null) return null;
  try {
    return parseResult(readText(path), path);
  } catch (error) {
    if (!(error instanceof ResultError)) throw error;
    console.error(error.message);
    return null;
  }
}

function readPlanFile(path: string): Plan | null {
  try {
    return parsePlan(readText(path), path);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return null;
  }
}
