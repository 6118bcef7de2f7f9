import type { Baseline, BaselineAnswer, BaselineServer, Makespan } from './baseline.ts';
import { count, duration, rate, table } from './format.ts';

/** The baseline as terminal text: each server's numbers, then the fleet's, first and warm apart. */
export function renderBaseline(baseline: Baseline): string {
  const head = ['server', 'first tok/s', 'first R', 'state before', 'warm tok/s (median)', 'warm R'];
  const rows = baseline.servers.map(serverRow);
  const [first, ...warm] = baseline.rounds;
  return [
    `tokramp ${baseline.runId}: one request at a time per server`,
    ...table([head, ...rows]).map((line) => `  ${line}`),
    `fleet, first round:  ${fleetLine(first ?? null, baseline.servers.length)}`,
    `fleet, warm:         ${fleetLine(medianRound(warm), baseline.servers.length)}`,
    'These are batch-1 numbers: multiplying them by a concurrency is not a measurement of it.',
    '',
  ].join('\n');
}

function serverRow(server: BaselineServer): readonly string[] {
  const [first, ...warm] = server.rounds;
  const state = server.cold === null ? 'unknown (no counters)' : server.cold ? 'cold' : 'had served requests';
  const failed = server.rounds.find((answer) => 'failed' in answer);
  if (failed !== undefined && 'failed' in failed) return [server.name, failed.failed, '-', state, '-', '-'];
  const median = medianAnswer(warm);
  return [server.name, ...cells(first), state, ...cells(median)];
}

function cells(answer: BaselineAnswer | undefined): readonly [string, string] {
  return answer === undefined || 'failed' in answer
    ? ['-', '-']
    : [rate(answer.tokensPerSecond), duration(answer.seconds)];
}

function medianAnswer(answers: readonly BaselineAnswer[]): BaselineAnswer | undefined {
  const whole = answers.flatMap((answer) => ('failed' in answer ? [] : [answer]));
  return whole.sort((a, b) => a.tokensPerSecond - b.tokensPerSecond)[Math.floor(whole.length / 2)];
}

function medianRound(rounds: readonly (Makespan | null)[]): Makespan | null {
  const whole = rounds.flatMap((round) => (round === null ? [] : [round]));
  if (whole.length < rounds.length) return null;
  return whole.sort((a, b) => a.tokensPerSecond - b.tokensPerSecond)[Math.floor(whole.length / 2)] ?? null;
}

function fleetLine(round: Makespan | null, servers: number): string {
  if (round === null) return 'no figure: a server did not answer';
  return `${rate(round.tokensPerSecond)} output tok/s (${count(round.tokens)} tokens of ${servers} servers in ${round.seconds.toFixed(3)} s)`;
}
