import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { RunResult, ServerLedger } from '../lib/result.ts';
import type { Cluster, SimServer } from '../sim/cluster.ts';
import type { FaultState } from '../sim/faults.ts';
import { requestSeconds, TABLE_LIMIT, TABLE_PROFILE, TABLE_TOKENS } from './e2e-fleet.ts';
import { claimsWith, countsOf, findingsIn, type Row, rampRow, type ServerCounts } from './e2e-row.ts';

/** What setup() sends to a server by a plan: three singles of 16 tokens, rounds of 64 at the limit, one of full length. */
function warmUpOf(run: RunResult, server: string): { readonly requests: number; readonly tokens: number } {
  // Two rounds, more where a busy machine makes them differ: the result says how many.
  const rounds = run.servers.find((entry) => entry.name === server)?.warmUp?.roundSeconds.length ?? 0;
  assert.ok(rounds >= 2, `${rounds} rounds`);
  return { requests: 3 + rounds * TABLE_LIMIT + 1, tokens: 3 * 16 + rounds * TABLE_LIMIT * 64 + TABLE_TOKENS };
}

type Failure = Exclude<keyof typeof LEDGER_RULES, 'none'>;

interface Expected {
  readonly k6: number;
  readonly cli: number;
  readonly findings: readonly string[];
  readonly refused: readonly string[];
  readonly flagged: readonly string[];
  /** How the requests of a server failed; servers that are not named failed none. */
  readonly failures: Readonly<Record<string, Failure>>;
}

interface Seen {
  readonly ledger: ServerLedger;
  readonly counts: ServerCounts;
  readonly server: SimServer;
}

/** What client and server must agree on, request by request and token by token, for each way to fail. */
const LEDGER_RULES = {
  none: ({ ledger, counts }: Seen) => {
    assert.deepEqual(counts.statuses, { 200: ledger.finished });
    assert.equal(counts.tokens, ledger.answerTokens);
  },
  rejected: ({ ledger, counts }: Seen) => {
    const { 200: fine, ...refused } = counts.statuses;
    assert.equal(fine, ledger.outcomes['completed']);
    assert.deepEqual(Object.values(refused), [ledger.outcomes['rejected']]);
    assert.equal(counts.tokens, ledger.answerTokens);
  },
  malformed: ({ ledger, counts }: Seen) => {
    assert.equal(counts.requests, ledger.finished);
    assert.equal(counts.tokens, ledger.answerTokens + (ledger.outcomes['malformed'] ?? 0) * TABLE_TOKENS);
  },
  aborted: ({ ledger, counts }: Seen) => {
    assert.equal(counts.requests, ledger.finished);
    assert.equal(ledger.finishReasons['none'], ledger.outcomes['aborted']);
  },
  truncated: ({ ledger, counts }: Seen) => {
    assert.equal(counts.requests, ledger.finished);
    assert.equal(counts.tokens, ledger.answerTokens);
  },
  timedOut: ({ ledger, counts }: Seen) => {
    assert.equal(counts.received, ledger.finished);
    assert.deepEqual(counts.statuses, { 200: ledger.outcomes['completed'] });
    assert.equal(counts.tokens, ledger.answerTokens);
  },
  unreachable: ({ ledger, counts, server }: Seen) => {
    assert.equal(server.truth().tokensSent, ledger.answerTokens);
    // A server counts what it had in flight when it died; nobody got an answer to it.
    const cut = counts.requests - (ledger.outcomes['completed'] ?? 0);
    assert.ok(cut >= 0 && cut <= TABLE_LIMIT, `${cut} cut`);
  },
} as const;

/** The tokens of every answer of a shorter length that a truncated row brings. */
const shortLength = (faults: FaultState): number => faults.stopEarlyAt ?? faults.clampTo ?? 0;

