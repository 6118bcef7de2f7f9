import { cp, mkdir, readFile, rm, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeOnce, workshopFor } from './made-once.ts';
import { type AcceptedPython, findPython, pythonEnvironment } from './python.ts';
import { supervise } from './supervised.ts';

export interface WhereToInstall {
  /** The folder of the repository; everything goes into .engines/ below it. */
  readonly checkout: string;
  /** Takes each line of progress. */
  readonly report: (line: string) => void;
}

/** An engine that is ready to be started. */
export interface Installed {
  readonly python: string;
  /** A model small enough to run without a GPU: a folder, or a file for llama.cpp. */
  readonly model: string;
  /** The folder for what servers print. */
  readonly logs: string;
}

interface Recipe {
  readonly name: string;
  readonly title: string;
  readonly cost: string;
  /** Room for pip's cache, the wheels and what is unpacked from them, which exist side by side for a while. */
  readonly freeGigabytes: number;
  readonly python: AcceptedPython;
  /** Files of this folder that are put into the environment. */
  readonly additions: Readonly<Record<string, string>>;
  /** Proves that the engine runs on this machine, and leaves its compiled files for every start. */
  readonly trial: string;
  readonly modelScript: string;
  readonly modelFile: string;
}

const SGLANG: Recipe = {
  name: 'sglang',
  title: 'SGLang 0.5.23',
  cost: 'a download of 3.4 GB and 7 GB on disk, which takes minutes',
  freeGigabytes: 15,
  python: { minors: [12], reason: 'the pinned wheels of SGLang 0.5.23 fit no other' },
  additions: { 'sgl_kernel/__init__.py': 'lib/python3.12/site-packages/sgl_kernel/__init__.py' },
  trial: 'import sglang.srt.entrypoints.http_server, sglang.srt.managers.scheduler',
  modelScript: 'make-model.py',
  modelFile: 'model.safetensors',
};

const LLAMA_CPP: Recipe = {
  name: 'llama-cpp',
  title: "llama.cpp's server (xllamacpp 2026.10.11549)",
  cost: 'a download of 34 MB and 0.1 GB on disk, which takes seconds',
  freeGigabytes: 0.5,
  python: { minors: [12, 13, 14, 11, 10], reason: 'the pinned wheel of xllamacpp needs 3.10 or newer' },
  additions: {},
  trial: 'import xllamacpp',
  modelScript: 'make-gguf.py',
  modelFile: 'tiny.gguf',
};

const PROGRESS_MS = 20_000;
const GIGABYTE = 1e9;

/** Brings SGLang and a tiny random model into .engines/, unless they are there already. */
export function installSglang(where: WhereToInstall): Promise<Installed> {
  return install(SGLANG, where);
}

/** Brings llama.cpp's server and a tiny random model into .engines/, unless they are there already. */
export async function installLlamaCpp(where: WhereToInstall): Promise<Installed> {
  const installed = await install(LLAMA_CPP, where);
  return { ...installed, model: join(installed.model, LLAMA_CPP.modelFile) };
}

async function install(recipe: Recipe, where: WhereToInstall): Promise<Installed> {
  const home = join(where.checkout, '.engines');
  const logs = join(home, 'logs');
  await mkdir(logs, { recursive: true });
  const environment = join(home, recipe.name);
  const sources = [`requirements-${recipe.name}.txt`, ...Object.keys(recipe.additions)];
  await makeOnce({
    folder: environment,
    recipe: await textOf(sources),
    proof: 'bin/python',
    make: (workshop) => makeEnvironment({ recipe, workshop, home, report: where.report }),
  });
  const python = join(environment, 'bin', 'python');
  const model = join(home, `${recipe.name}-model`);
  await makeOnce({
    folder: model,
    recipe: await textOf([...sources, recipe.modelScript]),
    proof: recipe.modelFile,
    make: (workshop) =>
      runStep([python, beside(recipe.modelScript), workshop], { home, log: logOf(home, recipe), report: where.report }),
  });
  return { python, model, logs };
}

