import type { LevelSchedule } from './plan.ts';
import { CLOSING } from './registry.ts';

/** The line that is printed when a level begins. */
export function levelLine(level: LevelSchedule, levels: readonly LevelSchedule[], servers: number): string {
  const rising = levels.filter((entry) => entry.tag !== CLOSING);
  const which = level.tag === CLOSING ? 'closing baseline' : `level ${rising.indexOf(level) + 1} of ${rising.length}`;
  const over = level.overLimit ? ', over the limit' : '';
  const fleet = level.inFlight * servers;
  const seconds = Math.round(level.holdEnd - level.staggerStart);
  return `${which}: ${level.inFlight} in flight per server, ${fleet} in the fleet${over} (${seconds} s, R about ${level.requestSeconds.toFixed(1)} s)`;
}
