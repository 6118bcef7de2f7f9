import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { SETTINGS } from '../lib/setting-table.ts';
import { bareK6, fleetFor, folderFor, runCli } from './e2e-fleet.ts';
import { planFor, resultIn } from './e2e-row.ts';
import { testK6 } from './k6-for-tests.ts';

/** One value that each setting must refuse; of paths any text is one, and whether they exist is asked below. */
const MALFORMED: Readonly<Record<string, string>> = {
  TOKRAMP_SERVERS: 'ftp//nowhere',
  TOKRAMP_API: 'generat',
  TOKRAMP_MODEL: 'two\tcolumns',
  TOKRAMP_API_KEY: 'schlüssel',
  TOKRAMP_HEADERS: 'X-Team: batch',
  TOKRAMP_TLS_INSECURE: 'perhaps',
  TOKRAMP_MAX_TOKENS: '1,024',
  TOKRAMP_STOP: 'never',
  TOKRAMP_INPUT_TOKENS: '-5',
  TOKRAMP_LEVELS: '4,1',
  TOKRAMP_LIMIT: '0',
  TOKRAMP_REQUEST_SECONDS: 'two',
  TOKRAMP_OVER_LIMIT: 'perhaps',
  TOKRAMP_HOLD: '1',
  TOKRAMP_CLOSING_BASELINE: 'perhaps',
  TOKRAMP_TIMEOUT: '0',
  TOKRAMP_MAX_MINUTES: '-1',
  TOKRAMP_WAIT: 'long',
  TOKRAMP_MIN_SERVERS: '0',
  TOKRAMP_CACHE_ISOLATION: 'perhaps',
  TOKRAMP_RUN_NAME: 'a b',
  TOKRAMP_NO_SUCH: '1',
};
const PATHS = ['TOKRAMP_PROMPTS', 'TOKRAMP_PLAN', 'TOKRAMP_RESULTS', 'TOKRAMP_CONFIG'];

/** Every faulty name has its line with what would be valid, and a secret is not shown. */
function checkFaults(lines: readonly string[]): void {
  const said = lines.join('\n');
  for (const name of Object.keys(MALFORMED)) {
    const line = lines.find((each) => each.replace(/^error: /, '').startsWith(name));
    assert.ok(line !== undefined, `${name}\n${said}`);
    assert.match(line, /must be|did you mean|no setting has this name|for example/, line);
  }
  assert.doesNotMatch(said, /schlüssel|X-Team: batch/);
}

test('the table of malformed settings has every setting', () => {
  const names = SETTINGS.map((spec) => spec.environment).sort();
  assert.deepEqual([...Object.keys(MALFORMED), ...PATHS].filter((name) => name !== 'TOKRAMP_NO_SUCH').sort(), names);
});

test('every malformed setting is named, all at once: exit 1 of the command, 108 of k6', async (t) => {
  const folder = await folderFor(t);
  const where = { cluster: { environment: '' }, folder, environment: MALFORMED };
  const cli = await runCli(['ramp'], where);
  assert.deepEqual({ k6: cli.k6Code, cli: cli.code }, { k6: null, cli: 1 });
  checkFaults(cli.lines);
  const k6 = await bareK6('ramp', where);
  checkFaults(k6.lines);
  assert.equal(k6.code, 108, k6.lines.join('\n'));
});

interface Init {
  readonly name: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly fault: RegExp;
  /** Null where the command goes on, since it makes what is missing. */
  readonly cli: number | null;
}

const NO_FOLDER =
  /^(error: )?(TOKRAMP_RESULTS: )?the results folder \S+nowhere does not exist; create it, or name another one/m;

