import type { LevelSchedule, Schedule } from './plan.ts';

/** The line that is printed when a level begins. */
export function levelLine(level: LevelSchedule, schedule: Schedule, servers: number): string {
  const index = schedule.levels.findIndex((entry) => entry.tag === level.tag);
  const which = index < 0 ? 'closing baseline' : `level ${index + 1} of ${schedule.levels.length}`;
  const over = level.overLimit ? ', over the limit' : '';
  const fleet = level.inFlight * servers;
  const seconds = Math.round(level.holdEnd - level.staggerStart);
  return `${which}: ${level.inFlight} in flight per server, ${fleet} in the fleet${over} (${seconds} s, R about ${level.requestSeconds.toFixed(1)} s)`;
}
