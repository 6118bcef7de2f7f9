import * as v from 'valibot';
import { MAX_LEVELS, type Plan } from './plan.ts';
import { SCHEMA_VERSION } from './stored.ts';
import type { Workload } from './workload.ts';

/** The versioned file that one run leaves; every figure in it was computed once, and renderers only format. */

const figure = v.nullable(v.number());

const WorkloadSchema = v.strictObject({
  suiteMajor: v.number(),
  api: v.picklist(['generate', 'completions', 'chat']),
  stop: v.picklist(['fixed', 'natural']),
  maxTokens: v.number(),
  inputTokens: figure,
  prompts: v.strictObject({ source: v.string(), hash: v.string(), count: figure }),
  cacheIsolation: v.boolean(),
}) satisfies v.GenericSchema<Workload>;

const SubjectSchema = v.record(v.string(), v.union([v.string(), v.number(), v.boolean(), v.null()]));

const length = v.nullable(v.strictObject({ mean: v.number(), error: v.number() }));

const PlanSchema = v.strictObject({
  schemaVersion: v.literal(1),
  kind: v.literal('tokramp plan'),
  createdAt: v.string(),
  assumed: v.boolean(),
  promptTokens: figure,
  inputLength: length,
  outputLength: length,
  cachedShare: figure,
  hold: v.number(),
  closingBaseline: v.boolean(),
  timeoutSeconds: v.number(),
  limit: v.number(),
  pool: v.string(),
  servers: v.array(
    v.strictObject({
      name: v.string(),
      limit: v.number(),
      pool: v.string(),
      requestSecondsAtOne: figure,
      requestSecondsAtLimit: figure,
    }),
  ),
  levels: v.pipe(
    v.array(v.strictObject({ inFlight: v.number(), overLimit: v.boolean(), requestSeconds: v.number() })),
    v.minLength(1),
    v.maxLength(MAX_LEVELS),
  ),
  workload: WorkloadSchema,
  subject: v.nullable(SubjectSchema),
}) satisfies v.GenericSchema<DeepMutable<Plan>>;

/** Schemas describe what is read from a file, which nobody has frozen yet. */
type DeepMutable<T> = { -readonly [Key in keyof T]: T[Key] extends object ? DeepMutable<T[Key]> : T[Key] };

const DurationSchema = v.strictObject({
  count: v.number(),
  meanSeconds: v.number(),
  p50Seconds: v.number(),
  maxSeconds: v.number(),
});

const ServerAtLevelSchema = v.strictObject({
  name: v.string(),
  tokens: v.number(),
  tokensPerSecond: figure,
  inFlight: figure,
  completed: v.number(),
  failed: v.number(),
  requestDuration: v.nullable(DurationSchema),
});
export type ServerAtLevel = v.InferOutput<typeof ServerAtLevelSchema>;

const FleetAtLevelSchema = v.strictObject({
  tokensPerSecond: figure,
  /** Half of the 95 % interval of the fleet sum, relative, from the spread between servers; null for one server. */
  uncertainty: figure,
  inFlight: figure,
  tokensPerSecondPerRequest: figure,
  minPerServer: figure,
  medianPerServer: figure,
  maxPerServer: figure,
  slowest: v.nullable(v.string()),
  /** Share of (level 1 x requests in flight); null where level 1 was not measured. */
  efficiency: figure,
  requestDuration: v.nullable(DurationSchema),
});

const LevelSchema = v.strictObject({
  tag: v.string(),
  inFlight: v.number(),
  overLimit: v.boolean(),
  windowSeconds: v.number(),
  holdSeconds: v.number(),
  /** Why the level has no figures; null where its window was measured to the end. */
  missing: v.nullable(v.string()),
  servers: v.array(ServerAtLevelSchema),
  fleet: FleetAtLevelSchema,
});
export type LevelResult = v.InferOutput<typeof LevelSchema>;

const WarmUpSchema = v.strictObject({
  requests: v.number(),
  roundSeconds: v.array(v.number()),
  agreed: v.boolean(),
  requestSecondsAtOne: figure,
});

