import { abort } from './k6.ts';
import { planFromSettings } from './options.ts';
import { absolutePath, pathOfUrl } from './paths.ts';
import { type Plan, PlanError } from './plan.ts';
import { parsePlan } from './plan-file.ts';
import { PromptFileError, parsePromptLines } from './prompt-file.ts';
import type { PromptSource } from './prompts.ts';
import type { Prompt } from './protocol.ts';
import { ConfigError, parseSettings, type Settings } from './settings.ts';
import { workloadOf } from './workload.ts';

/** What a script knows before anything runs: its settings, and where its files are. */
export interface Environment {
  readonly settings: Settings;
  readonly planPath: string;
  readonly resultsFolder: string;
}

/** Reads environment and files (first init only); what cannot be used stops k6 with every fault on a line. */
export function readEnvironment(): Environment {
  const settings = readSettings();
  const resultsFolder = existingFolder(
    settings.results === null ? besideScript('../results/') : given(settings.results),
  );
  const planPath = settings.plan === null ? `${resultsFolder}/plan.json` : given(settings.plan);
  return { settings, planPath, resultsFolder };
}

/** The plan that a ramp follows: the file, or settings alone where there is no file (first init only). */
export function readPlan({ settings, planPath }: Environment, prompts: PromptSource): Plan {
  const text = readIfThere(planPath);
  if (text === null && settings.plan !== null) return abort([`TOKRAMP_PLAN: there is no file ${planPath}`]);
  try {
    if (text !== null) return parsePlan(text, planPath);
    return planFromSettings(settings, {
      workload: workloadOf(settings, prompts.describe),
      createdAt: new Date().toISOString(),
    });
  } catch (error) {
    if (error instanceof PlanError) return abort([error.message]);
    throw error;
  }
}

/** The prompts of the file that the settings name (first init only). */
export function readPromptFile(settings: Settings): readonly Prompt[] {
  const path = given(settings.prompts ?? '');
  const text = readIfThere(path);
  if (text === null) return abort([`TOKRAMP_PROMPTS: there is no file ${path}`]);
  try {
    return parsePromptLines(text, settings.api);
  } catch (error) {
    if (error instanceof PromptFileError) return abort(error.faults.map((fault) => `${path}: ${fault}`));
    throw error;
  }
}

/** A run's name for every file and tag: what, its given name, when (UTC), and four letters that keep two at once apart. */
export function newRunId(kind: string, { runName }: Settings): string {
  const stamp = new Date().toISOString().replace(/[-:]/g, '').replace(/\.\d+/, '');
  const letters = Math.floor(Math.random() * 36 ** 4).toString(36);
  const parts = [kind, ...(runName === null ? [] : [runName]), stamp, letters.padStart(4, '0')];
  return parts.join('-');
}

function readSettings(): Settings {
  const named = __ENV['TOKRAMP_CONFIG'] ?? '';
  const path = named === '' ? besideScript('../tokramp.json') : given(named);
  const text = readIfThere(path);
  if (text === null && named !== '') return abort([`TOKRAMP_CONFIG: there is no file ${path}`]);
  try {
    return parseSettings({ flags: {}, environment: __ENV, file: text === null ? null : { path, text } });
  } catch (error) {
    if (error instanceof ConfigError) return abort(error.faults);
    throw error;
  }
}

/** The file's text, or null if there is none; any other failure to read it is k6's own error. */
function readIfThere(path: string): string | null {
  try {
    return open(path);
  } catch (error) {
    if (/no such file|couldn't be found|not found/i.test(String(error))) return null;
    throw error;
  }
}

/** k6 creates no folders: a results folder that does not exist must stop the run before it starts. */
function existingFolder(path: string): string {
  let what = 'is a file';
  try {
    open(path);
  } catch (error) {
    // "no such file or directory" names one too.
    if (/used with directories/i.test(String(error))) return path;
    what = 'does not exist';
  }
  return abort([`TOKRAMP_RESULTS: the results folder ${path} ${what}; create it, or name another one`]);
}

const besideScript = (relative: string): string => pathOfUrl(import.meta.resolve(relative));
function given(path: string): string {
  const absolute = absolutePath(path, __ENV['PWD']);
  return absolute ?? abort([`the path "${path}" is relative and PWD is not set: give an absolute path`]);
}
