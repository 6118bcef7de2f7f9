import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  clampNewTokens,
  effectiveMaxRunning,
  type Limits,
  NewTokenRatio,
  refusedInputTokens,
} from '../sim/admission.ts';
import { Engine } from '../sim/engine.ts';
import { EngineStats } from '../sim/engine-stats.ts';
import type { Completion, Job } from '../sim/job.ts';
import { PROFILES, type Profile } from '../sim/profiles.ts';

const START_MS = 1_796_000_000_000;

/** An engine at rest in a plain profile: 10 ms a step, prefill of 1 ms, no cold start. */
function engineOf(part: Partial<Profile> = {}): { engine: Engine; stats: EngineStats } {
  const plain = { ...PROFILES.story, stepBaseMs: 10, stepPerRequestMs: 0, prefillTokensPerSecond: 1e9, coldStartMs: 0 };
  const profile: Profile = { ...plain, ...part };
  const stats: EngineStats = new EngineStats(() => engine.occupancy(), START_MS);
  const engine: Engine = new Engine({
    limits: profile,
    timing: { ...profile, slowness: 1 },
    conservativeness: profile.conservativeness,
    observer: stats,
    startMs: START_MS,
  });
  return { engine, stats };
}

function job(id: string, part: Partial<Job> = {}): Job {
  const fixed = { promptTokens: 100, maxNewTokens: 10, ignoreEos: true, naturalTokens: 1_000_000 };
  return { id, cacheKey: id, stopEarlyAt: null, clampTo: null, ...fixed, ...part };
}

/** Runs until nothing is left, stepping from event to event. */
function runDry(engine: Engine): Completion[] {
  const all: Completion[] = engine.takeCompletions();
  for (let next = engine.nextEventMs(); next !== null; next = engine.nextEventMs()) {
    engine.advance(next);
    all.push(...engine.takeCompletions());
  }
  return all;
}

/** Keeps a level in flight, as a closed loop without think time would, until a time. */
function holdLevel(
  engine: Engine,
  level: number,
  until: { readonly fromMs: number; readonly toMs: number; readonly job: Partial<Job> },
): number {
  const rMs = 1024 * (25.8 + 0.15 * level);
  let serial = 0;
  const send = (atMs: number) =>
    engine.submit(job(`r${serial++}`, { promptTokens: 110, maxNewTokens: 1024, ...until.job }), atMs);
  for (let index = 0; index < level; index++) {
    const joinMs = until.fromMs + (index * rMs) / level;
    for (let next = engine.nextEventMs(); next !== null && next < joinMs; next = engine.nextEventMs()) {
      engine.advance(next);
      for (const { finishedMs } of engine.takeCompletions()) send(finishedMs);
    }
    send(joinMs);
  }
  for (let next = engine.nextEventMs(); next !== null && next < until.toMs; next = engine.nextEventMs()) {
    engine.advance(next);
    for (const { finishedMs } of engine.takeCompletions()) send(finishedMs);
  }
  engine.advance(until.toMs);
  return rMs;
}

test('answers are clamped and prompts refused exactly as a real server did', () => {
  const real: Limits = { maxTotalTokens: 4096, contextLength: 2048, maxRunning: 8, maxQueued: null, pageSize: 1 };
  const small = { ...real, maxTotalTokens: 1024 };
  const vectors = [
    { limits: small, asked: 500, prompt: 900, allowed: 122 },
    { limits: small, asked: null, prompt: 11, allowed: 1011 },
    { limits: small, asked: 121, prompt: 900, allowed: 121 },
    { limits: real, asked: 18, prompt: 2030, allowed: 16 },
    { limits: real, asked: null, prompt: 14, allowed: 2032 },
    { limits: real, asked: 0, prompt: 14, allowed: 0 },
    { limits: { ...small, pageSize: 64 }, asked: 500, prompt: 900, allowed: 1024 - 960 - 64 - 1 },
  ];
  for (const { limits, asked, prompt, allowed } of vectors) {
    assert.equal(
      clampNewTokens(asked, prompt, limits),
      Math.max(0, allowed),
      `${prompt} + ${asked} of ${limits.maxTotalTokens}`,
    );
  }
  assert.equal(refusedInputTokens(small), 1018);
  assert.equal(refusedInputTokens(real), 2042);
  assert.equal(effectiveMaxRunning({ ...real, maxRunning: 4096 }), 2048);
});

