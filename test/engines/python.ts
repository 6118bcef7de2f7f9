import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface AcceptedPython {
  /** Minor versions of Python 3, the preferred one first. */
  readonly minors: readonly number[];
  readonly reason: string;
}

// A Debian python3 without its venv package has no ensurepip and can make no environment.
const INTRODUCE = 'import ensurepip, sys, venv; print(sys.implementation.name, "%d.%d.%d" % sys.version_info[:3])';

/** The path of a Python that an engine can be installed with: one on PATH, or one that pyenv keeps. */
export async function findPython({ minors, reason }: AcceptedPython, environment: Environment): Promise<string> {
  const seen: string[] = [];
  for (const candidate of [
    ...minors.map((minor) => `python3.${minor}`),
    'python3',
    ...(await pyenvPythons(environment)),
  ]) {
    const version = await versionOf(candidate, environment);
    if (version !== undefined && minors.some((minor) => version.startsWith(`3.${minor}.`))) return candidate;
    if (version !== undefined) seen.push(`${candidate} is ${version}`);
  }
  const wanted = minors.map((minor) => `3.${minor}`).join(', ');
  throw new Error(
    `no usable Python: wanted is CPython ${wanted} with venv (${reason}) on PATH or in ~/.pyenv/versions; ` +
      `found: ${seen.join(', ') || 'none'}`,
  );
}

async function pyenvPythons({ PYENV_ROOT, HOME }: Environment): Promise<string[]> {
  const root = PYENV_ROOT ?? (HOME === undefined ? undefined : join(HOME, '.pyenv'));
  if (root === undefined) return [];
  const names = await readdir(join(root, 'versions')).catch(() => []);
  return names.map((name) => join(root, 'versions', name, 'bin', 'python3'));
}

async function versionOf(python: string, env: Environment): Promise<string | undefined> {
  const answer = await promisify(execFile)(python, ['-c', INTRODUCE], { env }).catch(() => ({ stdout: '' }));
  return /^cpython (\S+)$/.exec(answer.stdout.trim())?.[1];
}

/** The environment of every Python started here: the user's own, less what would bend an isolated installation. */
export function pythonEnvironment(): Environment {
  return {
    ...process.env,
    PYTHONNOUSERSITE: '1',
    PYTHONUNBUFFERED: '1',
    // Without compiled files every start of SGLang takes twice as long.
    PYTHONDONTWRITEBYTECODE: undefined,
    PYTHONPATH: undefined,
    PYTHONHOME: undefined,
    PIP_USER: '0',
    PIP_TARGET: undefined,
    PIP_PREFIX: undefined,
  };
}
