import { defaultTimeoutSeconds, MOST_VIRTUAL_USERS, measuredLevels, type Plan, PlanError, scheduleOf } from './plan.ts';
import { SERVER_VARIABLE } from './registry.ts';
import { settingTable } from './setting-table.ts';
import type { Settings } from './settings.ts';
import { thresholdsOf } from './thresholds.ts';
import type { Workload } from './workload.ts';

/** Tags of every request sample; what is left out (url, ip, proto, ...) would only cost memory and cardinality. */
const SYSTEM_TAGS = ['scenario', 'name', 'status', 'error_code', 'expected_response', 'group'];
/** Every request of setup() has its own timeout, so setup itself needs no tighter one. */
const SETUP_TIMEOUT = '24h';

const milliseconds = (seconds: number): string => `${Math.round(seconds * 1000)}ms`;

/** One ramping-vus scenario a server: each server is held at exactly the level, a slow one cannot shed load to others. */
export function rampScenarios(plan: Plan): Record<string, object> {
  const stages = scheduleOf(plan).stages.map((stage) => ({
    duration: milliseconds(stage.seconds),
    target: stage.target,
  }));
  // k6's defaults of 30 s would cut requests and lose their tokens; +5 s lets the timeout itself be counted.
  const grace = milliseconds(plan.timeoutSeconds + 5);
  return Object.fromEntries(
    plan.servers.map(({ name }) => [
      name,
      {
        executor: 'ramping-vus',
        startVUs: 1,
        stages,
        gracefulStop: grace,
        gracefulRampDown: grace,
        tags: { server: name },
        env: { [SERVER_VARIABLE]: name },
      },
    ]),
  );
}

/** k6's options of a ramp. */
export function rampOptions(plan: Plan, settings: Settings, runId: string): object {
  const levels = measuredLevels(scheduleOf(plan)).map((level) => level.tag);
  const thresholds = thresholdsOf(
    plan.servers.map((server) => server.name),
    levels,
  );
  return { ...commonOptions(settings, runId), scenarios: rampScenarios(plan), thresholds };
}

/** k6's options of a script that does its work in setup() and leaves one empty iteration. */
export function probeOptions(name: string, settings: Settings, runId: string): object {
  return {
    ...commonOptions(settings, runId),
    scenarios: { [name]: { executor: 'shared-iterations', vus: 1, iterations: 1 } },
  };
}

function commonOptions(settings: Settings, runId: string): object {
  return {
    setupTimeout: SETUP_TIMEOUT,
    systemTags: SYSTEM_TAGS,
    summaryTrendStats: ['count', 'avg', 'min', 'med', 'max', 'p(90)', 'p(99)'],
    insecureSkipTLSVerify: settings.tlsInsecure,
    tags: { testid: runId },
  };
}

/** What the plan and the settings disagree on, as one line each; nothing may run with two truths. */
export function planFaults(
  plan: Plan,
  settings: Settings,
  differences: (a: Workload) => readonly string[],
): readonly string[] {
  const planned = plan.servers.map((server) => server.name).sort();
  const given = settings.servers.map((server) => server.name).sort();
  const faults = differences(plan.workload).map(
    (difference) => `the plan was made for another workload, ${difference} (plan / settings)`,
  );
  if (planned.join() !== given.join()) {
    faults.push(`the plan is for the servers ${planned.join(', ')}, the settings name ${given.join(', ')}`);
  }
  faults.push(...overruled(plan, settings));
  const longest = Math.max(...plan.levels.map((level) => level.requestSeconds));
  if (plan.timeoutSeconds < 1.5 * longest) {
    faults.push(`the timeout of ${plan.timeoutSeconds} s is below 1.5 x the longest R of ${longest} s`);
  }
  const virtualUsers = Math.max(...plan.levels.map((level) => level.inFlight)) * plan.servers.length;
  if (virtualUsers > MOST_VIRTUAL_USERS) {
    faults.push(
      `the plan needs ${virtualUsers} virtual users, at most ${MOST_VIRTUAL_USERS} fit one k6: give lower --levels or --limit`,
    );
  }
  const long = tooLong(plan, settings);
  const renew = faults.map((fault) => `${fault}; renew the plan with: npm run discover`);
  return long === null ? renew : [...renew, long];
}