const INITS: readonly Init[] = [
  {
    name: 'a results folder that does not exist',
    environment: { TOKRAMP_RESULTS: 'nowhere' },
    fault: NO_FOLDER,
    cli: 1,
  },
  {
    name: 'results that are a file',
    environment: { TOKRAMP_RESULTS: 'prompts.jsonl' },
    fault: /the results folder \S+prompts\.jsonl is a file; create it, or name another one/,
    cli: 1,
  },
  {
    name: 'no plan',
    environment: {},
    fault:
      /^error: there is no plan: make one with `npm run discover` .* or give all of TOKRAMP_LIMIT, TOKRAMP_LEVELS and/m,
    cli: null,
  },
  {
    name: 'a plan that does not exist',
    environment: { TOKRAMP_PLAN: 'nowhere.json' },
    fault: /^error: TOKRAMP_PLAN: there is no file \S+nowhere\.json$/m,
    cli: null,
  },
  {
    name: 'a plan that is none',
    environment: { TOKRAMP_PLAN: 'prompts.jsonl' },
    fault: /plan \S+prompts\.jsonl: not JSON .*; correct it, or make it anew with: npm run discover$/m,
    cli: 1,
  },
  {
    name: 'a prompts file that does not exist',
    environment: { TOKRAMP_PROMPTS: 'nowhere.jsonl' },
    fault: /TOKRAMP_PROMPTS: there is no file \S+nowhere\.jsonl$|the prompts file \S+nowhere\.jsonl does not exist/m,
    cli: 1,
  },
  {
    name: 'a faulty prompts file',
    environment: { TOKRAMP_PROMPTS: 'prompts.jsonl' },
    fault: /\S+prompts\.jsonl: line 2: /,
    cli: 1,
  },
  {
    name: 'a configuration that does not exist',
    environment: { TOKRAMP_CONFIG: 'nowhere.json' },
    fault: /TOKRAMP_CONFIG: .*nowhere\.json/,
    cli: 1,
  },
];

for (const { name, environment, fault, cli } of INITS) {
  test(`before k6 runs anything: ${name} (k6 108${cli === null ? '' : `, exit ${cli}`})`, async (t) => {
    const folder = await folderFor(t);
    await writeFile(join(folder, 'prompts.jsonl'), '{"text": "Count to ten."}\n{"txt": 1}\n');
    const where = { cluster: { environment: 'http://127.0.0.1:1' }, folder, environment };
    const k6 = await bareK6('ramp', where);
    assert.match(k6.lines.join('\n'), fault);
    if (cli !== null) {
      const ended = await runCli(['ramp'], where);
      assert.match(ended.lines.join('\n'), fault);
      assert.deepEqual({ k6: ended.k6Code, cli: ended.code }, { k6: null, cli }, ended.lines.join('\n'));
    }
    assert.equal(k6.code, 108, k6.lines.join('\n'));
  });
}

test('a results folder that nobody can write into is refused before load (exit 1)', async (t) => {
  if (process.platform !== 'linux') return t.skip('the folder that refuses the superuser too is /proc');
  const folder = await folderFor(t);
  const environment = { TOKRAMP_RESULTS: '/proc' };
  const ended = await runCli(['ramp'], { cluster: { environment: 'http://127.0.0.1:1' }, folder, environment });
  assert.deepEqual({ k6: ended.k6Code, cli: ended.code }, { k6: null, cli: 1 });
  assert.match(
    ended.lines.join('\n'),
    /^the results folder \/proc cannot be written; create it, or name another one with --results/m,
  );
});

/** A fleet, a folder with its plan, and the folder's k6. */
async function planned(t: TestContext) {
  const cluster = await fleetFor(t, {});
  const folder = await folderFor(t);
  await writeFile(join(folder, 'plan.json'), JSON.stringify(planFor(cluster, {})));
  return { cluster, folder };
}

const REPLACED =
  /^error: k6 would run default \((constant-vus|shared-iterations|per-vu-iterations)\) instead of the planned scenarios s0, s1: take --vus, --duration/m;

const isSecondMajor = async (): Promise<boolean> => (await testK6()).version.startsWith('2.');

interface Hijack {
  readonly args?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly error: RegExp;
}

