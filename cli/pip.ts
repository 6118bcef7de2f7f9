import { spawn } from 'node:child_process';
import type { Environment } from './k6-version.ts';
import { onStopSignals } from './process-group.ts';

export interface PipInstall {
  /** A file of requirements, each with its hash. */
  readonly requirements: string;
  /** The folder to install into; pip makes it. */
  readonly target: string;
  readonly environment: Environment;
}

const MOST_LINES_KEPT = 200;

/** What became of an installation; a fault is told in one line. */
export type PipOutcome =
  | { readonly state: 'installed' }
  | { readonly state: 'failed'; readonly fault: string }
  | { readonly state: 'interrupted'; readonly fault: string };

/** Installs hash-pinned wheels and nothing else. */
export async function runPip(install: PipInstall): Promise<PipOutcome> {
  let stoppedBy: NodeJS.Signals | undefined;
  let child: ReturnType<typeof spawn> | undefined;
  // Before pip starts, and instead of dying: an interrupted download would leave its folder behind.
  const release = onStopSignals((signal) => {
    stoppedBy = signal;
    child?.kill(signal);
  });
  try {
    child = spawn('python3', pipArguments(install), {
      env: pipEnvironment(install.environment),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { ending, output } = await waitFor(child);
    if (stoppedBy !== undefined) return { state: 'interrupted', fault: `interrupted by ${stoppedBy}` };
    return ending === 'exit code 0' ? { state: 'installed' } : { state: 'failed', fault: explain(ending, output) };
  } finally {
    release();
  }
}

function pipArguments({ requirements, target }: PipInstall): string[] {
  const pins = ['--no-deps', '--only-binary', ':all:', '--require-hashes', '-r', requirements];
  const manners = [
    '--no-input',
    '--no-compile',
    '--disable-pip-version-check',
    '--progress-bar',
    'off',
    '--retries',
    '2',
  ];
  return ['-m', 'pip', 'install', ...pins, ...manners, '--target', target];
}

/** The user's own index and certificates stay; settings that contradict --target do not. */
function pipEnvironment(environment: Environment): Environment {
  return { ...environment, PIP_USER: '0', PIP_REQUIRE_VIRTUALENV: '0' };
}

function waitFor(child: ReturnType<typeof spawn>): Promise<{ ending: string; output: readonly string[] }> {
  let output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output = [...output, ...chunk.split('\n')].slice(-MOST_LINES_KEPT);
    });
  }
  return new Promise((settle) => {
    child.on('error', (error) => settle({ ending: `python3 cannot be started (${error.message})`, output }));
    child.on('close', (code, signal) => settle({ ending: signal ?? `exit code ${code}`, output }));
  });
}

function explain(ending: string, output: readonly string[]): string {
  const text = output.join('\n');
  if (ending.startsWith('python3')) return ending;
  if (/No module named '?pip\b/.test(text)) return 'python3 has no pip';
  if (text.includes('DO NOT MATCH THE HASHES')) return explainHashes(text);
  const last = output.findLast((line) => line.startsWith('ERROR')) ?? output.findLast((line) => line.trim() !== '');
  return `pip ended with ${ending}: ${JSON.stringify((last ?? 'no output').slice(0, 200))}`;
}

function explainHashes(text: string): string {
  const [, expected = 'unknown'] = /Expected sha256 (\S+)/.exec(text) ?? [];
  const [, got = 'unknown'] = /Got\s+(\S+)/.exec(text) ?? [];
  return `the downloaded wheel is refused: its SHA-256 is ${got}, expected ${expected}; nothing was kept`;
}
