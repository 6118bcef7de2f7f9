import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { K6Error } from '../cli/k6.ts';
import { k6Command } from '../cli/k6-command.ts';
import { testK6 } from './k6-for-tests.ts';

async function printed(t: TestContext, argv: readonly string[]): Promise<{ code: number; text: string }> {
  const log = t.mock.method(console, 'log', () => {});
  const code = await k6Command(argv);
  return { code, text: log.mock.calls.map((call) => call.arguments.join(' ')).join('\n') };
}

test('the command prints version and path of the k6 that the tests use', async (t) => {
  const { version, path } = await testK6();
  assert.deepEqual(await printed(t, []), { code: 0, text: `k6 ${version}  ${path}` });
});

test('its help says where k6 comes from, whose it is, and that usage reports are off', async (t) => {
  for (const flag of ['--help', '-h']) {
    const { code, text } = await printed(t, [flag]);
    assert.equal(code, 0);
    for (const part of ['K6_BIN', 'PATH', '.k6/bin/k6', 'Grafana Labs', 'AGPL', 'SHA-256', 'Usage reports are off']) {
      assert.ok(text.includes(part), `${part} in: ${text}`);
    }
  }
});

test('anything else on its line is refused with what it was', async () => {
  await assert.rejects(k6Command(['--version', '2']), (error: unknown) => {
    assert.ok(error instanceof K6Error);
    assert.equal(error.message, 'k6: unknown "--version 2"; valid is --help or nothing');
    return true;
  });
});