const HIJACKS: Readonly<Record<string, Hijack>> = {
  '--duration 10s': { args: ['--duration', '10s'], error: REPLACED },
  '--vus 5 --duration 10s': { args: ['--vus', '5', '--duration', '10s'], error: REPLACED },
  '--iterations 3': { args: ['--iterations', '3'], error: REPLACED },
  'K6_DURATION=10s': { environment: { K6_DURATION: '10s' }, error: REPLACED },
  '--no-setup': {
    args: ['--no-setup'],
    error: /^error: setup\(\) told nothing about server "s\d": run without --no-setup$/m,
  },
  '--tag x=y, which replaces testid': {
    args: ['--tag', 'x=y'],
    error: /^error: the tag testid is missing: give --tag testid=NAME beside your own --tag options$/m,
  },
  '--tag testid=a/b': { args: ['--tag', 'testid=a/b'], error: /^error: the tag testid is "a\/b": it names files/m },
  'K6_NO_THRESHOLDS=true': {
    environment: { K6_NO_THRESHOLDS: 'true' },
    error: /^error: K6_NO_THRESHOLDS=true is set, /,
  },
  'K6_NEW_MACHINE_READABLE_SUMMARY=true': {
    environment: { K6_NEW_MACHINE_READABLE_SUMMARY: 'true' },
    error: /error: K6_NEW_MACHINE_READABLE_SUMMARY=true is set, /,
  },
  'K6_SUMMARY_TREND_STATS=avg': {
    environment: { K6_SUMMARY_TREND_STATS: 'avg' },
    error: /error: k6 would leave count, med, max out of its summary: take --summary-trend-stats off/,
  },
};

for (const [name, { args = [], environment = {}, error }] of Object.entries(HIJACKS)) {
  test(`k6 told otherwise than the plan is refused before load: ${name} (k6 108)`, async (t) => {
    const { cluster, folder } = await planned(t);
    const k6 = await bareK6('ramp', { cluster, folder, environment, args });
    const said = k6.lines.join('\n');
    assert.equal(k6.code, 108, said);
    assert.match(said, error);
    assert.equal(await resultIn(folder), null);
    for (const server of cluster.servers) assert.equal(server.truth().requestsFinished, 0);
  });
}

test('K6_SUMMARY_MODE=disabled, which k6 1 does not know and k6 2 obeys, measures nothing', async (t) => {
  const { cluster, folder } = await planned(t);
  const k6 = await bareK6('ramp', { cluster, folder, environment: { K6_SUMMARY_MODE: 'disabled' } });
  const [code, error] = (await isSecondMajor())
    ? [108, /^error: K6_SUMMARY_MODE=disabled is set, /m]
    : [255, /^error: invalid summary mode/m];
  assert.equal(k6.code, code, k6.lines.join('\n'));
  assert.match(k6.lines.join('\n'), error);
});

test('a lone --vus 5 is refused by k6 2, which obeys it, and harmless in k6 1, which does not', async (t) => {
  const { cluster, folder } = await planned(t);
  const k6 = await bareK6('ramp', { cluster, folder, args: ['--vus', '5'], environment: {} });
  const said = k6.lines.join('\n');
  const run = await resultIn(folder);
  if (await isSecondMajor()) {
    assert.equal(k6.code, 108, said);
    assert.match(said, REPLACED);
    assert.equal(run, null);
    return;
  }
  assert.equal(k6.code, 0, said);
  const inFlight = run?.levels.map((level) => Math.round(level.fleet.inFlight ?? 0));
  assert.deepEqual(inFlight, [2, 8]);
});

test('the command refuses variables of k6 that spoil a run, each by name, before k6 starts (exit 1)', async (t) => {
  const { cluster, folder } = await planned(t);
  const environment = { K6_VUS: '5', K6_DURATION: '10s', K6_NO_SETUP: 'true', K6_SUMMARY_MODE: 'disabled' };
  const ended = await runCli(['ramp', '--plan', 'plan.json'], { cluster, folder, environment });
  assert.deepEqual({ k6: ended.k6Code, cli: ended.code }, { k6: null, cli: 1 });
  for (const [name, value] of Object.entries(environment)) {
    assert.ok(
      ended.lines.some((line) => line.startsWith(`${name}=${value} is set, `)),
      ended.lines.join('\n'),
    );
  }
});

test('a tag of the user beside a testid of theirs names the run', async (t) => {
  const { cluster, folder } = await planned(t);
  await mkdir(join(folder, 'out'));
  const environment = { TOKRAMP_RESULTS: 'out', TOKRAMP_PLAN: './plan.json' };
  const args = ['--tag', 'x=y', '--tag', 'testid=mine'];
  const k6 = await bareK6('ramp', { cluster, folder, environment, args });
  assert.equal(k6.code, 0, k6.lines.join('\n'));
  assert.deepEqual(
    await readdir(join(folder, 'out')),
    ['mine.json'],
    'relative paths are those of the working directory',
  );
});
