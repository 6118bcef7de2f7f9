/** How far the suite's figures are from the truth: real k6 on simulated fleets that know what they did; --quick: two cases. */
import { obtainK6 } from '../cli/bring-k6.ts';
import { CHECKOUT } from '../cli/k6.ts';
import { PROFILES } from '../sim/profiles.ts';
import { type AccuracyCase, type CaseOutcome, type LevelError, runCase } from './accuracy-case.ts';

const EVERY_LEVEL = 0.01;
const MEAN = 0.005;
/** Above this load average a case is run once more: two cores that are busy elsewhere delay client and fleet alike. */
const BUSY = 1.5;

const { demo, saturating, story } = PROFILES;
const SHORT = { stop: 'fixed', maxTokens: 64, levels: null } as const;
/** Lengths from 10 to 64 tokens: the model ends by itself after 10 to 70, and is cut at 64. */
const VARIABLE = { ...SHORT, stop: 'natural' } as const;
const variable = { naturalStopTokens: 40 };
const SOME_LEVELS = '1,4,16,37';

const CASES: readonly AccuracyCase[] = [
  { ...SHORT, profile: demo, servers: 8, hold: 2.2 },
  { ...VARIABLE, profile: { ...saturating, ...variable }, servers: 4, hold: 3 },
  { ...VARIABLE, profile: { ...demo, ...variable }, servers: 8, hold: 2.2, levels: SOME_LEVELS },
  { ...SHORT, profile: saturating, servers: 8, hold: 2.2, levels: SOME_LEVELS },
  { ...SHORT, profile: demo, servers: 1, hold: 3, levels: SOME_LEVELS },
  { ...VARIABLE, profile: { ...demo, ...variable }, servers: 1, hold: 3, levels: SOME_LEVELS },
  { ...SHORT, profile: saturating, servers: 2, hold: 3, levels: SOME_LEVELS },
  { ...VARIABLE, profile: { ...saturating, ...variable }, servers: 2, hold: 2.2, levels: SOME_LEVELS },
  { ...SHORT, profile: story, servers: 4, maxTokens: 256, hold: 2.2, levels: '1,8,37' },
];

const quick = process.argv.includes('--quick');
const cases = quick ? CASES.slice(2, 4) : CASES;
const k6 = await obtainK6({ environment: process.env, checkout: CHECKOUT, report: (line) => console.error(line) });
console.log(
  `k6 ${k6.version}, ${cases.length} cases; output tok/s of the fleet, said by the suite and by the fleet itself`,
);
console.log('level        measured      truth   error %   worst server %');
const all: LevelError[] = [];
for (const [index, about] of cases.entries()) {
  console.log(`case ${index + 1} of ${cases.length}: ${describe(about)}`);
  const outcome = await runOnIdleMachine(about);
  for (const level of outcome.levels) console.log(lineOf(level));
  all.push(...outcome.levels);
}
process.exitCode = judge(all) ? 0 : 1;

function describe({ profile, servers, stop, maxTokens, hold }: AccuracyCase): string {
  const fleet = servers === 1 ? '1 server' : `${servers} servers`;
  return `${profile.name}, ${fleet}, ${stop} length, at most ${maxTokens} tokens, hold ${hold} R`;
}

/** Whether to repeat is decided by the load alone, never by the errors. */
async function runOnIdleMachine(about: AccuracyCase): Promise<CaseOutcome> {
  const first = await runCase(about, k6.path);
  if (first.load <= BUSY) return first;
  const worst = Math.max(...first.levels.map(({ error }) => Math.abs(error)));
  console.log(`  load ${first.load.toFixed(1)} on this machine (worst ${percent(worst)} %): once more`);
  const second = await runCase(about, k6.path);
  if (second.load > BUSY) console.log(`  load ${second.load.toFixed(1)} again`);
  return second;
}

function lineOf({ level, measured, truth, error, refused, worstServer }: LevelError): string {
  const cells = [level.padEnd(10), measured.toFixed(1).padStart(10), truth.toFixed(1).padStart(10)];
  const server = `${percent(worstServer.error).padStart(10)} ${worstServer.name}`;
  return `${cells.join(' ')} ${percent(error).padStart(9)} ${server}${refused ? '   refused by the suite' : ''}`;
}

function percent(share: number): string {
  return `${share > 0 ? '+' : ''}${(100 * share).toFixed(2)}`;
}

function judge(levels: readonly LevelError[]): boolean {
  const largest = (pick: (level: LevelError) => number): number =>
    Math.max(...levels.map((one) => Math.abs(pick(one))));
  const mean = (pick: (level: LevelError) => number): number =>
    levels.reduce((sum, level) => sum + pick(level), 0) / levels.length;
  const fleet = largest(({ error }) => error);
  const server = largest(({ worstServer }) => worstServer.error);
  const absolute = mean(({ error }) => Math.abs(error));
  const holds = fleet <= EVERY_LEVEL && server <= EVERY_LEVEL && absolute <= MEAN;
  console.log(`${levels.length} levels: fleet at worst ${percent(fleet)} %, a server at worst ${percent(server)} %`);
  console.log(`mean error ${percent(mean(({ error }) => error))} %, mean of its absolute value ${percent(absolute)} %`);
  const bounds = `every level within ${100 * EVERY_LEVEL} %, ${100 * MEAN} % on average`;
  console.log(holds ? `holds: ${bounds}` : `does not hold: ${bounds}`);
  return holds;
}