interface Making {
  readonly recipe: Recipe;
  readonly workshop: string;
  readonly home: string;
  readonly report: (line: string) => void;
}

async function makeEnvironment({ recipe, workshop, home, report }: Making): Promise<void> {
  refuseElsewhere(recipe);
  const base = await findPython(recipe.python, process.env);
  await refuseWithoutRoom(recipe, workshop);
  report(`bringing ${recipe.title} into ${join(home, recipe.name)}: ${recipe.cost}; later runs use it again`);
  const run = (words: readonly string[]) => runStep(words, { home, log: logOf(home, recipe), report });
  const python = join(workshop, 'bin', 'python');
  await run([base, '-m', 'venv', workshop]);
  await run([python, '-m', 'pip', 'install', ...PIP_MANNERS, '-r', beside(`requirements-${recipe.name}.txt`)]);
  for (const [from, to] of Object.entries(recipe.additions)) {
    await mkdir(dirname(join(workshop, to)), { recursive: true });
    await cp(beside(from), join(workshop, to));
  }
  await run([python, '-c', recipe.trial]);
}

const PIP_MANNERS = [
  ...['--no-deps', '--only-binary', ':all:', '--require-hashes'],
  // Only what a start imports is worth compiling, and the trial does that.
  ...['--no-compile', '--no-input', '--disable-pip-version-check', '--progress-bar', 'off'],
];

/** The machine that the pinned wheels are built for. */
const WHEEL_MACHINE = 'linux-x64';

function refuseElsewhere({ title }: Recipe): void {
  const machine = `${process.platform}-${process.arch}`;
  if (machine !== WHEEL_MACHINE) throw new Error(`${title} is pinned for ${WHEEL_MACHINE} only, this is ${machine}`);
}

async function refuseWithoutRoom({ title, freeGigabytes }: Recipe, folder: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = (bavail * bsize) / GIGABYTE;
  if (free >= freeGigabytes) return;
  throw new Error(`no room for ${title}: ${free.toFixed(1)} GB free at ${dirname(folder)}, needed ${freeGigabytes} GB`);
}

interface Surroundings {
  readonly home: string;
  readonly log: string;
  readonly report: (line: string) => void;
}

/** Runs one step of an installation to its end; a failure is told in one line with where to read on. */
async function runStep(words: readonly string[], { home, log, report }: Surroundings): Promise<void> {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    report(`installing: ${Math.round((performance.now() - startedAt) / 1000)} s (${log})`);
  }, PROGRESS_MS);
  // Not the system's own place for temporary files, which may lie on a disk without room.
  const scratch = workshopFor(join(home, 'scratch'));
  await mkdir(scratch, { recursive: true });
  try {
    const step = await supervise({ words, environment: { ...pythonEnvironment(), TMPDIR: scratch }, log });
    const code = await step.ended;
    if (code !== 0) throw new Error(`${words.slice(0, 4).join(' ')} ended with code ${code}: ${await lastLineOf(log)}`);
  } finally {
    clearInterval(timer);
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The last line that a process wrote, with the file that has the others. */
export async function lastLineOf(log: string): Promise<string> {
  const lines = (await readFile(log, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  const telling = lines.findLast((line) => /^\s*(ERROR|\w*(Error|Exception):)/.test(line)) ?? lines.at(-1);
  return `${JSON.stringify((telling ?? 'it printed nothing').slice(0, 300))}, more in ${log}`;
}

function logOf(home: string, { name }: Recipe): string {
  return join(home, 'logs', `install-${name}.log`);
}

function beside(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

async function textOf(names: readonly string[]): Promise<string> {
  const texts = await Promise.all(names.map((name) => readFile(beside(name), 'utf8')));
  return texts.map((text, index) => `${basename(names[index] ?? '')}\n${text}`).join('\n');
}
