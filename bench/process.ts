import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** What a process cost: CPU seconds (user and system) and its peak memory in MB, as Linux accounts them. */
export interface Cost {
  readonly code: number | null;
  readonly output: string;
  readonly cpuSeconds: number;
  readonly peakMegabytes: number;
  readonly wallSeconds: number;
}

const POLL_MS = 100;
/** Linux counts CPU time in hundredths of a second for every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Runs a program to its end and reads its cost from /proc; the last 0.1 s of CPU time may be missing. */
export function costOf(program: string, args: readonly string[], environment: NodeJS.ProcessEnv): Promise<Cost> {
  const started = performance.now();
  const child = spawn(program, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    output += String(chunk);
  });
  let last = { cpuSeconds: 0, peakMegabytes: 0 };
  const timer = setInterval(() => {
    last = read(child.pid) ?? last;
  }, POLL_MS);
  return new Promise((settle, fail) => {
    child.on('error', fail);
    child.on('close', (code) => {
      clearInterval(timer);
      settle({ code, output, ...last, wallSeconds: (performance.now() - started) / 1000 });
    });
  });
}

function read(pid: number | undefined): Pick<Cost, 'cpuSeconds' | 'peakMegabytes'> | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command's name may hold blanks and brackets; utime and stime are fields 14 and 15 of the line.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    if (peak === undefined) return null;
    return {
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
      peakMegabytes: Number(peak) / 1024,
    };
  } catch {
    // The process has ended between two looks: what was read last stands.
    return null;
  }
}
