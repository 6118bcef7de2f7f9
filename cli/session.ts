import { existsSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { k6VariableFaults } from '../lib/preflight.ts';
import { PromptFileError, parsePromptLines } from '../lib/prompt-file.ts';
import { SETTINGS } from '../lib/setting-table.ts';
import { ConfigError, parseSettings, type Settings } from '../lib/settings.ts';
import { type Arguments, readConfigFile, settingsEnvironment } from './arguments.ts';
import { CHECKOUT, type FoundK6 } from './k6.ts';
import { type K6End, runK6 } from './k6-process.ts';

/** Checked settings, and the environment that tells them to k6. */
export interface Session {
  readonly settings: Settings;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly resultsFolder: string;
  readonly planPath: string;
}

export type ScenarioName = 'smoke' | 'discover' | 'ramp' | 'baseline';

/** Checks everything that can be checked before k6 starts; throws one ConfigError with every fault. */
export function openSession(
  given: Pick<Arguments, 'settings'>,
  environment: Readonly<Record<string, string | undefined>>,
): Session {
  const cwd = process.cwd();
  const variables = settingsEnvironment(given.settings, cwd, environment);
  const file = readConfigFile({ environment: { ...environment, ...variables }, checkout: CHECKOUT, cwd });
  const settings = parseSettings({ flags: given.settings, environment, file });
  const absolute = (name: string): string | undefined => {
    const spec = SETTINGS.find((entry) => entry.name === name);
    return spec === undefined ? undefined : variables[spec.environment];
  };
  const resultsFolder = absolute('results') ?? settings.results ?? join(CHECKOUT, 'results');
  const planPath = absolute('plan') ?? settings.plan ?? join(resultsFolder, 'plan.json');
  const variableFaults = k6VariableFaults(environment);
  if (variableFaults.length > 0) throw new ConfigError(variableFaults);
  checkWritable(resultsFolder);
  checkPrompts(absolute('prompts') ?? settings.prompts, settings);
  // PWD is how k6's scripts learn the working directory; npm leaves the shell's own there.
  return { settings, environment: { ...environment, ...variables, PWD: cwd }, resultsFolder, planPath };
}

/** Fails before hours of load and not after them. */
function checkWritable(folder: string): void {
  const fault = (what: string) =>
    new ConfigError([`the results folder ${folder} ${what}; create it, or name another one with --results`]);
  if (!existsSync(folder)) throw fault('does not exist');
  if (!statSync(folder).isDirectory()) throw fault('is a file');
  try {
    // Only doing it tells: a read-only mount and a full disk refuse the superuser too.
    rmdirSync(mkdtempSync(join(folder, '.tokramp-')));
  } catch (cause) {
    throw new ConfigError([`${fault('cannot be written').message} (${String(cause)})`]);
  }
}

/** The file that the scenarios would read in their own init, where its faults could no longer be told from k6's. */
function checkPrompts(path: string | null, { api }: Settings): void {
  if (path === null) return;
  if (!existsSync(path))
    throw new ConfigError([`the prompts file ${path} does not exist; name another one with --prompts`]);
  try {
    parsePromptLines(readText(path), api);
  } catch (error) {
    if (!(error instanceof PromptFileError)) throw error;
    throw new ConfigError(error.faults.map((fault) => `${path}: ${fault}`));
  }
}

/** Runs one bundled scenario with k6 to its end. */
export async function runScenario(name: ScenarioName, session: Session, k6: FoundK6): Promise<K6End> {
  const script = join(CHECKOUT, 'scenarios', `${name}.js`);
  if (!existsSync(script)) throw new ConfigError([`${script} does not exist: run npm run build`]);
  return runK6({ k6: k6.path, script, environment: session.environment, args: [], cwd: process.cwd() });
}

/** The result file that appeared in the folder since `before` was listed; null unless it is exactly one. */
export function newResult(folder: string, kind: ScenarioName, before: readonly string[]): string | null {
  const fresh = resultFiles(folder, kind).filter((name) => !before.includes(name));
  return fresh.length === 1 && fresh[0] !== undefined ? join(folder, fresh[0]) : null;
}

/** Names of the result files of one kind. */
export function resultFiles(folder: string, kind: ScenarioName): readonly string[] {
  if (!existsSync(folder)) throw new ConfigError([`the results folder ${folder} is gone: nothing could be kept`]);
  return readdirSync(folder).filter((name) => name.startsWith(`${kind}-`) && name.endsWith('.json'));
}

export const readText = (path: string): string => readFileSync(path, 'utf8');
