import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Cluster } from '../sim/cluster.ts';
import type { FaultState } from '../sim/faults.ts';
import { fleetFor, folderFor, runCli } from './e2e-fleet.ts';
import { countsOf, type Row, rampRow } from './e2e-row.ts';

const URL = String.raw`http://127\.0\.0\.1:\d+`;

const set = (index: number, change: Partial<FaultState>) => (cluster: Cluster) => {
  const server = cluster.servers[index];
  assert.ok(server !== undefined);
  return server.faults.set(change);
};

interface Refusal {
  readonly name: string;
  readonly row: Row;
  /** Every error line, in any order; k6's own last line is checked for all. */
  readonly errors: readonly RegExp[];
  /** Whether requests were sent before the refusal: only where R itself is the fault. */
  readonly isWarmed?: boolean;
}

/** What a fleet must not be when a ramp starts: each is a line that names the server, and nothing is measured. */
const REFUSALS: readonly Refusal[] = [
  {
    name: 'one server dead from the start',
    row: { before: set(1, { dead: true }) },
    errors: [new RegExp(`^s1 ${URL} cannot be reached \\(dial: connection refused\\)$`)],
  },
  {
    name: 'a server that is not ready',
    row: { before: set(1, { notReady: true }) },
    errors: [new RegExp(`^s1 ${URL} is not ready: GET /health answered 503$`)],
  },
  {
    name: 'one server with another model',
    row: { before: set(1, { model: 'other' }) },
    errors: [/^s1 is unlike s0: model: simulated-27b \/ other$/],
  },
  {
    name: 'a limit that changed since the plan',
    row: { before: set(1, { maxRunning: 3 }) },
    errors: [
      /^s1 has another limit: limit 3 \(max running\) now, 4 \(max running\) in the plan; renew the plan with: npm run discover$/,
    ],
  },
  {
    name: 'a server that is busy',
    row: { before: set(1, { busy: 2 }) },
    errors: [new RegExp(`^s1 ${URL} is busy: 2 requests running, 0 queued; it must be idle$`)],
  },
  {
    name: 'R 1.5 times the plan on every server',
    row: {
      before: (cluster) => Promise.all(cluster.servers.map((server) => server.faults.set({ slow: 1.5 }))),
    },
    errors: ['s0', 's1'].map(
      (name) =>
        new RegExp(
          `^${name}: slower than planned: R at level 1 is 1\\.[45]\\d s, 0\\.99 s in the plan \\(more than 20 % above\\); renew the plan with: npm run discover$`,
        ),
    ),
    isWarmed: true,
  },
  {
    name: 'a server that wants a key',
    row: { fleet: { apiKey: 'sesame' } },
    errors: ['s0', 's1'].map(
      (name) => new RegExp(`^${name} ${URL} answered 401 to GET /server_info: set TOKRAMP_API_KEY to a valid key$`),
    ),
  },
  {
    name: 'a plan for another workload, other levels and less time than it takes',
    row: {
      environment: { TOKRAMP_MAX_TOKENS: '128', TOKRAMP_LEVELS: '1,2', TOKRAMP_TIMEOUT: '30' },
    },
    errors: [
      /^the plan was made for another workload, .*384.*128.*renew the plan with: npm run discover$/,
      /^the plan has the levels 1, 4, the settings give 1, 2; renew the plan with: npm run discover$/,
      /^the plan has the timeout 60, the settings give 30; renew the plan with: npm run discover$/,
    ],
  },
  {
    name: 'a timeout that the planned R may reach',
    row: { change: { timeoutSeconds: 1.6 } },
    errors: [
      /^the timeout of 1\.6 s is below 1\.5 x the longest R of 1\.\d+ s; renew the plan with: npm run discover$/,
    ],
  },
];

for (const { name, row, errors, isWarmed } of REFUSALS) {
  test(`before load: ${name} (k6 108, exit 5)`, async (t) => {
    const end = await rampRow(t, row);
    const said = end.lines.join('\n');
    assert.deepEqual({ k6: end.k6Code, cli: end.code }, { k6: 108, cli: 5 }, said);
    checkErrors(end.lines, errors);
    assert.equal(end.run, null);
    for (const server of end.cluster.servers) {
      const { received } = await countsOf(server);
      assert.equal(received > 0, isWarmed === true, `${server.name}: ${received} generation requests`);
    }
  });
}

/** The error lines are exactly these, and k6's last one gives their number. */
function checkErrors(lines: readonly string[], errors: readonly RegExp[]): void {
  const said = lines.join('\n');
  const given = lines.flatMap((line) => (line.startsWith('error: ') ? [line.slice('error: '.length)] : []));
  const faults = errors.length === 1 ? '1 fault' : `${errors.length} faults`;
  assert.equal(given.at(-1), `test aborted: tokramp: ${faults}, nothing was measured`, said);
  assert.equal(given.length, errors.length + 1, said);
  for (const error of errors)
    assert.ok(
      given.some((line) => error.test(line)),
      `${error}\n${said}`,
    );
}

