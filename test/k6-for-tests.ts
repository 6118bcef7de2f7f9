import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { obtainK6 } from '../cli/bring-k6.ts';
import { CHECKOUT, type FoundK6, K6Error } from '../cli/k6.ts';

let obtained: Promise<FoundK6> | undefined;

/** The k6 that the tests run: K6_BIN, the one on PATH, or the one in .k6/, which is brought if it must be. */
export function testK6(): Promise<FoundK6> {
  obtained ??= obtainK6({ environment: process.env, checkout: CHECKOUT, report: (line) => console.error(line) });
  return obtained;
}

/** The message of the K6Error that something ends with. */
export async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    (found) => assert.fail(`not refused: ${JSON.stringify(found)}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof K6Error, String(error));
  assert.doesNotMatch(error.message, /\n/, 'one line');
  assert.equal(error.exitCode, 1);
  return error.message;
}

/** Longer than a guard takes to give up on a process that it cannot tell from a living one. */
const PATIENCE_MS = 45_000;

/** Waits until something holds that another process brings about. */
export async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    assert.ok(performance.now() < giveUpAt, `not within ${PATIENCE_MS / 1000} s: ${what}`);
    await pause(50);
  }
}

/** Whether a process runs. */
export async function isRunning(pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return takesSignals(pid);
  return (await runningProcesses()).some((each) => each.pid === pid);
}

/** Whether any process of a group runs. */
export async function isGroupRunning(leader: number): Promise<boolean> {
  if (process.platform !== 'linux') return takesSignals(-leader);
  return (await runningProcesses()).some((each) => each.group === leader);
}

/** Whether a guard watches over this k6; undefined where the system does not list processes as files. */
export async function hasGuard(k6: number): Promise<boolean | undefined> {
  if (process.platform !== 'linux') return undefined;
  return (await runningProcesses()).some((each) => each.command.includes(`tokramp-guard\0${k6}\0`));
}

function takesSignals(target: number): boolean {
  try {
    return process.kill(target, 0);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}

interface RunningProcess {
  readonly pid: number;
  readonly group: number;
  readonly command: string;
}

/** An orphan that has ended still takes signals until somebody waits for it, which in some containers nobody does. */
async function runningProcesses(): Promise<RunningProcess[]> {
  const read = (path: string) => readFile(path, 'utf8').catch(() => '');
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const all = pids.map(async (pid) => {
    const status = await read(`/proc/${pid}/stat`);
    // The name before this may itself hold spaces and brackets.
    const [state = 'Z', , group] = status.slice(status.lastIndexOf(')') + 2).split(' ');
    return { pid: Number(pid), group: Number(group), command: await read(`/proc/${pid}/cmdline`), state };
  });
  return (await Promise.all(all)).filter(({ state }) => state !== 'Z' && state !== 'X' && state !== '');
}
