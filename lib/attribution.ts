import { type Seconds, seconds, type Tokens, tokens } from './units.ts';

/** A measured interval, in seconds after the scenario's start; windows are sorted and never overlap. */
export interface Window {
  readonly tag: string;
  readonly windowStart: number;
  readonly windowEnd: number;
}

/** One finished request on the scenario's clock (seconds); without tokens where its outcome carries none. */
export interface FinishedRequest {
  readonly start: number;
  readonly end: number;
  readonly tokens: Tokens;
}

/** What one window gets of a request: its pro-rated tokens and the time it was in flight there. */
export interface Share {
  readonly tag: string;
  readonly tokens: Tokens;
  readonly busy: Seconds;
}

export const OUTSIDE = 'outside';

/**
 * Spreads a request's tokens evenly over [start, end] and gives each window what overlaps it (guarded pro-rating,
 * method.md E5); the rest goes to "outside", as a difference, so that the shares add up to the request exactly.
 */
export function attribute(request: FinishedRequest, windows: readonly Window[]): readonly Share[] {
  const duration = Math.max(request.end - request.start, 0.001); // the clock has steps of 1 ms
  const shares: Share[] = [];
  let restTokens: number = request.tokens;
  let restBusy = duration;
  for (const window of windows) {
    const overlap = Math.min(request.end, window.windowEnd) - Math.max(request.start, window.windowStart);
    if (overlap <= 0) continue;
    const share = (request.tokens * overlap) / duration;
    shares.push({ tag: window.tag, tokens: tokens(share), busy: seconds(overlap) });
    restTokens -= share;
    restBusy -= overlap;
  }
  const allInside = restBusy <= duration * 1e-9;
  if (!allInside) shares.push({ tag: OUTSIDE, tokens: tokens(restTokens), busy: seconds(restBusy) });
  return shares;
}

/** The time between joining a level and leaving it, in seconds after the scenario's start. */
export interface Tenure {
  readonly tag: string;
  readonly staggerStart: number;
  readonly holdStart: number;
  readonly holdEnd: number;
}

/**
 * The level a request belongs to: the one in whose [stagger start, hold end) it started. Only requests started after the
 * stagger ("settled") may enter the level's R.
 */
export function levelOf(start: number, levels: readonly Tenure[]): { readonly tag: string; readonly settled: boolean } {
  for (const level of levels) {
    if (start >= level.staggerStart && start < level.holdEnd)
      return { tag: level.tag, settled: start >= level.holdStart };
  }
  return { tag: OUTSIDE, settled: false };
}
