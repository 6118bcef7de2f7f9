import type { Settings } from './settings.ts';

/** Changes of a figure on the same input need a new major version: results of different majors are never compared. */
export const SUITE_MAJOR = 1;

/** What was asked of the servers: two runs may be compared only if these are equal (levels are compared by the plan). */
export interface Workload {
  readonly suiteMajor: number;
  readonly api: 'generate' | 'completions' | 'chat';
  readonly stop: 'fixed' | 'natural';
  readonly maxTokens: number;
  readonly inputTokens: number | null;
  readonly prompts: { readonly source: string; readonly hash: string; readonly count: number | null };
  readonly cacheIsolation: boolean;
}

/** The workload that settings and prompts describe. */
export function workloadOf(settings: Settings, prompts: Workload['prompts']): Workload {
  const { api, stop, maxTokens, inputTokens, cacheIsolation } = settings;
  return { suiteMajor: SUITE_MAJOR, api, stop, maxTokens, inputTokens, prompts, cacheIsolation };
}

/** The fields in which two workloads differ, as "name: a / b". */
export function workloadDifferences(a: Workload, b: Workload): readonly string[] {
  const flat = (workload: Workload) => ({
    ...workload,
    prompts: `${workload.prompts.source} ${workload.prompts.hash}`,
  });
  const [left, right] = [flat(a), flat(b)];
  return Object.keys(left)
    .map((key) => key as keyof typeof left)
    .filter((key) => left[key] !== right[key])
    .map((key) => `${key}: ${left[key]} / ${right[key]}`);
}
