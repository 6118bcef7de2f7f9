import { count, duration, table } from './format.ts';
import { type Plan, scheduleOf, totalsOf } from './plan.ts';

/** A plan as terminal text: the ladder, and what the run will cost. */
export function renderPlan(plan: Plan, fleet: readonly { readonly gpus: number }[]): string {
  const schedule = scheduleOf(plan);
  const totals = totalsOf(plan, fleet);
  const head = ['in flight', 'fleet', 'R', 'seconds', 'window', ''];
  const rows = schedule.levels.map((level) => [
    String(level.inFlight),
    String(level.inFlight * plan.servers.length),
    duration(level.requestSeconds),
    (level.holdEnd - level.staggerStart).toFixed(1),
    duration(level.windowEnd - level.windowStart),
    level.overLimit ? 'over the limit' : level.inFlight === plan.limit ? `limit (${plan.pool})` : '',
  ]);
  const limits = plan.servers.map((server) => `${server.name} ${server.limit} (${server.pool})`).join(', ');
  const unequal = plan.servers.some((server) => server.limit !== plan.limit);
  return [
    `Plan${plan.assumed ? '   ASSUMED: R was not measured on these servers' : ''}`,
    ...table([head, ...rows]).map((line) => `  ${line}`),
    `limits: ${limits}${unequal ? `; the ladder tops at the smallest, ${plan.limit}` : ''}`,
    ...(plan.inputLength === null
      ? []
      : [`input: ${plan.inputLength.mean.toFixed(1)} tokens a request (measured mean)`]),
    `in all: ${duration(totals.seconds)}, ${count(totals.virtualUsers)} VUs, about ${count(totals.requests)} requests and ` +
      `${count(totals.tokens)} output tokens, ${totals.gpuHours.toFixed(2)} GPU-hours; timeout ${plan.timeoutSeconds} s`,
    '',
  ].join('\n');
}
