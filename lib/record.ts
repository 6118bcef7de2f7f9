import { attribute, levelOf, OUTSIDE } from './attribution.ts';
import { metrics } from './metrics.ts';
import type { LevelSchedule } from './plan.ts';
import type { Outcome } from './protocol.ts';
import { finishTagOf, WARM_UP } from './registry.ts';
import type { Exchange } from './request.ts';
import { tokens } from './units.ts';

/** Adds one finished request to the metrics: pro-rated over the windows, and once to the level in which it started. */
export function recordRequest(
  server: string,
  outcome: Outcome,
  exchange: Exchange,
  clock: { readonly origin: number; readonly levels: readonly LevelSchedule[] },
): void {
  const start = (exchange.startedAt - clock.origin) / 1000;
  const end = (exchange.endedAt - clock.origin) / 1000;
  const produced = 'tokens' in outcome ? outcome.tokens : tokens(0);
  const shares = attribute({ start, end, tokens: produced }, clock.levels);
  for (const share of shares) {
    const tags = { server, level: share.tag };
    if (share.tokens !== 0) metrics.outputTokens.add(share.tokens, tags);
    metrics.inFlightSeconds.add(share.busy, tags);
  }
  const { tag, settled } = levelOf(start, clock.levels);
  countOutcome(server, tag, outcome);
  // A request that hung through further windows took its place from them too, and left them no token.
  for (const share of 'tokens' in outcome ? [] : shares) {
    if (share.tag !== tag && share.tag !== OUTSIDE) metrics.answered.add(false, { server, level: share.tag });
  }
  if (settled && outcome.state === 'completed') {
    metrics.requestDuration.add(exchange.endedAt - exchange.startedAt, { server, level: tag });
  }
}

/** Adds a request of setup() to the metrics: all of it is warm-up. */
export function recordWarmUp(server: string, outcome: Outcome, exchange: Exchange): void {
  const tags = { server, level: WARM_UP };
  if ('tokens' in outcome) metrics.outputTokens.add(outcome.tokens, tags);
  metrics.inFlightSeconds.add((exchange.endedAt - exchange.startedAt) / 1000, tags);
  countOutcome(server, WARM_UP, outcome);
}

function countOutcome(server: string, level: string, outcome: Outcome): void {
  const counted = 'tokens' in outcome;
  const finish = finishTagOf(counted ? outcome.finishReason : null);
  metrics.requests.add(1, { server, outcome: outcome.state, finish });
  metrics.answered.add(outcome.state === 'completed', { server, level });
  if (!counted) return;
  metrics.answerTokens.add(outcome.tokens, { server });
  metrics.promptTokens.add(outcome.promptTokens, { server });
  if (outcome.cachedTokens !== null && outcome.cachedTokens > 0)
    metrics.cachedTokens.add(outcome.cachedTokens, { server });
}
