import assert from 'node:assert/strict';
import { test } from 'node:test';
import { discoverFleet } from '../lib/discovery.ts';
import type { Doors } from '../lib/fleet.ts';
import type { Plan } from '../lib/plan.ts';
import { prepareRamp } from '../lib/ramp-setup.ts';
import { parseSettings, type Settings } from '../lib/settings.ts';
import { tokens } from '../lib/units.ts';
import { workloadFor } from './factories.ts';

const MAX_TOKENS = 40;

const settingsFor = (servers: readonly string[]): Settings =>
  parseSettings({
    flags: { overLimit: 'false' },
    environment: {
      TOKRAMP_SERVERS: servers.map((name, index) => `${name}=http://127.0.0.${1 + index}:1`).join(','),
      TOKRAMP_MAX_TOKENS: String(MAX_TOKENS),
    },
    file: null,
  });

/** What the servers of a test say of themselves, and how long the prompts are that each of them sees, in turn. */
interface Servers {
  readonly routes: Readonly<Record<string, unknown>>;
  readonly promptTokens: Readonly<Record<string, (index: number) => number>>;
}

function doorsFor({ routes, promptTokens }: Servers): Doors & { readonly said: string[] } {
  const sent: Record<string, number> = {};
  const said: string[] = [];
  const report = (line: string): void => void said.push(line);
  const get = async (path: string) => {
    const body = routes[path];
    return { status: body === undefined ? 404 : 200, body: JSON.stringify(body ?? null), errorCode: 0, error: '' };
  };
  return {
    said,
    report,
    door: () => ({ get, sleep: async () => {}, now: () => 0, report }),
    send:
      ({ name }) =>
      async ({ maxTokens }) => {
        const index = sent[name] ?? 0;
        sent[name] = index + 1;
        const counts = { tokens: tokens(maxTokens), promptTokens: promptTokens[name]?.(index) ?? 100, cachedTokens: 0 };
        return { outcome: { state: 'completed', finishReason: 'length', ...counts }, seconds: maxTokens / 10 };
      },
  };
}

const sglangWith = (kvTokens: number): Servers['routes'] => ({
  '/health': '',
  '/server_info': { max_total_num_tokens: kvTokens, page_size: 1, internal_states: [] },
  '/v1/loads': { loads: [{ max_running_requests: 64, num_running_reqs: 0, num_waiting_reqs: 0 }] },
});

async function discovered(settings: Settings, doors: Doors): Promise<{ plan: Plan; notes: readonly string[] }> {
  const about = { settings, workload: workloadFor({ maxTokens: MAX_TOKENS }), createdAt: '2026-12-01T00:00:00.000Z' };
  const found = await discoverFleet(about, doors);
  assert.ok('plan' in found, JSON.stringify(found));
  return found;
}

test('limits rest on the longest prompt of all, and the ramp that follows agrees with them', async () => {
  // 930 = 5 x (145 + 41): five requests fit while prompts have at most 144 tokens and their page, four of the longer ones.
  const rows = [
    { s0: () => 130, s1: () => 130, limit: 5 },
    // The first prompts of a server size its waves; a longer one comes later.
    { s0: (index: number) => (index < 3 ? 140 : 148), s1: () => 130, limit: 4 },
    // Only one server ever sees the longer one.
    { s0: () => 130, s1: () => 148, limit: 4 },
  ];
  for (const { s0, s1, limit } of rows) {
    const settings = settingsFor(['s0', 's1']);
    const doors = doorsFor({ routes: sglangWith(931), promptTokens: { s0, s1 } });
    const { plan } = await discovered(settings, doors);
    assert.deepEqual([plan.limit, ...plan.servers.map((server) => server.limit)], [limit, limit, limit]);
    assert.equal(plan.levels.at(-1)?.inFlight, limit);
    const prepared = await prepareRamp({ plan, settings }, doors);
    assert.ok('servers' in prepared, JSON.stringify(prepared));
  }
});

test('a prompt that is too long for the server only when it comes late still stops discover', async () => {
  const settings = settingsFor(['s0']);
  const routes = sglangWith(400);
  const doors = doorsFor({ routes, promptTokens: { s0: (index) => (index < 3 ? 130 : 390) } });
  const about = { settings, workload: workloadFor({ maxTokens: MAX_TOKENS }), createdAt: '' };
  const found = await discoverFleet(about, doors);
  assert.ok('faults' in found);
  assert.match(
    found.faults.join('\n'),
    /^s0: a request of 391 \+ 40 tokens needs 432 KV tokens, the pool of one rank has/,
  );
});

test('a server that does not tell its load is not called idle without a note', async () => {
  const settings: Settings = { ...settingsFor(['s0']), limit: 4 };
  const routes = { '/health': { status: 'ok' }, '/v1/models': { data: [{ id: 'tiny', owned_by: 'llamacpp' }] } };
  const { plan, notes } = await discovered(settings, doorsFor({ routes, promptTokens: {} }));
  assert.deepEqual([plan.limit, plan.pool], [4, 'given']);
  assert.deepEqual(notes, ['s0: does not tell its load: whether it is idle is not known']);
  const told = await discovered(settings, doorsFor({ routes: sglangWith(4096), promptTokens: {} }));
  assert.deepEqual(told.notes, []);
});

test('discover says how many servers it warms, and what each of them showed', async () => {
  for (const [names, said] of [
    [['s0'], '1 server is ready and idle'],
    [['s0', 's1'], '2 servers are ready and idle'],
  ] as const) {
    const doors = doorsFor({ routes: sglangWith(931), promptTokens: {} });
    await discovered(settingsFor(names), doors);
    assert.equal(doors.said.length, 1 + names.length);
    assert.ok(doors.said[0]?.startsWith(said), doors.said[0]);
    assert.equal(doors.said[1], 's0: R 4.00 s alone, 4.00 s with 6 in flight (KV)');
  }
});