const ServerSchema = v.strictObject({
  name: v.string(),
  url: v.string(),
  gpus: v.number(),
  /** Why the server took no part; null for every server that did. */
  absent: v.nullable(v.string()),
  limit: figure,
  pool: v.nullable(v.string()),
  subject: v.nullable(SubjectSchema),
  warmUp: v.nullable(WarmUpSchema),
});
export type ServerRecord = v.InferOutput<typeof ServerSchema>;

const counts = v.record(v.string(), v.number());

const LedgerSchema = v.strictObject({
  name: v.string(),
  /** When the server's scenario began, in ms since 1970: the plan's windows count from here. Null where it never did. */
  scenarioStart: figure,
  started: v.number(),
  finished: v.number(),
  outcomes: counts,
  finishReasons: counts,
  /** Whole answers, warm-up included: what the server must have counted. */
  answerTokens: v.number(),
  promptTokens: v.number(),
  cachedTokens: v.number(),
  /** Pro-rated tokens by window tag, with "outside" and "warmup"; they add up to answerTokens. */
  tokensByWindow: counts,
  warmUpRequests: v.number(),
});
export type ServerLedger = v.InferOutput<typeof LedgerSchema>;

export const FindingSchema = v.strictObject({
  rule: v.string(),
  title: v.string(),
  severity: v.picklist(['refuse', 'flag', 'note']),
  server: v.nullable(v.string()),
  level: v.nullable(v.string()),
  measured: v.string(),
  bound: v.string(),
  /** The claims it refuses or flags. */
  claims: v.array(v.string()),
  consequence: v.string(),
  advice: v.string(),
  blocksBaseline: v.boolean(),
});
export type Finding = v.InferOutput<typeof FindingSchema>;

export const VerdictSchema = v.strictObject({
  claim: v.string(),
  verdict: v.picklist(['valid', 'flagged', 'refused']),
  rules: v.array(v.string()),
});
export type Verdict = v.InferOutput<typeof VerdictSchema>;

export const RunResultSchema = v.strictObject({
  schemaVersion: v.literal(SCHEMA_VERSION),
  kind: v.literal('tokramp ramp'),
  tool: v.string(),
  runId: v.string(),
  runName: v.nullable(v.string()),
  simulated: v.boolean(),
  startedAt: v.string(),
  endedAt: v.string(),
  /** Why the run ended before its plan; null for a whole run. */
  interrupted: v.nullable(v.string()),
  workload: WorkloadSchema,
  plan: PlanSchema,
  servers: v.array(ServerSchema),
  levels: v.array(LevelSchema),
  closing: v.nullable(LevelSchema),
  ledger: v.array(LedgerSchema),
  /** What the servers counted themselves; null where nothing observed them, with the reason. */
  serverSide: v.null(),
  serverSideMissing: v.string(),
  findings: v.array(FindingSchema),
  verdicts: v.array(VerdictSchema),
});
export type RunResult = Omit<v.InferOutput<typeof RunResultSchema>, 'plan' | 'workload'> & {
  readonly plan: Plan;
  readonly workload: Workload;
};

/** A result file that cannot be read: one line with its path and what is wrong. */
export class ResultError extends Error {
  override readonly name = 'ResultError';
}

/** A run result from a file's text; truncated, foreign and newer files are refused with a reason. */
export function parseResult(text: string, path: string): RunResult {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new ResultError(`${path}: not a whole JSON file (${String(cause)})`);
  }
  const version =
    typeof json === 'object' && json !== null ? (json as { schemaVersion?: unknown }).schemaVersion : undefined;
  if (typeof version === 'number' && version > SCHEMA_VERSION) {
    throw new ResultError(`${path}: schema version ${version} is newer than this tokramp reads (${SCHEMA_VERSION})`);
  }
  const parsed = v.safeParse(RunResultSchema, json);
  if (parsed.success) return parsed.output;
  const issue = parsed.issues[0];
  throw new ResultError(`${path}: not a tokramp run result (${v.getDotPath(issue) ?? 'file'}: ${issue.message})`);
}