test('a burst of fixed-length requests fills the pool to exactly the safe number and never more', () => {
  const vectors = [
    { pool: 1024, safe: 3 },
    { pool: 1000, safe: 3 },
    // Just below 1,000 a third would fit although the formula says two: who runs owes a token less than who comes.
    { pool: 990, safe: 2 },
    { pool: 8 * 333 + 1, safe: 8 },
    { pool: 100_000, safe: 8 },
  ];
  for (const { pool, safe } of vectors) {
    const { engine, stats } = engineOf({ maxTotalTokens: pool, maxRunning: 8, conservativeness: 0.15 });
    for (let index = 0; index < 12; index++)
      engine.submit(job(`r${index}`, { promptTokens: 32, maxNewTokens: 300 }), START_MS);
    engine.advance(START_MS + 500);
    assert.equal(engine.occupancy().running, safe, `pool ${pool}`);
    assert.equal(engine.occupancy().waiting, 12 - safe);
    assert.deepEqual(
      runDry(engine).map(({ tokens, ending }) => [tokens, ending]),
      Array(12).fill([300, 'length']),
    );
    assert.equal(stats.generationTokens, 3600);
  }
});

test('requests that may end by themselves are admitted beyond the safe number, one by one', () => {
  for (const { ignoreEos, running } of [
    { ignoreEos: true, running: 3 },
    { ignoreEos: false, running: 8 },
  ]) {
    const { engine } = engineOf({ maxTotalTokens: 1024, maxRunning: 8, conservativeness: 0.15 });
    for (let index = 0; index < 8; index++) {
      engine.submit(job(`r${index}`, { promptTokens: 32, maxNewTokens: 300, ignoreEos }), START_MS + index * 20);
    }
    engine.advance(START_MS + 500);
    assert.equal(engine.occupancy().running, running);
  }
});

test('the new-token ratio starts at 0.7, falls to 0.098 within 600 steps and resets', () => {
  const ratio = new NewTokenRatio(1);
  assert.equal(ratio.value, 0.7);
  ratio.step();
  assert.ok(ratio.value < 0.7);
  for (let step = 1; step < 700; step++) ratio.step();
  assert.ok(Math.abs(ratio.value - 0.098) < 1e-12);
  ratio.reset();
  assert.equal(ratio.value, 0.7);
});

test('a decode step of B requests takes a + b B, and the first token comes from the prefill', () => {
  for (const batch of [1, 2, 8, 37]) {
    const { engine } = engineOf({ stepBaseMs: 20, stepPerRequestMs: 0.5, prefillBaseMs: 4, maxRunning: 64 });
    const jobs = Array.from({ length: batch }, (_, index) => job(`r${index}`, { maxNewTokens: 101 }));
    // One pass prefills the first alone, one more all others: 1e9 tokens a second leave only the base.
    for (const each of jobs) engine.submit(each, START_MS);
    const done = runDry(engine);
    const last = Math.max(...done.map(({ finishedMs }) => finishedMs)) - START_MS;
    const prefillMs = batch === 1 ? 4 : 8;
    const decodeMs = 100 * (20 + 0.5 * batch);
    const computedMs = ((batch * 100) / 1e9) * 1000;
    assert.ok(Math.abs(last - (prefillMs + computedMs + decodeMs)) < 1e-3, `batch ${batch}: ${last}`);
    assert.deepEqual(new Set(done.map(({ tokens }) => tokens)), new Set([101]));
  }
});

test('waiting requests are served in the order in which they came', () => {
  const { engine } = engineOf({ maxRunning: 2 });
  for (let index = 0; index < 7; index++) engine.submit(job(`r${index}`), START_MS + index);
  const order = runDry(engine).map(({ job: { id } }) => id);
  assert.deepEqual(order, ['r0', 'r1', 'r2', 'r3', 'r4', 'r5', 'r6']);
});

