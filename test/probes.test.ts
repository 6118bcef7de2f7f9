import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measureBaseline } from '../lib/baseline.ts';
import { renderBaseline } from '../lib/baseline-text.ts';
import type { Doors } from '../lib/fleet.ts';
import type { Outcome } from '../lib/protocol.ts';
import { parseSettings } from '../lib/settings.ts';
import { renderSmoke, smokeFleet } from '../lib/smoke.ts';
import { tokens } from '../lib/units.ts';

const settings = parseSettings({
  flags: { servers: 'http://127.0.0.1:1,http://127.0.0.1:2,http://127.0.0.1:3', minServers: '2', maxTokens: '32' },
  environment: {},
  file: null,
});

const ANSWERED: Outcome = {
  state: 'completed',
  tokens: tokens(32),
  promptTokens: 10,
  cachedTokens: 0,
  finishReason: 'length',
};

/** Three servers that need 1 s for a request; each server's n-th answer may be another one, and s2 may be gone. */
function doorsFor(change: { readonly isGone?: boolean; readonly at?: (name: string, nth: number) => Outcome }) {
  const lines: string[] = [];
  const doors: Doors = {
    door: ({ name }) => ({
      get: async (path) => {
        if (change.isGone && name === 's2') return { status: 0, body: null, errorCode: 1212, error: 'refused' };
        return { status: path === '/health' ? 200 : 404, body: '', errorCode: 0, error: '' };
      },
      sleep: async () => undefined,
      now: () => 0,
      report: (line) => lines.push(line),
    }),
    send: ({ name }) => {
      let nth = 0;
      return async () => {
        nth += 1;
        return { outcome: change.at?.(name, nth) ?? ANSWERED, seconds: 1 };
      };
    },
    report: (line) => lines.push(line),
  };
  return { doors, lines };
}

async function baselineWith(change: Parameters<typeof doorsFor>[0]) {
  const { doors, lines } = doorsFor(change);
  const measured = await measureBaseline({ settings, runId: 'b', report: doors.report }, doors);
  assert.ok(!('faults' in measured));
  return { measured, text: renderBaseline(measured), lines };
}

test('a baseline of servers that all answer has a figure of the fleet, first and warm', async () => {
  const { text } = await baselineWith({});
  assert.match(text, /^fleet, first round: +96\.0 output tok\/s \(96 tokens of 3 servers in 1\.000 s\)$/m);
  assert.match(text, /^fleet, warm: +96\.0 output tok\/s/m);
});

test('a server that may be missing has a row in the baseline, and there is no sum without it', async () => {
  const { measured, text, lines } = await baselineWith({ isGone: true });
  assert.deepEqual(measured.rounds, [null, null, null, null]);
  assert.match(text, /^ +s0 +32\.0 /m);
  assert.match(text, /^ +s2 +http:\/\/127\.0\.0\.1:3 cannot be reached \(refused\)/m);
  assert.match(text, /^fleet, first round: +no figure/m);
  assert.ok(lines.some((line) => line.startsWith('goes on without s2 ')));
});

test('a warm round in which a server failed leaves no warm figure of the fleet; the first one stands', async () => {
  const failed: Outcome = { state: 'rejected', status: 500, reason: 'HTTP 500: x' };
  const { measured, text } = await baselineWith({
    at: (name, nth) => (name === 's1' && nth === 3 ? failed : ANSWERED),
  });
  assert.deepEqual(
    measured.rounds.map((round) => round === null),
    [false, false, true, false],
  );
  assert.match(text, /^fleet, first round: +96\.0 /m);
  assert.match(text, /^fleet, warm: +no figure/m);
});

test('smoke does not say "every server" where one is missing', async () => {
  const whole = await smokeFleet(settings, doorsFor({}).doors);
  assert.ok(!('faults' in whole));
  assert.match(renderSmoke(whole), /^Smoke: every server answered/);
  const without = await smokeFleet(settings, doorsFor({ isGone: true }).doors);
  assert.ok(!('faults' in without));
  assert.match(renderSmoke(without), /^Smoke: 2 of 3 servers answered/);
  assert.match(renderSmoke(without), /^ {2}s2 {2}missing {2}http:\/\/127\.0\.0\.1:3 cannot be reached \(refused\)$/m);
});
