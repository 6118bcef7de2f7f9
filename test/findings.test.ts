import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FLEET, refusedClaims, verdictOf } from '../lib/claims.ts';
import { judge } from '../lib/judge.ts';
import { type Plan, scheduleOf } from '../lib/plan.ts';
import type { Finding, RunResult, ServerRecord } from '../lib/result.ts';
import { RULES } from '../lib/rules.ts';
import { summarise } from '../lib/summary.ts';
import { contextFor, planFor, serverFor } from './factories.ts';
import { heldExactly, type K6Data } from './k6-data.ts';

const STARTED = 1_800_000_000_000;
const evenly = (_server: string, inFlight: number): number => 30 * inFlight;

interface Change {
  readonly plan?: Plan;
  readonly servers?: readonly ServerRecord[];
  readonly rate?: (server: string, inFlight: number) => number;
  readonly endedAfterSeconds?: number;
  readonly edit?: (data: K6Data) => void;
}

/** A faultless run with one thing changed, judged. */
function judged(change: Change): RunResult {
  const plan = change.plan ?? planFor({});
  const data = heldExactly(plan, change.rate ?? evenly, STARTED);
  change.edit?.(data);
  const elapsed = change.endedAfterSeconds ?? scheduleOf(plan).totalSeconds + 1;
  const context = contextFor(plan, change.servers === undefined ? {} : { servers: change.servers });
  return judge(summarise({ data, context, plan, runName: null, tool: 't', now: STARTED + elapsed * 1000 }));
}

const fired = (run: RunResult): readonly string[] =>
  [...new Set(run.findings.map((finding: Finding) => `${finding.severity} ${finding.rule}`))].sort();

const window = (tag: string): number => {
  const level = scheduleOf(planFor({})).levels.find((entry) => entry.tag === tag);
  if (level === undefined) throw new Error(`no level ${tag}`);
  return level.windowEnd - level.windowStart;
};

const S1 = { server: 's1' };
const AT_TOP = { server: 's1', level: 'l1' };

test('a faultless run fires nothing and every claim of it is valid', () => {
  const run = judged({});
  assert.deepEqual(run.findings, []);
  assert.ok(run.verdicts.every((verdict) => verdict.verdict === 'valid'));
});