test('only the first request after start pays the cold start, and again when the server is made cold', () => {
  const { engine } = engineOf({ coldStartMs: 5000 });
  const durations: number[] = [];
  for (const [index, cold] of [false, false, true].entries()) {
    if (cold) engine.makeCold();
    const atMs = START_MS + index * 100_000;
    engine.submit(job(`r${index}`), atMs);
    durations.push((runDry(engine)[0]?.finishedMs ?? 0) - atMs);
  }
  assert.deepEqual(
    durations.map((duration) => Math.round(duration)),
    [5091, 91, 5091],
  );
});

test('it makes no difference how late or how often the engine is asked', () => {
  const outcomes = [1, 7, 333, 60_000].map((everyMs) => {
    const { engine } = engineOf({ maxRunning: 3 });
    for (let index = 0; index < 9; index++)
      engine.submit(job(`r${index}`, { maxNewTokens: 20 + index }), START_MS + index * 13);
    for (let atMs = START_MS; atMs < START_MS + 120_000; atMs += everyMs) engine.advance(atMs);
    engine.advance(START_MS + 120_000);
    return engine.takeCompletions().map(({ job: { id }, finishedMs }) => `${id} ${finishedMs.toFixed(6)}`);
  });
  for (const outcome of outcomes) assert.deepEqual(outcome, outcomes[0]);
  assert.equal(outcomes[0]?.length, 9);
});

test('a prompt longer than the chunk budget is prefilled in several passes during which nobody decodes', () => {
  const { engine, stats } = engineOf({ chunkedPrefillTokens: 1000, prefillBaseMs: 50 });
  engine.submit(job('first', { maxNewTokens: 100 }), START_MS);
  engine.advance(START_MS + 200);
  const before = engine.emitted.total;
  engine.submit(job('long', { promptTokens: 2500 }), START_MS + 200);
  engine.advance(START_MS + 200 + 10 + 149);
  assert.ok(engine.emitted.total - before <= 1, 'at most the step under way');
  assert.equal(stats.prefillPasses, 4);
  assert.equal(stats.computedTokens, 2600);
  assert.equal(runDry(engine).length, 2);
});

test('a prompt sent again is found in the cache up to its last token, unless its namespace differs', () => {
  const vectors = [
    { page: 1, key: 'same', cached: 99 },
    { page: 16, key: 'same', cached: 96 },
    { page: 1, key: 'salted', cached: 0 },
  ];
  for (const { page, key, cached } of vectors) {
    const { engine, stats } = engineOf({ pageSize: page });
    engine.submit(job('a', { cacheKey: 'same' }), START_MS);
    runDry(engine);
    engine.submit(job('b', { cacheKey: key }), START_MS + 1000);
    assert.equal(runDry(engine)[0]?.cachedTokens, cached, `page ${page}, ${key}`);
    assert.equal(stats.prefillCacheTokens, cached);
    engine.flush();
    engine.submit(job('c', { cacheKey: 'same' }), START_MS + 2000);
    assert.equal(runDry(engine)[0]?.cachedTokens, 0);
  }
});

test('a full queue refuses the next request at once', () => {
  const { engine } = engineOf({ maxRunning: 1, maxQueued: 2 });
  for (let index = 0; index < 4; index++) engine.submit(job(`r${index}`), START_MS);
  assert.deepEqual(
    engine.takeCompletions().map(({ job: { id }, ending, tokens }) => [id, ending, tokens]),
    [['r3', 'queue-full', 0]],
  );
});

