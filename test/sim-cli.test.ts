import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';

const ENTRY = "import { simCommand } from './cli/sim.ts'; process.exitCode = await simCommand(process.argv.slice(1));";

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function spawnSim(t: TestContext, args: readonly string[], environment: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', ENTRY, '--', ...args], {
    cwd: `${import.meta.dirname}/..`,
    env: { ...process.env, ...environment },
  });
  t.after(() => child.kill('SIGKILL'));
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const ended: Promise<Ended> = once(child, 'close').then(() => ({ code: child.exitCode, out, err }));
  return { child, ended, printed: () => out };
}

async function untilReady(child: ChildProcess, printed: () => string): Promise<void> {
  while (!printed().includes('export TOKRAMP_SERVERS=')) {
    assert.equal(child.exitCode, null, 'ended before it was ready');
    await once(child.stdout ?? child, 'data');
  }
}

test('a fleet says where it is, asks for its key, and stops cleanly on either signal', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const { child, ended, printed } = spawnSim(t, ['--servers', '2', '--profile', 'fast'], {
      TOKRAMP_SIM_API_KEY: 'k',
    });
    await untilReady(child, printed);
    const [, first, second] = /TOKRAMP_SERVERS=s0=(http:\/\/127\.0\.0\.1:\d+),s1=(http:\S+)/.exec(printed()) ?? [];
    assert.ok(first && second);
    assert.equal((await fetch(`${first}/v1/models`)).status, 401);
    assert.equal((await fetch(`${second}/v1/models`, { headers: { authorization: 'Bearer k' } })).status, 200);
    assert.match(printed(), /^s0 {2}http:\/\/127\.0\.0\.1:\d+ {2}simulated, profile fast$/m);
    child.kill(signal);
    assert.equal((await ended).code, 0, signal);
  }
});

test('ports follow a given base, and a base that is taken is one clear line', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await once(taken, 'listening');
  const address = taken.address();
  assert.ok(address !== null && typeof address === 'object');
  const { code, err } = await spawnSim(t, ['--servers', '1', '--port', String(address.port)]).ended;
  assert.equal(code, 1);
  assert.match(err, /^sim: cannot start: listen EADDRINUSE: address already in use 127\.0\.0\.1:\d+\n$/);
});

test('a wrong flag or value ends with exit 1 and one line that says what would be valid', async (t) => {
  const rows: [string[], RegExp][] = [
    [['--servers', '0'], /^sim: --servers "0": want a whole number from 1 to 64\n$/],
    [['--servers', '2.5'], /^sim: --servers "2\.5": want a whole number/],
    [['--profile', 'nope'], /^sim: --profile "nope": want one of story, fast, demo, saturating\n$/],
    [['--port', '65535'], /^sim: --port "65535": want a whole number from 0 to 65528\n$/],
    [['--bogus'], /^sim: .*--bogus.*; want --servers, --profile or --port with a value\n$/],
    [['--servers'], /^sim: .*--servers.*; want --servers, --profile or --port with a value\n$/],
    [['extra'], /^sim: .*extra.*; want --servers, --profile or --port with a value\n$/],
  ];
  const endings = await Promise.all(rows.map(([args]) => spawnSim(t, args).ended));
  for (const [index, { code, err }] of endings.entries()) {
    const [args, message] = rows[index] ?? [[], /never/];
    assert.equal(code, 1, args.join(' '));
    assert.match(err, message);
  }
  const help = await spawnSim(t, ['--help']).ended;
  assert.equal(help.code, 0);
  assert.match(help.out, /--profile NAME {2}one of story, fast, demo, saturating \(default story\)/);
});
