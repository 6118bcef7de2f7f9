import { MAX_LEVELS, type Plan, PlanError } from './plan.ts';

/** Checked by hand and not by a schema: every VU would carry the schema library, 46 MB at 512 VUs. */
type Check = (value: unknown) => string | null;

const must = (rule: string, holds: (value: unknown) => boolean): Check => {
  return (value) => (holds(value) ? null : `must be ${rule}, is ${JSON.stringify(value)?.slice(0, 60) ?? 'missing'}`);
};
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isPositive = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value) && value > 0;
const text = must('a text', (value) => typeof value === 'string');
const truth = must('true or false', (value) => typeof value === 'boolean');
const positive = must('a number above 0', isPositive);
const count = must('a whole number from 1', (value) => isPositive(value) && Number.isInteger(value));
const figure = must('a number or null', (value) => value === null || Number.isFinite(value));
const length = must(
  'null or an object of mean and error',
  (value) => value === null || (isObject(value) && isPositive(value['mean']) && Number.isFinite(value['error'])),
);
const oneOf = (...valid: readonly unknown[]): Check =>
  must(valid.map((value) => JSON.stringify(value)).join(' or '), (value) => valid.includes(value));
const listOf = (most: number): Check =>
  must(`a list of 1 to ${most}`, (value) => Array.isArray(value) && value.length >= 1 && value.length <= most);

const LEVEL: Readonly<Record<string, Check>> = { inFlight: count, overLimit: truth, requestSeconds: positive };
const SERVER: Readonly<Record<string, Check>> = {
  name: text,
  limit: count,
  pool: text,
  requestSecondsAtOne: figure,
  requestSecondsAtLimit: figure,
};
const WORKLOAD: Readonly<Record<string, Check>> = {
  suiteMajor: count,
  api: oneOf('generate', 'completions', 'chat'),
  stop: oneOf('fixed', 'natural'),
  maxTokens: count,
  inputTokens: figure,
  prompts: must('an object', isObject),
  cacheIsolation: truth,
};
const PLAN: Readonly<Record<string, Check>> = {
  schemaVersion: oneOf(1),
  kind: oneOf('tokramp plan'),
  createdAt: text,
  assumed: truth,
  promptTokens: figure,
  inputLength: length,
  outputLength: length,
  cachedShare: figure,
  hold: must('a number from 2.2', (value) => isPositive(value) && Number(value) >= 2.2),
  closingBaseline: truth,
  timeoutSeconds: positive,
  limit: count,
  pool: text,
  servers: listOf(100_000),
  levels: listOf(MAX_LEVELS),
  workload: must('an object', isObject),
  subject: must('an object or null', (value) => value === null || isObject(value)),
};

/** The plan in a file's text, or a PlanError that names the file, the fields and what to do. */
export function parsePlan(content: string, path: string): Plan {
  const json = parseJson(content, path);
  const faults = faultsOf(json, PLAN, '');
  if (faults.length === 0 && isObject(json)) {
    faults.push(...faultsOf(json['workload'], WORKLOAD, 'workload.'));
    for (const [name, shape] of [
      ['servers', SERVER],
      ['levels', LEVEL],
    ] as const) {
      const list = json[name];
      if (Array.isArray(list))
        faults.push(...list.flatMap((item, index) => faultsOf(item, shape, `${name}[${index}].`)));
    }
  }
  if (faults.length === 0) faults.push(...ladderFaults(json as Plan));
  if (faults.length > 0) throw new PlanError(`plan ${path}: ${faults.slice(0, 5).join('; ')}; ${REMEDY}`);
  return json as Plan;
}

/** What stages and verdicts rest on: a ladder that rises, and marks that agree with the limit. */
function ladderFaults({ levels, limit }: Plan): readonly string[] {
  return levels.flatMap(({ inFlight, overLimit }, index) => {
    const before = levels[index - 1]?.inFlight ?? 0;
    const order = inFlight > before ? [] : [`levels[${index}].inFlight must be above ${before}, is ${inFlight}`];
    const isOver = inFlight > limit;
    const mark =
      overLimit === isOver
        ? []
        : [`levels[${index}].overLimit must be ${isOver}: ${inFlight} beside the limit ${limit}`];
    return [...order, ...mark];
  });
}

const REMEDY = 'correct it, or make it anew with: npm run discover';

function parseJson(content: string, path: string): unknown {
  try {
    return JSON.parse(content);
  } catch (cause) {
    throw new PlanError(`plan ${path}: not JSON (${String(cause)}); ${REMEDY}`);
  }
}

function faultsOf(value: unknown, shape: Readonly<Record<string, Check>>, at: string): string[] {
  if (!isObject(value)) return [`${at === '' ? 'the file' : at.slice(0, -1)} must be an object`];
  const unknown = Object.keys(value).filter((key) => shape[key] === undefined);
  const known = Object.entries(shape).flatMap(([key, check]) => {
    const fault = check(value[key]);
    return fault === null ? [] : [`${at}${key} ${fault}`];
  });
  return [...known, ...unknown.map((key) => `${at}${key} is no field of a plan`)];
}