test('a plan that takes longer than TOKRAMP_MAX_MINUTES is not run (exit 1)', async (t) => {
  const end = await rampRow(t, { environment: { TOKRAMP_MAX_MINUTES: '0.1' } });
  assert.deepEqual({ k6: end.k6Code, cli: end.code }, { k6: null, cli: 1 });
  assert.match(end.lines.join('\n'), /^the plan takes 0\.14 minutes, TOKRAMP_MAX_MINUTES allows 0\.1: /m);
});

/** Faults that only an answer shows, found by one request a server. */
const ANSWERS: readonly (readonly [string, Partial<FaultState>, RegExp])[] = [
  ['500', { answer: 'status-500' }, /^s1: a request was rejected: HTTP 500: "Internal Server Error"$/],
  ['a full queue', { answer: 'queue-full' }, /^s1: a request was rejected: HTTP 503: The request queue is full\.$/],
  ['401', { answer: 'unauthorized' }, /^s1: a request was rejected: HTTP 401: Unauthorized$/],
  [
    'the page of a proxy',
    { answer: 'bad-gateway' },
    /^s1: a request was rejected: HTTP 502: HTML page "502 Bad Gateway"$/,
  ],
  [
    'no usage',
    { answer: 'no-usage' },
    /^s1: a request was malformed: meta_info\.completion_tokens: missing instead of/,
  ],
  ['broken JSON', { answer: 'truncated-json' }, /^s1: a request was malformed: not JSON: ".*…"$/],
  [
    'a count as text',
    { answer: 'tokens-as-text' },
    /^s1: a request was malformed: meta_info\.completion_tokens: "16" instead/,
  ],
  ['a count of 0', { answer: 'tokens-zero' }, /^s1: a request was malformed: meta_info\.completion_tokens: 0 instead/],
  ['an abort', { answer: 'abort' }, /^s1: a request was aborted: finish_reason abort: Aborted$/],
  ['an early stop', { stopEarlyAt: 5 }, /^s1: a request was truncated: 5 of 16 tokens, finish_reason stop$/],
  ['a silent clamp', { clampTo: 5 }, /^s1: a request was truncated: 5 of 16 tokens, finish_reason length$/],
  ['no answer', { hang: true }, /^s1: a request was not answered within 1\.0 s$/],
];

for (const [what, faults, error] of ANSWERS) {
  test(`smoke finds ${what} of one server (k6 108, exit 5)`, async (t) => {
    const { end } = await commandOn(t, ['smoke', '--timeout', '1'], set(1, faults));
    assert.deepEqual({ k6: end.k6Code, cli: end.code }, { k6: 108, cli: 5 });
    checkErrors(end.lines, [error]);
  });
}

test('discover refuses a faulty answer and leaves no plan', async (t) => {
  const { end, folder } = await commandOn(t, ['discover'], set(1, { answer: 'bad-gateway' }));
  assert.deepEqual({ k6: end.k6Code, cli: end.code }, { k6: 108, cli: 5 });
  checkErrors(end.lines, [/^s1: a request was rejected: HTTP 502: HTML page "502 Bad Gateway"$/]);
  assert.ok(!(await readdir(folder)).includes('plan.json'));
});

test('a wrong URL is named, a port where nobody listens and a host that does not exist alike', async (t) => {
  const { end } = await commandOn(
    t,
    ['smoke'],
    undefined,
    'a=http://127.0.0.1:1,b=http://user:geheim@nowhere.invalid:30000',
  );
  assert.deepEqual({ k6: end.k6Code, cli: end.code }, { k6: 108, cli: 5 });
  checkErrors(end.lines, [
    /^a http:\/\/127\.0\.0\.1:1 cannot be reached \(dial: connection refused\)$/,
    /^b http:\/\/nowhere\.invalid:30000 cannot be reached \(lookup: /,
  ]);
  assert.doesNotMatch(end.lines.join('\n'), /geheim/);
});

async function commandOn(
  t: TestContext,
  args: readonly string[],
  before?: (cluster: Cluster) => Promise<unknown>,
  servers?: string,
) {
  const cluster = await fleetFor(t, {});
  const folder = await folderFor(t);
  await before?.(cluster);
  const environment = servers === undefined ? {} : { TOKRAMP_SERVERS: servers };
  const end = await runCli(args, { cluster, folder, environment });
  return { end, folder: join(folder) };
}