test('an aborted request frees its place, and its tokens stay counted', () => {
  const { engine, stats } = engineOf({ maxRunning: 1 });
  engine.submit(job('runs', { maxNewTokens: 1000 }), START_MS);
  engine.submit(job('waits'), START_MS);
  engine.submit(job('leaves'), START_MS);
  engine.abort('leaves', START_MS + 100);
  engine.abort('runs', START_MS + 205);
  const done = runDry(engine);
  assert.deepEqual(
    done.map(({ job: { id }, ending }) => `${id} ${ending}`),
    ['leaves abort', 'runs abort', 'waits length'],
  );
  assert.equal(done[1]?.tokens, 21);
  assert.equal(stats.generationTokens, 31);
  assert.equal(stats.requests, 2, 'who never ran is no request');
  assert.ok(Math.abs(engine.emitted.total - 31) < 1e-9);
});

test('the truth has every token once, and the mean in flight', () => {
  const { engine, stats } = engineOf();
  for (let index = 0; index < 5; index++)
    engine.submit(job(`r${index}`, { maxNewTokens: 300 + index }), START_MS + index * 37);
  const endMs = Math.max(...runDry(engine).map(({ finishedMs }) => finishedMs));
  engine.countBusy(endMs + 1000);
  const tokens = 5 * 300 + 10;
  assert.equal(stats.generationTokens, tokens);
  const buckets = engine.emitted.toArray();
  assert.ok(Math.abs(buckets.reduce((sum, each) => sum + each, 0) - tokens) < 1e-6);
  assert.ok(Math.abs(engine.emitted.between(START_MS, endMs + 1000) - tokens) < 1e-6);
  // Five in flight, one token each per 10 ms.
  assert.ok(Math.abs(engine.emitted.between(START_MS + 1050, START_MS + 2050) - 500) < 1e-6);
  assert.ok(Math.abs(engine.busyMs.between(START_MS + 1000, START_MS + 2000) / 1000 - 5) < 1e-9);
});

test('eight cold requests of 1,024 tokens take 38.7 s and read 212 tok/s', () => {
  const { engine } = engineOf(PROFILES.story);
  engine.submit(job('cold', { promptTokens: 110, maxNewTokens: 1024 }), START_MS);
  const seconds = ((runDry(engine)[0]?.finishedMs ?? 0) - START_MS) / 1000;
  assert.ok(Math.abs(seconds - 38.7) <= 0.3, `${seconds} s`);
  assert.ok(Math.abs((8 * 1024) / seconds - 212) / 212 < 0.005, `${(8 * 1024) / seconds} tok/s`);
});

test('warm level 1 of the story is 308 tok/s and the full level 9,440 for eight servers', () => {
  for (const { level, fleet } of [
    { level: 1, fleet: 308 },
    { level: 37, fleet: 9440 },
  ]) {
    const { engine } = engineOf({ ...PROFILES.story, coldStartMs: 0 });
    const fromMs = START_MS;
    const toMs = START_MS + 130_000;
    const rMs = holdLevel(engine, level, { fromMs, toMs, job: {} });
    const rate = (8 * engine.emitted.between(fromMs + 1.2 * rMs, toMs)) / ((toMs - fromMs - 1.2 * rMs) / 1000);
    assert.ok(Math.abs(rate - fleet) / fleet < 0.005, `level ${level}: ${rate} tok/s`);
  }
});

test('the pool binds at 37 in the story and in the demo, and holds one more request in the queue', () => {
  for (const { profile, prompts, output } of [
    { profile: PROFILES.story, prompts: [100, 114, 128], output: 1024 },
    { profile: PROFILES.demo, prompts: [103, 104], output: 64 },
  ]) {
    for (const promptTokens of prompts) {
      const byKv = Math.floor((profile.maxTotalTokens - 1) / (promptTokens + output + 1));
      assert.equal(Math.min(byKv, profile.maxRunning), 37, `${profile.name} ${promptTokens}`);
      const { engine } = engineOf({ ...profile, coldStartMs: 0 });
      holdLevel(engine, 38, { fromMs: START_MS, toMs: START_MS + 60_000, job: { promptTokens, maxNewTokens: output } });
      assert.deepEqual(
        [engine.occupancy().running, engine.occupancy().waiting],
        [37, 1],
        `${profile.name} ${promptTokens}`,
      );
    }
  }
});
