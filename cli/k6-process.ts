import { type ChildProcess, spawn } from 'node:child_process';
import { fstatSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { K6Error } from './k6.ts';
import { type Guard, guardK6 } from './k6-guard.ts';
import type { Environment } from './k6-version.ts';
import { killGroup, onStopSignals } from './process-group.ts';

export interface K6Run {
  /** Path of the k6 program. */
  readonly k6: string;
  readonly script: string;
  readonly environment: Environment;
  /** Further arguments of `k6 run`, before the script. */
  readonly args: readonly string[];
  readonly cwd: string;
  /** Takes k6's output line by line; without it, k6 writes to our own stdout and stderr. */
  readonly onLine?: (line: string, stream: 'stdout' | 'stderr') => void;
}

/** How k6 ended; interrupted says whether a signal to us asked for it. */
export interface K6End {
  readonly code: number | null;
  readonly signal: string | null;
  readonly interrupted: boolean;
}

/** npm passes a signal on to us that the terminal has sent us already, 0.3 ms apart: one Ctrl-C, not two. */
const SAME_KEYSTROKE_MS = 400;

/** Runs one script with k6 to its end. */
export async function runK6(run: K6Run): Promise<K6End> {
  let running: Running | undefined;
  let askedAt: number | undefined;
  // Before k6 starts: a signal in between would end this process and leave k6 behind, unguarded.
  const release = onStopSignals((signal) => {
    if (running === undefined) return;
    if (askedAt === undefined) {
      askedAt = performance.now();
      askToStop(running, signal);
    } else if (performance.now() - askedAt > SAME_KEYSTROKE_MS) {
      killGroup(running.pid);
    }
  });
  try {
    const child = start(run);
    const ended = endOf(child, run);
    if (child.pid !== undefined) running = { child, pid: child.pid, guard: guardK6(child.pid) };
    const stopResizing = passResizeOn(child);
    const end = await ended.finally(stopResizing);
    return { ...end, interrupted: askedAt !== undefined };
  } finally {
    release();
    running?.guard.dismiss();
  }
}

interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly guard: Guard;
}

function start({ k6, script, environment, args, cwd, onLine }: K6Run): ChildProcess {
  const shown = onLine === undefined && process.stdout.isTTY === true;
  // The progress bars redraw themselves on a terminal. Elsewhere k6 would print a block of them every second, thousands of
  // lines in the log of a nightly; --quiet drops them and the banner, and keeps console lines, warnings and the summary.
  const quiet = shown ? [] : ['--quiet'];
  // k6 1.x opens a REST port unless the address is empty; 2.x does not, and takes the flag too.
  const line = ['run', '--address', '', ...quiet, ...args, script];
  return spawn(k6, line, {
    cwd,
    env: { ...environment, K6_NO_USAGE_REPORT: 'true', K6_AUTO_EXTENSION_RESOLUTION: 'false' },
    stdio: ['ignore', outputFor(1, onLine), outputFor(2, onLine)],
    // Detached is a session of its own: the terminal's Ctrl-C and hang-up reach us alone, and `stty tostop` does not stop k6.
    detached: true,
  });
}

/** k6 writes to a terminal or a file itself; a pipe goes through us, since k6 dies without a result where its reader ends. */
function outputFor(descriptor: number, onLine: K6Run['onLine']): 'inherit' | 'pipe' {
  if (onLine !== undefined) return 'pipe';
  const kind = fstatSync(descriptor);
  return kind.isFIFO() || kind.isSocket() ? 'pipe' : 'inherit';
}

/** Passes output on as long as somebody reads it; a Ctrl-C also ends the `tee` behind us, and the run is still to be kept. */
function forward(from: Readable, to: Writable): void {
  let isRead = true;
  to.once('error', () => {
    isRead = false;
  });
  from.on('data', (chunk) => {
    if (isRead) to.write(chunk);
  });
}

function endOf(child: ChildProcess, { k6, cwd, onLine }: K6Run): Promise<Omit<K6End, 'interrupted'>> {
  for (const name of ['stdout', 'stderr'] as const) {
    const input = child[name];
    if (input === null) continue;
    if (onLine === undefined) forward(input, process[name]);
    else createInterface({ input }).on('line', (line) => onLine(line, name));
  }
  return new Promise((settle, fail) => {
    child.on('error', (cause) => fail(new K6Error(`k6 cannot be started: ${k6} in ${cwd} (${cause.message})`)));
    child.on('close', (code, signal) => settle({ code, signal }));
  });
}

/** k6 then still runs its teardown and writes what it has; a second SIGINT would cost that. */
function askToStop({ child, guard }: Running, signal: NodeJS.Signals): void {
  guard.expectEnd();
  child.kill('SIGINT');
  // After a hang-up there is no terminal left to write to.
  if (signal !== 'SIGHUP') console.error(`${signal}: k6 stops and writes what it measured; once more kills it`);
}

/** A session without a terminal is told of no change of the window, and k6 would draw its bars for the old width. */
function passResizeOn(child: ChildProcess): () => void {
  const onResize = () => child.kill('SIGWINCH');
  process.on('SIGWINCH', onResize);
  return () => process.off('SIGWINCH', onResize);
}