/** Each row: what was changed, and what must fire; the row after it is just inside the bound. */
const ROWS: readonly (readonly [string, Change, readonly string[]])[] = [
  [
    'V1: a server completed nothing',
    {
      edit: (data) => {
        for (const level of ['l0', 'l1', 'closing'])
          data.set('answered', { server: 's1', level }, { passes: 0, fails: 1, rate: 0 });
      },
    },
    ['flag V2', 'refuse V1'],
  ],
  [
    'V1: one completed request is enough',
    {
      edit: (data) => {
        data.set('answered', { server: 's1', level: 'l0' }, { passes: 0, fails: 0 });
        data.set('answered', AT_TOP, { passes: 1, fails: 0 });
      },
    },
    [],
  ],
  [
    'V2: one failure is a flag, however few requests there are',
    { edit: (data) => data.set('answered', AT_TOP, { passes: 4, fails: 1 }) },
    ['flag V2'],
  ],
  [
    'V2: two failures above 2 % of a server refuse',
    { edit: (data) => data.set('answered', AT_TOP, { passes: 97, fails: 2 }) },
    ['refuse V2'],
  ],
  [
    'V2: two failures at 0.5 % of the fleet and below 2 % of a server are a flag',
    {
      edit: (data) => {
        data.set('answered', AT_TOP, { passes: 398, fails: 2 });
        data.set('answered', { server: 's0', level: 'l1' }, { passes: 0, fails: 0 });
      },
    },
    ['flag V2'],
  ],
  [
    'V2: two failures above 0.5 % of the fleet refuse',
    {
      edit: (data) => {
        data.set('answered', AT_TOP, { passes: 397, fails: 2 });
        data.set('answered', { server: 's0', level: 'l1' }, { passes: 0, fails: 0 });
      },
    },
    ['flag V2', 'refuse V2'],
  ],
  [
    'V3: a server is missing',
    { servers: [serverFor('s0'), serverFor('s1', { absent: 'cannot be reached' })] },
    ['refuse V3'],
  ],
  [
    'V4: an answer had no usable token count',
    {
      edit: (data) =>
        data.set('requests', { ...S1, outcome: 'malformed' }, { count: 1 }).set('requestsStarted', S1, { count: 13 }),
    },
    ['refuse V4'],
  ],
  ['V5: a request was cut off', { edit: (data) => data.set('requestsStarted', S1, { count: 13 }) }, ['refuse V5']],
  ['V6: the hold is below 2 R', { edit: (data) => data.set('requestDuration', AT_TOP, { med: 3010 }) }, ['refuse V6']],
  [
    'V6: a window of exactly R is long enough, a hold of 2 R too',
    { edit: (data) => data.set('requestDuration', AT_TOP, { med: 3000 }) },
    [],
  ],
  [
    'V6: R was longer than stagger and hold together, so that no request of the hold ended in it',
    { edit: (data) => data.set('requestDuration', AT_TOP, { count: 0 }) },
    ['refuse V6'],
  ],
  [
    'V6: where failures are why there is no R, they are the finding',
    {
      edit: (data) => {
        data.set('requestDuration', AT_TOP, { count: 0 });
        data.set('answered', AT_TOP, { passes: 4, fails: 2 });
      },
    },
    ['refuse V2'],
  ],
  [
    'V11: pro-rating lost a token',
    { edit: (data) => data.set('outputTokens', { ...S1, level: 'outside' }, { count: 1 }) },
    ['refuse V11'],
  ],
  [
    'V11: rounding is no loss',
    { edit: (data) => data.set('outputTokens', { ...S1, level: 'outside' }, { count: 1e-5 }) },
    [],
  ],
  [
    'V12: the last warm-up rounds disagree',
    {
      servers: [
        serverFor('s0'),
        serverFor('s1', { warmUp: { requests: 20, roundSeconds: [2, 1], agreed: false, requestSecondsAtOne: 1 } }),
      ],
    },
    ['refuse V12'],
  ],
  [
    'V12: only two warm-up requests',
    {
      servers: [
        serverFor('s0'),
        serverFor('s1', { warmUp: { requests: 2, roundSeconds: [1, 1], agreed: true, requestSecondsAtOne: 1 } }),
      ],
    },
    ['refuse V12'],
  ],
  ['V13: level 1 fell by 3.1 % during the run', { edit: (data) => closingAt(data, 0.969) }, ['flag V13']],
  ['V13: level 1 fell by 2.9 %', { edit: (data) => closingAt(data, 0.971) }, []],
  ['V13: level 1 rose by 10.1 %', { edit: (data) => closingAt(data, 1.101) }, ['refuse V13']],
  [
    'V15: an answer was shorter than asked',
    {
      edit: (data) =>
        data
          .set('requests', { ...S1, outcome: 'truncated' }, { count: 1 })
          .set('requestsStarted', S1, { count: 13 })
          .set('promptTokens', S1, { count: 1300 }),
    },
    ['refuse V15'],
  ],
  [
    'V17: prompts are 2.1 % longer than planned',
    { edit: (data) => data.set('promptTokens', S1, { count: 1.021 * 1200 }) },
    ['flag V17'],
  ],
  [
    'V17: answers are 2.1 % longer, but the plan itself knew their mean to 0.6 % only',
    { plan: planFor({ outputLength: { mean: 37.5 / 1.021, error: 0.006 } }) },
    [],
  ],
  // 12 answers hold 450 tokens: 37.5 each.
  [
    'V17: answers are 2.1 % longer than planned',
    { plan: planFor({ outputLength: { mean: 37.5 / 1.021, error: 0 } }) },
    ['flag V17'],
  ],
  [
    'V17: answers are 1.9 % longer than planned',
    { plan: planFor({ outputLength: { mean: 37.5 / 1.019, error: 0 } }) },
    [],
  ],
  [
    'V17: prompts are 1.9 % longer than planned',
    { edit: (data) => data.set('promptTokens', S1, { count: 1.019 * 1200 }) },
    [],
  ],
  [
    'V18: 6 % of the prompt tokens were cached',
    { edit: (data) => data.set('cachedTokens', S1, { count: 72 }) },
    ['flag V18'],
  ],
  ['V18: 5 % of the prompt tokens were cached', { edit: (data) => data.set('cachedTokens', S1, { count: 60 }) }, []],
  ['V19: one server is 12 % slower', { rate: (server, n) => (server === 's1' ? 30 / 1.12 : 30) * n }, ['flag V19']],
  ['V19: one server is 9 % slower', { rate: (server, n) => (server === 's1' ? 30 / 1.09 : 30) * n }, []],
  [
    'V19: one server has half the speed',
    { rate: (server, n) => (server === 's1' ? 15 : 30) * n },
    ['flag V19', 'refuse V19'],
  ],
  [
    'V21: 1.1 % too few in flight',
    { edit: (data) => data.set('inFlightSeconds', AT_TOP, { count: 0.989 * 4 * window('l1') }) },
    ['flag V21'],
  ],
  [
    'V21: 0.9 % too few in flight',
    { edit: (data) => data.set('inFlightSeconds', AT_TOP, { count: 0.991 * 4 * window('l1') }) },
    [],
  ],
  [
    'V21: 5.1 % too few in flight',
    { edit: (data) => data.set('inFlightSeconds', AT_TOP, { count: 0.949 * 4 * window('l1') }) },
    ['refuse V21'],
  ],
  ['V35: a request came close to the timeout', { plan: planFor({ timeoutSeconds: 2.7 }) }, ['refuse V35']],
  ['V35: a timeout of 1.5 x the longest request', { plan: planFor({ timeoutSeconds: 2.73 }) }, []],
  [
    'V37: a server has another version',
    {
      servers: [
        serverFor('s0'),
        serverFor('s1', { subject: { servedModel: 'tiny', engine: 'sglang', version: '0.5.24', tp: 1 } }),
      ],
    },
    ['refuse V37'],
  ],
  [
    'V37: another served name of the same model is no difference, as before the run',
    {
      servers: [
        serverFor('s0'),
        serverFor('s1', { subject: { servedModel: 'mine', engine: 'sglang', version: '0.5.23', tp: 1 } }),
      ],
    },
    [],
  ],
];

