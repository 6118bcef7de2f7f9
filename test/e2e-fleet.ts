import { spawn } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { CHECKOUT } from '../cli/k6.ts';
import { type Cluster, type ClusterOptions, startCluster } from '../sim/cluster.ts';
import { PROFILES, type Profile } from '../sim/profiles.ts';
import { testK6 } from './k6-for-tests.ts';

/**
 * The fleet of the table: four requests at once, quick probes, and steps of the "fast" profile. 384 tokens then take 1 s, so that
 * the few milliseconds between two requests of a VU stay below the 1 % that V21 flags, on a busy machine too.
 */
export const TABLE_PROFILE: Profile = { ...PROFILES.fast, maxRunning: 4, healthMs: 20, coldStartMs: 100 };
export const TABLE_TOKENS = 384;
export const TABLE_LIMIT = 4;

/** R of one request among `inFlight` (seconds): its prefill, then one step a token. */
export function requestSeconds(profile: Profile, inFlight: number, maxTokens: number): number {
  const step = profile.stepBaseMs + profile.stepPerRequestMs * inFlight;
  return (profile.prefillBaseMs + (maxTokens - 1) * step) / 1000;
}

/** A fleet that is gone when the test is. */
export async function fleetFor(t: TestContext, options: Partial<ClusterOptions>): Promise<Cluster> {
  const cluster = await startCluster({ count: 2, profile: TABLE_PROFILE, ...options });
  t.after(() => cluster.close());
  return cluster;
}

/** An empty folder that is gone when the test is. */
export async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tokramp-'));
  t.after(async () => {
    await chmod(folder, 0o755);
    await rm(folder, { recursive: true });
  });
  return folder;
}

/** How a program ended, and all that it printed. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Lines of both streams; of k6's log lines only the message. */
  readonly lines: readonly string[];
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly onLine?: (line: string, pid: number) => void;
}

/** Runs a program to its end, in an environment of its own: what the shell happens to set must not reach it. */
export async function runProgram({ command, args, environment, cwd, onLine }: Program): Promise<Ended> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: cwd,
    PWD: cwd,
    NO_COLOR: '1',
    K6_NO_USAGE_REPORT: 'true',
    ...environment,
  };
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (raw) => {
      const line = messageOf(raw);
      lines.push(line);
      if (child.pid !== undefined) onLine?.(line, child.pid);
    });
  }
  return new Promise((settle, fail) => {
    child.on('error', fail);
    child.on('close', (code, signal) => settle({ code, signal, lines }));
  });
}

/** The message of a line of k6's log, with its level where that is not "info"; any other line as it is. */
function messageOf(line: string): string {
  const [, level, quoted] = /^time="[^"]*" level=(\w+) msg=("(?:[^"\\]|\\.)*")/.exec(line) ?? [];
  if (quoted === undefined) {
    const [, plainLevel, word] = /^time="[^"]*" level=(\w+) msg=(\S+)/.exec(line) ?? [];
    return word === undefined ? line : plainLevel === 'info' ? word : `${plainLevel}: ${word}`;
  }
  const message: unknown = JSON.parse(quoted);
  return level === 'info' ? String(message) : `${level}: ${String(message)}`;
}

/** What a run needs to know: where it is, which servers, and what else the row sets. */
export interface Where {
  readonly cluster: Pick<Cluster, 'environment'>;
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
}

const variables = ({ cluster, folder, environment }: Where): Record<string, string> => ({
  TOKRAMP_SERVERS: cluster.environment,
  TOKRAMP_MAX_TOKENS: String(TABLE_TOKENS),
  TOKRAMP_RESULTS: folder,
  ...environment,
});

/** Runs a script with k6 itself, without the command-line side. */
export async function bareK6(
  script: 'smoke' | 'discover' | 'ramp' | 'baseline',
  where: Where & { readonly args?: readonly string[]; readonly onLine?: Program['onLine'] },
): Promise<Ended> {
  const k6 = await testK6();
  const args = ['run', '--quiet', '--address', '', ...(where.args ?? []), join(CHECKOUT, 'scenarios', `${script}.js`)];
  const program: Program = { command: k6.path, args, environment: variables(where), cwd: where.folder };
  return runProgram(where.onLine === undefined ? program : { ...program, onLine: where.onLine });
}

/** How the command-line side ended, and with which code the k6 that it ran last did. */
export interface CliEnded extends Ended {
  readonly k6Code: number | null;
}

/** Runs the built command-line side; a shell around k6 keeps the code that only the command sees. */
export async function runCli(
  args: readonly string[],
  where: Where & { readonly onLine?: Program['onLine'] },
): Promise<CliEnded> {
  const { folder } = where;
  const codePath = join(folder, 'k6-code');
  const wrapper = join(folder, 'k6-wrapper');
  const k6 = (await testK6()).path;
  const body = `#!/bin/sh\n'${k6}' "$@"\ncode=$?\n[ "$1" = run ] && echo $code > '${codePath}'\nexit $code\n`;
  await writeFile(wrapper, body, { mode: 0o755 });
  await rm(codePath, { force: true });
  const program: Program = {
    command: process.execPath,
    args: [join(CHECKOUT, 'dist', 'tokramp.js'), ...args],
    environment: { K6_BIN: wrapper, ...variables(where) },
    cwd: folder,
  };
  const ended = await runProgram(where.onLine === undefined ? program : { ...program, onLine: where.onLine });
  const code = await readFile(codePath, 'utf8').catch(() => null);
  return { ...ended, k6Code: code === null ? null : Number(code) };
}
