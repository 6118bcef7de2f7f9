import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { killGroup } from '../../cli/process-group.ts';

export interface Command {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The file that takes all output of the command; written anew. */
  readonly log: string;
}

export interface Supervised {
  /** Leads the process group that the command and everything started by it belong to. */
  readonly pid: number;
  /** The exit code of the command; null if a signal ended it. Nothing of its group is left by then. */
  readonly ended: Promise<number | null>;
  readonly hasEnded: () => boolean;
  readonly kill: () => Promise<void>;
}

// The shell leads the group. Its standard input is a pipe that nobody writes to: the end of it means that this process is
// gone, however it died, and then the whole group goes. The waiting `cat` also keeps the group's number from being reused.
const SUPERVISE = `
exec 3<&0
( cat <&3 >/dev/null; kill -s KILL 0 ) &
"$@" </dev/null 3<&-
`;

/** Runs a command that cannot outlive this process. */
export async function supervise({ words, environment, log }: Command): Promise<Supervised> {
  const output = await open(log, 'w');
  const shell = spawn('/bin/sh', ['-c', SUPERVISE, 'engine', ...words], {
    env: environment,
    stdio: ['pipe', output.fd, output.fd],
    detached: true,
  });
  await output.close();
  const { pid } = shell;
  if (pid === undefined) throw new Error('/bin/sh cannot be started');
  const ended = new Promise<number | null>((settle) => {
    shell.on('exit', (code) => {
      killGroup(pid);
      settle(code);
    });
  });
  // A test that fails between start and close must not wait for the server for ever: it ends, and the server with it.
  shell.unref();
  const hasEnded = () => shell.exitCode !== null || shell.signalCode !== null;
  const kill = async () => {
    if (!hasEnded()) killGroup(pid);
    shell.ref();
    await ended;
  };
  return { pid, ended, hasEnded, kill };
}