for (const [name, change, expected] of ROWS) {
  test(name, () => {
    assert.deepEqual(fired(judged(change)), expected);
  });
}

test('V5: what an interruption cuts off is a note, since unfinished windows have no figure anyway', () => {
  const run = judged({ endedAfterSeconds: 15, edit: (data) => data.set('requestsStarted', S1, { count: 20 }) });
  assert.deepEqual(fired(run), ['note V5']);
});

test('every rule of the table can fire: a row here names it', () => {
  const named = new Set(ROWS.flatMap(([, , expected]) => expected.map((entry) => entry.split(' ')[1])));
  assert.deepEqual([...named].sort(), Object.keys(RULES).sort());
});

test('a finding refuses only the claims it is about, and a refused sum what rests on it', () => {
  const failed = judged({ edit: (data) => data.set('answered', AT_TOP, { passes: 50, fails: 2 }) });
  assert.deepEqual(refusedClaims(failed), ['level:l1', 'server:s1']);
  const cold = judged({
    servers: [
      serverFor('s0'),
      serverFor('s1', { warmUp: { requests: 9, roundSeconds: [2, 1], agreed: false, requestSecondsAtOne: 1 } }),
    ],
  });
  assert.deepEqual(refusedClaims(cold), ['efficiency']);
  const dead = judged({ servers: [serverFor('s0'), serverFor('s1', { absent: 'gone' })] });
  assert.deepEqual(refusedClaims(dead), ['fleet', 'level:l0', 'level:l1', 'server:s1', 'efficiency']);
  const slow = judged({ rate: (server, n) => (server === 's1' ? 15 : 30) * n });
  assert.deepEqual(refusedClaims(slow), []);
  assert.equal(verdictOf(slow, FLEET), 'flagged');
  assert.equal(slow.findings[0]?.server, 's1', 'the slow server is named');
});

function closingAt(data: K6Data, factor: number): void {
  const plan = planFor({});
  const closing = scheduleOf(plan).closing;
  if (closing === null) throw new Error('a closing baseline expected');
  const full = 30 * (closing.windowEnd - closing.windowStart);
  for (const { name } of plan.servers) {
    data.set('outputTokens', { server: name, level: 'closing' }, { count: full * factor });
    data.set('outputTokens', { server: name, level: 'outside' }, { count: full * (1 - factor) });
  }
}
