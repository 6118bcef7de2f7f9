import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exitCodeOf } from '../cli/exit-codes.ts';
import { exists, K6Error } from '../cli/k6.ts';
import { guardK6 } from '../cli/k6-guard.ts';
import { runK6 } from '../cli/k6-process.ts';
import { hasGuard, isRunning, testK6, until } from './k6-for-tests.ts';

const OUTCOMES = fileURLToPath(new URL('fixtures/k6/outcomes.js', import.meta.url));

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tokramp-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

/** A program that writes down how it was started, then ends with the code it is told. */
async function recorder(folder: string): Promise<string> {
  const program = join(folder, 'recorder');
  const body = `#!/bin/sh
for each in "$@"; do echo "[$each]"; done > "${folder}/arguments"
echo $$ > "${folder}/pid"
env > "${folder}/environment"
pwd > "${folder}/cwd"
cat > "${folder}/stdin"
printf 'first\\nsecond ü\\nno end'
echo trouble >&2
exit 42
`;
  await writeFile(program, body, { mode: 0o755 });
  return program;
}

const endings: readonly (readonly [ending: string, k6Code: number, exitCode: number])[] = [
  ['success', 0, 0],
  ['missed floor', 99, 3],
  ['exception', 107, 1],
  ['abort', 108, 5],
];

for (const [ending, k6Code, exitCode] of endings) {
  test(`a real k6 that ends by ${ending} exits ${k6Code}, writes its summary, and the command exits ${exitCode}`, async (t) => {
    const folder = await temporaryFolder(t);
    const { path } = await testK6();
    const environment = { PATH: process.env['PATH'], ENDING: ending, SUMMARY: join(folder, 'summary.json') };
    const lines: string[] = [];
    const end = await runK6({
      k6: path,
      script: OUTCOMES,
      environment,
      args: [],
      cwd: folder,
      onLine: (line, stream) => lines.push(`${stream}: ${line}`),
    });
    assert.deepEqual(end, { code: k6Code, signal: null, interrupted: false }, lines.join('\n'));
    // As in the suite, only a run that got past setup() leaves a result.
    const hasCompleteResult = k6Code === 0 || k6Code === 99;
    assert.equal(exitCodeOf({ ...end, k6Code: end.code, hasCompleteResult, refused: false }), exitCode);
    assert.deepEqual(JSON.parse(await readFile(environment.SUMMARY, 'utf8')), { ending });
    assert.ok(lines.includes('stdout: text of the summary'), lines.join('\n'));
    const scriptRan = lines.some((line) => line.startsWith('stderr: ') && line.includes('a line of the script'));
    assert.equal(scriptRan, hasCompleteResult, lines.join('\n'));
    assert.ok(!lines.some((line) => line.includes('scenarios:') || line.includes('VUs')), lines.join('\n'));
  });
}

test('k6 is started without a REST port, progress bars, usage reports, extensions or stdin, in the folder given', async (t) => {
  const folder = await temporaryFolder(t);
  const lines: string[] = [];
  const end = await runK6({
    k6: await recorder(folder),
    script: 'the script.js',
    environment: { PATH: process.env['PATH'], K6_NO_USAGE_REPORT: 'false', MINE: 'kept' },
    args: ['--tag', 'a=b'],
    cwd: folder,
    onLine: (line, stream) => lines.push(`${stream}: ${line}`),
  });
  assert.deepEqual(end, { code: 42, signal: null, interrupted: false });
  const read = (name: string) => readFile(join(folder, name), 'utf8');
  const args = ['run', '--address', '', '--quiet', '--tag', 'a=b', 'the script.js'];
  assert.equal(await read('arguments'), args.map((each) => `[${each}]\n`).join(''));
  const environment = (await read('environment')).split('\n');
  for (const setting of ['K6_NO_USAGE_REPORT=true', 'K6_AUTO_EXTENSION_RESOLUTION=false', 'MINE=kept']) {
    assert.ok(environment.includes(setting), `${setting} in ${environment}`);
  }
  assert.equal(await read('stdin'), '');
  assert.equal((await read('cwd')).trim(), folder);
  const pid = Number(await read('pid'));
  await until('the guard has left with k6', async () => (await hasGuard(pid)) !== true);
  assert.deepEqual(lines.toSorted(), ['stderr: trouble', 'stdout: first', 'stdout: no end', 'stdout: second ü']);
});

test('a program that cannot be started is one clear line, and no signal handler stays behind', async (t) => {
  const folder = await temporaryFolder(t);
  const handlers = () => ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGWINCH'].map((name) => process.listenerCount(name));
  const before = handlers();
  const k6 = join(folder, 'nothing');
  const run = { script: 's.js', environment: {}, args: [], cwd: folder, onLine: () => {} };
  await assert.rejects(runK6({ k6, ...run }), (error: unknown) => {
    assert.ok(error instanceof K6Error);
    assert.equal(error.message, `k6 cannot be started: ${k6} in ${folder} (spawn ${k6} ENOENT)`);
    return true;
  });
  assert.deepEqual(handlers(), before);
  await runK6({ k6: await recorder(folder), ...run, environment: { PATH: process.env['PATH'] } });
  assert.deepEqual(handlers(), before);
  assert.ok(await exists(join(folder, 'arguments')));
});

test('a dismissed guard leaves without a signal to whatever has that process id by then', async (t) => {
  const other = spawn('sleep', ['60'], { detached: true });
  const pid = other.pid ?? 0;
  t.after(() => other.kill('SIGKILL'));
  const guard = guardK6(pid);
  await until('the guard is there', async () => (await hasGuard(pid)) !== false);
  guard.dismiss();
  await until('the guard has left', async () => (await hasGuard(pid)) !== true);
  assert.ok(await isRunning(pid));
});
