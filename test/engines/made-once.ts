import { createHash } from 'node:crypto';
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export interface MadeOnce {
  readonly folder: string;
  /** What the folder is made from; another text means that it is made anew. */
  readonly recipe: string;
  /** A file that a usable folder has, relative to it. */
  readonly proof: string;
  /** Fills the folder given, which gets its final name only when all of it is there. */
  readonly make: (workshop: string) => Promise<void>;
}

const STAMP = 'made-from.sha256';
const WORKSHOP = /^making-(\d+)-/;

/** Makes a folder unless it is there already, whole and from the same recipe. */
export async function makeOnce({ folder, recipe, proof, make }: MadeOnce): Promise<void> {
  const stamp = createHash('sha256').update(recipe).digest('hex');
  const isMade = async () => (await isThere(join(folder, proof))) && (await stampOf(folder)) === stamp;
  if (await isMade()) return;
  await clearAbandoned(dirname(folder));
  const workshop = workshopFor(folder);
  await mkdir(workshop, { recursive: true });
  try {
    await make(workshop);
    await writeFile(join(workshop, STAMP), `${stamp}\n`);
    // Another process may have made the same meanwhile, and may use it.
    if (await isMade()) return;
    await rm(folder, { recursive: true, force: true });
    await rename(workshop, folder);
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

/** A name beside the folder that shows whose unfinished work it is, so that a later run can tell what was abandoned. */
export function workshopFor(folder: string): string {
  return join(dirname(folder), `making-${process.pid}-${basename(folder)}`);
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function stampOf(folder: string): Promise<string | undefined> {
  return readFile(join(folder, STAMP), 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
}

/** Removes the workshops of processes that died in them: gigabytes that nobody would ever use. */
async function clearAbandoned(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  for (const name of names) {
    const maker = Number(WORKSHOP.exec(name)?.[1]);
    if (maker > 0 && !isRunning(maker)) await rm(join(parent, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