/** Settings that only shape a plan have no say beside one: whoever gives another value must not believe that it counted. */
function overruled(plan: Plan, settings: Settings): readonly string[] {
  const planned = plan.levels.map((level) => level.inFlight).join(', ');
  const { hold, closingBaseline, overLimit, requestSeconds } = settings;
  const table = settingTable();
  // A default may stand for "not given": only another value was surely meant.
  const meant = <T>(value: T, fallback: T): string | undefined => (value === fallback ? undefined : String(value));
  const seconds = plan.levels.map(
    (level, index) => requestSeconds?.[index] ?? requestSeconds?.[0] ?? level.requestSeconds,
  );
  const rows: readonly (readonly [what: string, planned: string, given: string | undefined])[] = [
    ['levels', planned, settings.levels?.join(', ')],
    ['limit', String(plan.limit), settings.limit?.toString()],
    ['timeout', String(plan.timeoutSeconds), settings.timeoutSeconds?.toString()],
    ['R (seconds)', plan.levels.map((level) => level.requestSeconds).join(', '), seconds.join(', ')],
    [
      'level over the limit',
      String(plan.levels.some((level) => level.overLimit)),
      meant(overLimit, table.overLimit.fallback),
    ],
    ['hold', String(plan.hold), meant(hold, table.hold.fallback)],
    ['closing baseline', String(plan.closingBaseline), meant(closingBaseline, table.closingBaseline.fallback)],
  ];
  return rows
    .filter(([, ours, given]) => given !== undefined && given !== ours)
    .map(([what, ours, given]) => `the plan has the ${what} ${ours}, the settings give ${given}`);
}

/** Why a plan takes longer than the settings allow, or null. */
export function tooLong(plan: Plan, { maxMinutes }: Pick<Settings, 'maxMinutes'>): string | null {
  const minutes = scheduleOf(plan).totalSeconds / 60;
  if (maxMinutes === null || minutes <= maxMinutes) return null;
  return `the plan takes ${minutes.toFixed(2)} minutes, TOKRAMP_MAX_MINUTES allows ${maxMinutes}: plan fewer levels or a shorter hold, or allow more`;
}

/** A plan from settings alone: possible if limit, levels and R are all given. */
export function planFromSettings(
  settings: Settings,
  about: { readonly workload: Workload; readonly createdAt: string },
): Plan {
  const { limit, levels, requestSeconds } = settings;
  if (limit === null || levels === null || requestSeconds === null) {
    throw new PlanError(
      'there is no plan: make one with `npm run discover` (or `k6 run scenarios/discover.js`), name one with TOKRAMP_PLAN, ' +
        'or give all of TOKRAMP_LIMIT, TOKRAMP_LEVELS and TOKRAMP_REQUEST_SECONDS',
    );
  }
  const secondsAt = (index: number): number => requestSeconds[index] ?? requestSeconds[0] ?? 0;
  const planned = levels.map((inFlight, index) => ({
    inFlight,
    overLimit: inFlight > limit,
    requestSeconds: secondsAt(index),
  }));
  return {
    schemaVersion: 1,
    kind: 'tokramp plan',
    createdAt: about.createdAt,
    assumed: true,
    promptTokens: null,
    inputLength: null,
    outputLength: settings.stop === 'fixed' ? { mean: settings.maxTokens, error: 0 } : null,
    cachedShare: null,
    hold: settings.hold,
    closingBaseline: settings.closingBaseline,
    timeoutSeconds: settings.timeoutSeconds ?? defaultTimeoutSeconds(Math.max(...requestSeconds)),
    limit,
    pool: 'given',
    servers: settings.servers.map(({ name }) => ({
      name,
      limit,
      pool: 'given',
      requestSecondsAtOne: null,
      requestSecondsAtLimit: null,
    })),
    levels: planned,
    workload: about.workload,
    subject: null,
  };
}
