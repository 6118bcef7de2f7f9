/** What a simulated server is: its speed, its memory and how it was started. Profiles are data; nothing else decides a time. */
export interface Profile {
  readonly name: string;
  readonly model: string;
  /** One decode step of B requests takes `stepBaseMs + stepPerRequestMs * B`. */
  readonly stepBaseMs: number;
  readonly stepPerRequestMs: number;
  /** One prefill pass takes `prefillBaseMs` plus its uncached tokens over `prefillTokensPerSecond`. */
  readonly prefillBaseMs: number;
  readonly prefillTokensPerSecond: number;
  /** How much longer the first prefill pass after start takes. */
  readonly coldStartMs: number;
  /** How long `/health` and `/ping` answer 503 after start. */
  readonly startUpMs: number;
  /** How long a successful `/health` takes. */
  readonly healthMs: number;
  /** KV pool in tokens (M). */
  readonly maxTotalTokens: number;
  readonly contextLength: number;
  readonly maxRunning: number;
  /** Most requests that may wait; beyond it 503. Null: no limit, as SGLang's default. */
  readonly maxQueued: number | null;
  readonly pageSize: number;
  readonly chunkedPrefillTokens: number;
  readonly conservativeness: number;
  /** Mean answer length where the end-of-text token is not ignored. */
  readonly naturalStopTokens: number;
  readonly metrics: boolean;
  readonly cacheReport: boolean;
}

/**
 * One of the story's eight GPUs: t(1) = 25.95 ms is 38.5 tok/s, t(37) = 31.35 ms is 1,180 tok/s.
 * Prefill is made so cheap (about 2 ms for a prompt of 100 tokens) that 37 prefills per R cost less than
 * 0.3 % of the full rate and the story's three numbers hold. The pool gives a limit of 37 for 1,024 output
 * tokens and prompts of 100 to 128 tokens, while 64 requests may run: KV binds, as it did.
 */
const story: Profile = {
  name: 'story',
  model: 'simulated-27b',
  stepBaseMs: 25.8,
  stepPerRequestMs: 0.15,
  prefillBaseMs: 1,
  prefillTokensPerSecond: 100_000,
  coldStartMs: 12_100,
  startUpMs: 0,
  healthMs: 1_000,
  maxTotalTokens: 42_676,
  contextLength: 32_768,
  maxRunning: 64,
  maxQueued: null,
  pageSize: 1,
  chunkedPrefillTokens: 8_192,
  conservativeness: 1,
  naturalStopTokens: 400,
  metrics: true,
  cacheReport: true,
};

/** The story ten times quicker in every time, for tests. */
const fast: Profile = {
  ...story,
  name: 'fast',
  stepBaseMs: story.stepBaseMs / 10,
  stepPerRequestMs: story.stepPerRequestMs / 10,
  prefillBaseMs: story.prefillBaseMs / 10,
  prefillTokensPerSecond: story.prefillTokensPerSecond * 10,
  coldStartMs: story.coldStartMs / 10,
  healthMs: story.healthMs / 10,
};

/** The story for answers of 64 tokens: a pool so small that KV still binds at 37, for prompts of 103 tokens (and a page). */
const demo: Profile = {
  ...story,
  name: 'demo',
  coldStartMs: 1_000,
  maxTotalTokens: 37 * (103 + 1 + 64 + 1) + 1,
};

/** A curve that bends clearly: 77 tok/s alone, 817 at 37, never more than 1,111 (1 / b). */
const saturating: Profile = {
  ...story,
  name: 'saturating',
  stepBaseMs: 12,
  stepPerRequestMs: 0.9,
  coldStartMs: 2_000,
};

/** Every profile by its name; `story` is the default. */
export const PROFILES: Readonly<Record<'story' | 'fast' | 'demo' | 'saturating', Profile>> &
  Readonly<Record<string, Profile>> = { story, fast, demo, saturating };
