import { SharedArray } from 'k6/data';
import { planFromSettings } from './options.ts';
import { absolutePath, pathOfUrl } from './paths.ts';
import { type Plan, parsePlan } from './plan.ts';
import { builtInPrompts, type PromptSource, parsePromptLines, promptsFrom } from './prompts.ts';
import type { Prompt } from './protocol.ts';
import { ConfigError, parseSettings, type Settings } from './settings.ts';
import { SUITE_MAJOR, type Workload } from './workload.ts';

/** What a script knows before anything runs: its settings, its prompts and where its files are. */
export interface Environment {
  readonly settings: Settings;
  readonly prompts: PromptSource;
  /** Made when asked for: hashing a prompt file is nothing every VU should do. */
  workload(): Workload;
  readonly planPath: string;
  readonly resultsFolder: string;
}

/** Reads environment and files (init code only); settings that cannot be used stop k6 with every fault on a line. */
export function readEnvironment(): Environment {
  const settings = once('settings', readSettings);
  const prompts = readPrompts(settings);
  const resultsFolder = settings.results === null ? besideScript('../results/') : given(settings.results);
  return {
    settings,
    prompts,
    workload: () => ({
      suiteMajor: SUITE_MAJOR,
      api: settings.api,
      stop: settings.stop,
      maxTokens: settings.maxTokens,
      inputTokens: settings.inputTokens,
      prompts: prompts.describe,
      cacheIsolation: settings.cacheIsolation,
    }),
    planPath: settings.plan === null ? `${resultsFolder}/plan.json` : given(settings.plan),
    resultsFolder: existingFolder(resultsFolder),
  };
}

/** The plan that a ramp follows: the file, or settings alone where there is no file (init code only). */
export function readPlan(environment: Environment): Plan {
  return once('plan', () => planOf(environment));
}

function planOf(environment: Environment): Plan {
  const text = readIfThere(environment.planPath);
  if (text !== null) return parsePlan(text, environment.planPath);
  if (environment.settings.plan !== null) throw stop([`TOKRAMP_PLAN: there is no file ${environment.planPath}`]);
  return planFromSettings(environment.settings, {
    workload: environment.workload(),
    createdAt: new Date().toISOString(),
  });
}

/** A run's name for every file and tag: what, when (UTC) and four letters that keep two at once apart. */
export function newRunId(kind: string): string {
  const stamp = new Date().toISOString().replace(/[-:]/g, '').replace(/\.\d+/, '');
  const letters = Math.floor(Math.random() * 36 ** 4).toString(36);
  return `${kind}-${stamp}-${'000'.slice(letters.length - 1)}${letters}`;
}

/** Stops k6 in init; in the first init every fault is a line of its own, since k6 folds an exception into one. */
export function stop(faults: readonly string[]): Error {
  if (__VU === 0) for (const fault of faults) console.error(fault);
  return new Error(faults.length === 1 ? (faults[0] ?? '') : `tokramp: ${faults.length} faults, see above`);
}

/** Worked out in the first init and shared: parsing in each of 512 VUs would cost 60 MB. */
function once<Value>(name: string, make: () => Value): Value {
  const [value] = new SharedArray<Value>(name, () => [make()]);
  if (value === undefined) throw new Error(`k6 lost the shared ${name}`);
  return value;
}

function readSettings(): Settings {
  const named = __ENV['TOKRAMP_CONFIG'] ?? '';
  const path = named === '' ? besideScript('../tokramp.json') : given(named);
  const text = readIfThere(path);
  if (text === null && named !== '') throw stop([`TOKRAMP_CONFIG: there is no file ${path}`]);
  try {
    return parseSettings({ flags: {}, environment: __ENV, file: text === null ? null : { path, text } });
  } catch (error) {
    throw error instanceof ConfigError ? stop(error.faults) : error;
  }
}

function readPrompts(settings: Settings): PromptSource {
  if (settings.prompts === null) return builtInPrompts({ api: settings.api, inputTokens: settings.inputTokens });
  const path = given(settings.prompts);
  // One copy for all VUs, read and parsed once: a prompt file may be larger than all else a VU holds.
  const lines = new SharedArray<Prompt>('prompts', () => {
    const text = readIfThere(path);
    if (text === null) throw stop([`TOKRAMP_PROMPTS: there is no file ${path}`]);
    return [...parsePromptLines(text, settings.api)];
  });
  return promptsFrom(lines);
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
    if (/director/i.test(String(error))) return path;
    what = 'does not exist';
  }
  throw stop([`TOKRAMP_RESULTS: the results folder ${path} ${what}; create it, or name another one`]);
}

const besideScript = (relative: string): string => pathOfUrl(import.meta.resolve(relative));
const given = (path: string): string => absolutePath(path, __ENV['PWD']);