async function checkLedgers(cluster: Cluster, run: RunResult, expected: Expected): Promise<void> {
  for (const server of cluster.servers) {
    const ledger = run.ledger.find((entry) => entry.name === server.name);
    assert.ok(ledger !== undefined);
    const length = shortLength(server.faults.state);
    const seen = { ledger, counts: await countsOf(server), server };
    const failure = expected.failures[server.name] ?? 'none';
    const { completed = 0, [failure]: failed = 0, ...others } = ledger.outcomes;
    assert.equal(ledger.started, ledger.finished, `${server.name}: nothing is cut`);
    const warmUp = warmUpOf(run, server.name);
    assert.equal(ledger.warmUpRequests, warmUp.requests);
    assert.equal(completed + failed, ledger.finished, `${server.name}: ${JSON.stringify(ledger.outcomes)}`);
    assert.ok(Object.values(others).every((count) => count === 0));
    assert.equal(failed > 0, failure !== 'none', `${server.name}: ${failed} ${failure}`);
    const full = warmUp.tokens + (completed - warmUp.requests) * TABLE_TOKENS;
    assert.equal(ledger.answerTokens, full + (failure === 'truncated' ? failed * length : 0), server.name);
    LEDGER_RULES[failure](seen);
  }
}

/** Whatever happens, no report has a figure that is not a number; a warning may quote what a server sent. */
function checkText(lines: readonly string[]): void {
  for (const line of lines.filter((each) => !each.startsWith('warning: ')))
    assert.doesNotMatch(line, /NaN|Infinity|undefined|null|\[object/);
}

/** What follows from refused claims: without a sum of the fleet no level has one, and a refused run is no baseline. */
function withImplied(refused: readonly string[], run: RunResult): readonly string[] {
  const sums = refused.includes('fleet') ? ['efficiency', ...run.levels.map((level) => `level:${level.tag}`)] : [];
  return [...new Set([...refused, ...sums, ...(refused.length > 0 ? ['baseline'] : [])])].sort();
}

async function checkRow(t: TestContext, row: Row, expected: Expected) {
  const end = await rampRow(t, row);
  const said = end.lines.join('\n');
  assert.ok(end.run !== null, said);
  assert.deepEqual(findingsIn(end.run), [...expected.findings].sort(), said);
  assert.deepEqual([...claimsWith(end.run, 'refused')].sort(), withImplied(expected.refused, end.run), said);
  assert.deepEqual(claimsWith(end.run, 'flagged'), expected.flagged, said);
  assert.deepEqual({ k6: end.k6Code, cli: end.code }, { k6: expected.k6, cli: expected.cli }, said);
  await checkLedgers(end.cluster, end.run, expected);
  checkText(end.lines);
  return { ...end, run: end.run, said };
}

const set = (index: number, change: Partial<FaultState>) => (cluster: Cluster) => {
  const server = cluster.servers[index];
  assert.ok(server !== undefined);
  return server.faults.set(change);
};

/** Sets faults on s1, s2, ... at once. */
const setEach = (changes: readonly Partial<FaultState>[]) => (cluster: Cluster) =>
  Promise.all(changes.map((change, index) => set(index + 1, change)(cluster)));

const FINE: Expected = { k6: 0, cli: 0, findings: [], refused: [], flagged: [], failures: {} };

test('all well: client and servers count the same requests and tokens, and nothing fires', async (t) => {
  await checkRow(t, { levels: '1,2,4' }, FINE);
});

/**
 * A cold start that takes longer than a level, paid in the warm-up. V21 is silent, so each server held its level within 1 %;
 * the clock's steps of 1 ms at both edges of a window of 1.2 s add 0.2 %.
 */
test('a cold start longer than a level is paid by the warm-up and is in no figure', async (t) => {
  const { run } = await checkRow(t, { fleet: { profile: { ...TABLE_PROFILE, coldStartMs: 4_000 } } }, FINE);
  for (const { inFlight, servers } of run.levels) {
    const steady = (inFlight * TABLE_TOKENS) / requestSeconds(TABLE_PROFILE, inFlight, TABLE_TOKENS);
    for (const { tokensPerSecond } of servers) {
      assert.ok(Math.abs((tokensPerSecond ?? 0) / steady - 1) < 0.012, `${tokensPerSecond} instead of ${steady}`);
    }
  }
});

test('a cold start in the middle that is longer than the level refuses the level', async (t) => {
  const row: Row = { fleet: { profile: { ...TABLE_PROFILE, coldStartMs: 4_000 } }, during: set(1, { cold: true }) };
  const findings = ['refuse V6 s1 l1', 'flag V19 s1 l1', 'refuse V19 s1 l1'];
  const refused = ['level:l1', 'server:s1', 'fit', 'forecast'];
  const { said } = await checkRow(t, row, { ...FINE, cli: 3, findings, refused, flagged: ['fleet'] });
  assert.match(said, /At the limit: +no fleet figure at 4 in flight per server .*refused, see above/);
});

test('a server that is 15 % slower is named and flagged; the sum stands', async (t) => {
  const findings = ['flag V19 s1 l0', 'flag V19 s1 l1'];
  const flagged = ['fleet', 'level:l0', 'level:l1', 'baseline'];
  const { said } = await checkRow(t, { before: set(1, { slow: 1.15 }) }, { ...FINE, findings, flagged });
  assert.match(said, /flag V19 s1, level 4: servers of unequal speed: fastest \/ slowest = 1\.15/);
  assert.match(said, /At the limit: +\S+ output tok\/s .*\[flagged, see above\]/);
});

test('a server that falls to half speed is named, and its level is refused', async (t) => {
  const findings = ['refuse V6 s1 l1', 'flag V19 s1 l1', 'refuse V19 s1 l1'];
  const refused = ['level:l1', 'server:s1', 'fit', 'forecast'];
  const expected: Expected = { ...FINE, cli: 3, findings, refused, flagged: ['fleet'] };
  const { run } = await checkRow(t, { during: set(1, { slow: 2 }) }, expected);
  // R at half speed is 2.03 s; a request that began before takes less, so the median is of whole ones.
  const median = run.levels[1]?.servers[1]?.requestDuration?.p50Seconds ?? 0;
  assert.ok(Math.abs(median / (2 * requestSeconds(TABLE_PROFILE, TABLE_LIMIT, TABLE_TOKENS)) - 1) < 0.02, `${median}`);
});

/** Those that fail at once leave nothing in flight; so do 1 s of work and back-offs of 0.5, 1 and 2 s, by a quarter and more. */
const failing = (...servers: readonly string[]): readonly string[] =>
  servers.flatMap((server) => [`refuse V2 ${server} l1`, `refuse V21 ${server} l1`]);

test('errors of HTTP from the second level on: 500, queue full, 401, and a 502 page of a proxy', async (t) => {
  const faults = (['status-500', 'queue-full', 'unauthorized', 'bad-gateway'] as const).map((answer) => ({ answer }));
  const { said } = await checkRow(
    t,
    { fleet: { count: 5 }, during: setEach(faults) },
    {
      k6: 0,
      cli: 3,
      findings: [...failing('s1', 's2', 's3', 's4'), 'refuse V2 l1'],
      refused: ['level:l1', 'server:s1', 'server:s2', 'server:s3', 'server:s4'],
      flagged: [],
      failures: { s1: 'rejected', s2: 'rejected', s3: 'rejected', s4: 'rejected' },
    },
  );
  assert.match(said, /warning: s1: rejected, HTTP 500: "Internal Server Error"/);
  assert.match(said, /warning: s2: rejected, HTTP 503: The request queue is full\./);
  assert.match(said, /warning: s3: rejected, HTTP 401: Unauthorized/);
  assert.match(said, /warning: s4: rejected, HTTP 502: HTML page "502 Bad Gateway"/);
});

test('answers that cannot be counted never count: no usage, broken JSON, a count that is text, 0, negative or null', async (t) => {
  const answers = [
    'no-usage',
    'truncated-json',
    'tokens-as-text',
    'tokens-zero',
    'tokens-negative',
    'tokens-null',
  ] as const;
  const servers = answers.map((_, index) => `s${index + 1}`);
  const { said } = await checkRow(
    t,
    { fleet: { count: 7 }, during: setEach(answers.map((answer) => ({ answer }))) },
    {
      k6: 0,
      cli: 3,
      findings: [...failing(...servers), ...servers.map((server) => `refuse V4 ${server}`), 'refuse V2 l1'],
      refused: ['fleet', 'level:l1', ...servers.map((server) => `server:${server}`)],
      flagged: [],
      failures: Object.fromEntries(servers.map((server) => [server, 'malformed'])),
    },
  );
  assert.match(said, /warning: s1: malformed, meta_info\.completion_tokens: missing/);
  assert.match(said, /warning: s2: malformed, not JSON: /);
  assert.match(said, /warning: s3: malformed, meta_info\.completion_tokens: "384" instead of a whole number above 0/);
  assert.match(said, /warning: s4: malformed, meta_info\.completion_tokens: 0 instead/);
  assert.match(said, /warning: s5: malformed, meta_info\.completion_tokens: -1 instead/);
  assert.match(said, /warning: s6: malformed, meta_info\.completion_tokens: null instead/);
});

test('aborted, stopped early under ignore_eos and silently clamped: each is another outcome, and none is hidden', async (t) => {
  const faults = [{ answer: 'abort' }, { stopEarlyAt: 40 }, { clampTo: 30 }] as const;
  const { run } = await checkRow(
    t,
    { fleet: { count: 4 }, during: setEach(faults) },
    {
      k6: 0,
      cli: 3,
      findings: [
        ...failing('s1'),
        'refuse V2 l1',
        'refuse V2 s2 l1',
        'refuse V2 s3 l1',
        'refuse V15 s2',
        'refuse V15 s3',
        'flag V17 s2',
        'flag V17 s3',
      ],
      refused: ['fleet', 'level:l1', 'server:s1', 'server:s2', 'server:s3'],
      flagged: ['forecast'],
      failures: { s1: 'aborted', s2: 'truncated', s3: 'truncated' },
    },
  );
  const reasons = run.ledger.map(({ outcomes, finishReasons }) => [finishReasons['stop'], outcomes['truncated']]);
  assert.deepEqual(reasons[2]?.[0], reasons[2]?.[1], 'stopped early is finish_reason stop');
  assert.equal(reasons[3]?.[0], 0, 'clamped is finish_reason length');
});

test('a server that hangs from the second level on: its timeouts are counted, none is lost', async (t) => {
  await checkRow(
    t,
    { during: set(1, { hang: true }), change: { timeoutSeconds: 1.7 } },
    {
      k6: 0,
      cli: 3,
      findings: [...failing('s1'), 'refuse V2 l1'],
      refused: ['level:l1', 'server:s1'],
      flagged: [],
      failures: { s1: 'timedOut' },
    },
  );
});

/** By then the last request of the first level has ended on every server, and none of the second has: R is 1 s. */
const SETTLED_MS = 300;

test('a server that dies is named, refuses the fleet sum, and is not hammered', async (t) => {
  const { run, said } = await checkRow(
    t,
    { levels: '1,2,4', during: (cluster) => pause(SETTLED_MS).then(() => set(1, { dead: true })(cluster)) },
    {
      k6: 99,
      cli: 3,
      findings: [
        'refuse V1 s1 l1',
        'refuse V1 s1 l2',
        'refuse V2 s1 l1',
        'refuse V2 s1 l2',
        'refuse V2 l1',
        'refuse V2 l2',
        'refuse V21 s1 l1',
        'refuse V21 s1 l2',
      ],
      refused: ['fleet', 'level:l1', 'level:l2', 'server:s1'],
      flagged: [],
      failures: { s1: 'unreachable' },
    },
  );
  assert.match(said, /warning: s1: unreachable, dial: connection refused/);
  assert.match(said, /thresholds on metrics .*answered\{server:s1,level:l2\}.* have been crossed/);
  // With back-offs of 0.5, 1, 2, 4 s the fifth attempt of a VU comes after 7.5 s and the sixth after 15.5 s; what is left of
  // the run when the server dies is 10 s at most.
  const attempts = run.ledger[1]?.outcomes['unreachable'] ?? 0;
  assert.ok(attempts >= TABLE_LIMIT && attempts <= 5 * TABLE_LIMIT, `${attempts} attempts`);
});

test('with TOKRAMP_MIN_SERVERS a run goes on without a dead server: its sum is refused, the others keep their figures', async (t) => {
  const end = await rampRow(t, { before: set(1, { dead: true }), environment: { TOKRAMP_MIN_SERVERS: '1' } });
  const said = end.lines.join('\n');
  assert.ok(end.run !== null, said);
  assert.deepEqual({ k6: end.k6Code, cli: end.code }, { k6: 99, cli: 3 }, said);
  assert.deepEqual(findingsIn(end.run), ['refuse V3 s1']);
  assert.deepEqual(
    [...claimsWith(end.run, 'refused')].sort(),
    withImplied(['fleet', 'server:s1', 'fit', 'forecast'], end.run),
  );
  assert.match(said, /goes on without s1 http:\/\/127\.0\.0\.1:\d+ cannot be reached \(dial: connection refused\)/);
  assert.match(said, /^ +s0 +1,5\d\d .* 4, max running$/m);
  assert.match(said, /^ +s1 +- +0 +0 +none .*cannot be reached/m);
  assert.equal(end.run.ledger[1]?.started, 0);
});
