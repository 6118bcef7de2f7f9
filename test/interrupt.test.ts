import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { exitCodeOf } from '../cli/exit-codes.ts';
import { exists } from '../cli/k6.ts';
import { hasGuard, isGroupRunning, testK6, until } from './k6-for-tests.ts';

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/k6/${name}`, import.meta.url));

/** Longer than two signals of one keystroke may lie apart, so that the next one counts as a second. */
const NEXT_KEYSTROKE_MS = 600;

interface Driven {
  /** The process that a user would signal; it runs k6 as the commands do. */
  readonly driver: ChildProcess;
  readonly k6Group: number;
  readonly summary: string;
  /** Resolves when k6's teardown has begun, which is after it took the first signal. */
  readonly teardown: Promise<unknown>;
  readonly output: () => string;
}

/** Starts an endless k6 under a driver and waits until it sends load. */
async function startDriven(t: TestContext, extra: Record<string, string> = {}): Promise<Driven> {
  const folder = await mkdtemp(join(tmpdir(), 'tokramp-'));
  const server = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (body: string) => server.emit(body));
    request.on('end', () => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // k6 itself under a known process id: the shell writes it down and becomes k6.
  const k6 = join(folder, 'k6');
  const body = `#!/bin/sh\necho $$ > '${folder}/pid'\nexec '${(await testK6()).path}' "$@"\n`;
  await writeFile(k6, body, { mode: 0o755 });
  const summary = join(folder, 'summary.json');
  const driver = spawn(process.execPath, ['--import', 'tsx', fixture('drive.ts'), k6, fixture('endless.js')], {
    env: { PATH: process.env['PATH'], URL: `http://127.0.0.1:${port}/`, SUMMARY: summary, ...extra },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [driver.stdout, driver.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const teardown = once(server, 'teardown');
  await once(server, 'knock');
  const k6Group = Number(await readFile(join(folder, 'pid'), 'utf8'));
  t.after(async () => {
    driver.kill('SIGKILL');
    if (await isGroupRunning(k6Group)) process.kill(-k6Group, 'SIGKILL');
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  });
  return { driver, k6Group, summary, teardown, output: () => output };
}

async function endOf({
  driver,
  output,
}: Driven): Promise<{ code: number | null; signal: string | null; interrupted: boolean }> {
  if (driver.exitCode === null && driver.signalCode === null) await once(driver, 'close');
  const line = output()
    .split('\n')
    .find((each) => each.startsWith('{'));
  assert.ok(line !== undefined, `the driver printed no end: ${output()}`);
  return JSON.parse(line);
}

async function assertNothingIsLeft({ k6Group }: Driven): Promise<void> {
  await until('the process group of k6 is gone', async () => !(await isGroupRunning(k6Group)));
  await until('the guard is gone', async () => (await hasGuard(k6Group)) !== true);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`one ${signal} lets k6 write its summary and end with 105`, async (t) => {
    const driven = await startDriven(t);
    assert.notEqual(await hasGuard(driven.k6Group), false);
    driven.driver.kill(signal);
    const end = await endOf(driven);
    assert.deepEqual(end, { code: 105, signal: null, interrupted: true }, driven.output());
    assert.equal(await readFile(driven.summary, 'utf8'), '{"complete":true}');
    const ending = { ...end, k6Code: end.code, refused: false };
    assert.equal(exitCodeOf({ ...ending, hasCompleteResult: true }), 130);
    await assertNothingIsLeft(driven);
  });
}

test('the two signals that npm makes of one Ctrl-C count as one', async (t) => {
  const driven = await startDriven(t, { TEARDOWN_SECONDS: '1' });
  driven.driver.kill('SIGINT');
  await pause(2);
  driven.driver.kill('SIGINT');
  const end = await endOf(driven);
  assert.deepEqual(end, { code: 105, signal: null, interrupted: true }, driven.output());
  assert.ok(await exists(driven.summary));
  await assertNothingIsLeft(driven);
});

test('the second Ctrl-C kills a k6 that does not come to its end, and leaves nothing running', async (t) => {
  const driven = await startDriven(t, { TEARDOWN_SECONDS: '50' });
  driven.driver.kill('SIGINT');
  await driven.teardown;
  await pause(NEXT_KEYSTROKE_MS);
  assert.ok(await isGroupRunning(driven.k6Group), 'k6 is still in its teardown');
  driven.driver.kill('SIGINT');
  const end = await endOf(driven);
  assert.deepEqual(end, { code: null, signal: 'SIGKILL', interrupted: true }, driven.output());
  assert.equal(exitCodeOf({ ...end, k6Code: end.code, hasCompleteResult: false, refused: false }), 130);
  assert.equal(await exists(driven.summary), false);
  await assertNothingIsLeft(driven);
});

test('a k6 whose parent is killed outright stops by itself and still writes its summary', async (t) => {
  const driven = await startDriven(t);
  driven.driver.kill('SIGKILL');
  await assertNothingIsLeft(driven);
  assert.equal(await readFile(driven.summary, 'utf8'), '{"complete":true}');
});

test('a parent that dies after the first Ctrl-C does not cost the summary', async (t) => {
  const driven = await startDriven(t, { TEARDOWN_SECONDS: '1.5' });
  driven.driver.kill('SIGINT');
  await driven.teardown;
  driven.driver.kill('SIGKILL');
  await assertNothingIsLeft(driven);
  assert.equal(await readFile(driven.summary, 'utf8'), '{"complete":true}');
});
