import * as v from 'valibot';

/** Changes of a figure on the same input need a new major version: results of different majors are never compared. */
export const SUITE_MAJOR = 1;

/** What was asked of the servers: two runs may be compared only if these are equal (levels are compared by the plan). */
export const WorkloadSchema = v.strictObject({
  suiteMajor: v.number(),
  api: v.picklist(['generate', 'completions', 'chat']),
  stop: v.picklist(['fixed', 'natural']),
  maxTokens: v.number(),
  inputTokens: v.nullable(v.number()),
  prompts: v.strictObject({ source: v.string(), hash: v.string(), count: v.nullable(v.number()) }),
  cacheIsolation: v.boolean(),
});
export type Workload = v.InferOutput<typeof WorkloadSchema>;

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
