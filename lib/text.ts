import {
  BASELINE,
  EFFICIENCY,
  FIT,
  FLEET,
  FORECAST,
  isSumRefused,
  levelClaim,
  refusedClaims,
  serverClaim,
  verdictOf,
} from './claims.ts';
import { count, duration, percent, printable, rate, table } from './format.ts';
import type { Finding, LevelResult, RunResult } from './result.ts';

/** The run result as terminal text: verdicts first, then figures, then one line for a ticket. */
export function renderRun(run: RunResult): string {
  const interrupted = run.interrupted === null ? [] : [`interrupted: ${run.interrupted}`, ''];
  return [
    `tokramp ${run.runId}${run.simulated ? '   SIMULATED FLEET: these are not figures of real servers' : ''}`,
    '',
    ...interrupted,
    ...verdictLines(run),
    '',
    ...levelLines(run),
    '',
    ...headlines(run),
    '',
    ...serverLines(run),
    '',
    ticketLine(run),
    '',
  ].join('\n');
}

/** Claims that only tools which read the result make: their verdicts would puzzle whoever reads the run alone. */
const isMadeHere = (claim: string): boolean => ![FIT, FORECAST, BASELINE].includes(claim);

/** Without a planned level 1 nothing is scaled by it: a verdict on that would be one on nothing. */
const hasFigure = (run: RunResult, claim: string): boolean =>
  claim !== EFFICIENCY || run.levels.some((level) => level.inFlight === 1);

/** Each claim with its verdict, then why: what is refused stands before any figure. */
function verdictLines(run: RunResult): readonly string[] {
  const made = run.verdicts.filter(({ claim }) => isMadeHere(claim) && hasFigure(run, claim));
  const of = (verdict: string) => made.filter((entry) => entry.verdict === verdict);
  const line = (verdict: string): readonly string[] => {
    const claims = of(verdict);
    if (claims.length === 0) return [];
    return [`  ${verdict.padEnd(8)}  ${claims.map((entry) => claimName(run, entry.claim)).join(', ')}`];
  };
  const lines = [...line('valid'), ...line('flagged'), ...line('refused')];
  const findings = run.findings.filter(({ claims }) => claims.length === 0 || claims.some(isMadeHere));
  return ['Verdicts', ...lines, ...findings.map((finding) => findingLine(run, finding))];
}

function claimName(run: RunResult, claim: string): string {
  if (claim === FLEET) return 'fleet sum';
  if (claim === EFFICIENCY) return 'efficiency';
  const level = run.levels.find((entry) => levelClaim(entry.tag) === claim);
  if (level !== undefined) return `level ${level.inFlight}`;
  const server = run.servers.find((entry) => serverClaim(entry.name) === claim);
  return server === undefined ? claim : server.name;
}

function findingLine(run: RunResult, finding: Finding): string {
  const level = run.levels.find((entry) => entry.tag === finding.level);
  const place = [finding.server, level === undefined ? finding.level : `level ${level.inFlight}`].filter(
    (part) => part !== null,
  );
  const where = place.length === 0 ? '' : ` ${place.join(', ')}`;
  return (
    `  ${finding.severity} ${finding.rule}${where}: ${finding.title}: ${finding.measured} (bound: ${finding.bound}). ` +
    `${capital(finding.consequence)}. Next: ${finding.advice}.`
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The curve as a table; a figure whose claim is refused is not printed. */
function levelLines(run: RunResult): readonly string[] {
  const head = [
    'in flight',
    'fleet',
    'tok/s per server: min',
    'median',
    'max',
    'slowest',
    'fleet tok/s',
    'per request',
    '% of level 1 x N',
    'R p50',
    '',
  ];
  const rows = run.levels.map((level) => levelRow(run, level));
  const closing = run.closing === null ? [] : [levelRow(run, run.closing)];
  return [
    'Output tokens per second by requests in flight per server',
    ...table([head, ...rows, ...closing]).map((line) => `  ${line}`),
  ];
}

function levelRow(run: RunResult, level: LevelResult): readonly string[] {
  const { fleet } = level;
  const closing = level.tag === 'closing';
  const efficiencyRefused = verdictOf(run, EFFICIENCY) === 'refused';
  const sumRefused = closing ? efficiencyRefused : isSumRefused(run, level);
  const shown = (figure: string): string => (sumRefused ? 'refused' : figure);
  const note = level.missing ?? (closing ? 'closing baseline' : noteOf(run, level));
  return [
    String(level.inFlight),
    fleet.inFlight === null ? '-' : fleet.inFlight.toFixed(1),
    shown(rate(fleet.minPerServer)),
    shown(rate(fleet.medianPerServer)),
    shown(rate(fleet.maxPerServer)),
    fleet.slowest ?? '-',
    shown(rate(fleet.tokensPerSecond)),
    shown(rate(fleet.tokensPerSecondPerRequest)),
    efficiencyRefused ? 'refused' : shown(percent(fleet.efficiency)),
    shown(fleet.requestDuration === null ? '-' : duration(fleet.requestDuration.p50Seconds)),
    note,
  ];
}

function noteOf(run: RunResult, level: LevelResult): string {
  if (level.overLimit) return 'over the limit';
  return level.inFlight === run.plan.limit ? `limit (${run.plan.pool})` : '';
}

/** The level at the limit (the largest one not beyond it), and the best one. */
function limitLevel(run: RunResult): LevelResult | undefined {
  return run.levels.filter((level) => !level.overLimit && level.missing === null).at(-1);
}

function headlines(run: RunResult): readonly string[] {
  const limit = limitLevel(run);
  const label = limit === undefined || limit.inFlight === run.plan.limit ? 'At the limit: ' : 'Highest level:';
  const best = limit === undefined || isSumRefused(run, limit) ? undefined : bestLevel(run);
  return [
    `${label} ${headline(run, limit)}`,
    ...(best === undefined || best === limit ? [] : [`Best level:    ${headline(run, best)}`]),
  ];
}

function bestLevel(run: RunResult): LevelResult | undefined {
  const measured = run.levels.filter((level) => level.fleet.tokensPerSecond !== null && !isSumRefused(run, level));
  return measured.reduce<LevelResult | undefined>(
    (top, level) => ((level.fleet.tokensPerSecond ?? 0) > (top?.fleet.tokensPerSecond ?? 0) ? level : top),
    undefined,
  );
}

function headline(run: RunResult, level: LevelResult | undefined): string {
  if (level === undefined) return 'not measured: no level up to the limit was held to its end';
  const place = `${level.inFlight} in flight per server (limit ${run.plan.limit}, ${run.plan.pool})`;
  if (isSumRefused(run, level)) return `no fleet figure at ${place}: refused, see above`;
  const flagged = [FLEET, levelClaim(level.tag)].some((claim) => verdictOf(run, claim) === 'flagged');
  return `${rate(level.fleet.tokensPerSecond)} output tok/s${plusMinus(level)} at ${place}${flagged ? '  [flagged, see above]' : ''}`;
}

const plusMinus = (level: LevelResult): string =>
  level.fleet.uncertainty === null ? '' : ` +- ${Math.max(0.1, level.fleet.uncertainty * 100).toFixed(1)} %`;

function serverLines(run: RunResult): readonly string[] {
  const level = limitLevel(run);
  const at = level === undefined ? 'no level up to the limit' : `${level.inFlight} in flight`;
  const head = ['server', `tok/s at ${at}`, 'tokens in all', 'completed', 'other outcomes', 'finish reasons', 'limit'];
  const rows = run.servers.map((server) => {
    const ledger = run.ledger.find((entry) => entry.name === server.name);
    const atLevel = level?.servers.find((entry) => entry.name === server.name);
    const refused = verdictOf(run, serverClaim(server.name)) === 'refused';
    const limit = server.limit === null ? '-' : `${server.limit}, ${server.pool ?? 'unknown'}`;
    const figure = refused ? 'refused' : rate(atLevel?.tokensPerSecond ?? null);
    return [
      server.name,
      server.absent === null ? figure : '-',
      count(ledger?.answerTokens ?? 0),
      count(ledger?.outcomes['completed'] ?? 0),
      countsOf(ledger?.outcomes ?? {}, 'completed'),
      countsOf(ledger?.finishReasons ?? {}, 'none'),
      server.absent ?? limit,
    ];
  });
  return ['Servers', ...table([head, ...rows]).map((line) => `  ${line}`)];
}

function countsOf(counts: Readonly<Record<string, number>>, except: string): string {
  const named = Object.entries(counts).filter(([name, value]) => name !== except && value > 0);
  return named.length === 0 ? 'none' : named.map(([name, value]) => `${count(value)} ${name}`).join(', ');
}

/** One line that says all a ticket needs. */
export function ticketLine(run: RunResult): string {
  const level = limitLevel(run);
  const refused = refusedClaims(run);
  const verdict =
    refused.length > 0 ? 'refused' : run.verdicts.some((entry) => entry.verdict === 'flagged') ? 'flagged' : 'valid';
  const sumRefused = level === undefined || isSumRefused(run, level);
  const figure = sumRefused ? null : level.fleet.tokensPerSecond;
  const gpus = gpusOf(run);
  const subject = run.servers.find((server) => server.subject !== null)?.subject ?? {};
  return [
    `${run.simulated ? 'SIMULATED ' : ''}${verdict}${refused.length > 0 ? ` (${refused.map((claim) => claimName(run, claim)).join(', ')})` : ''}`,
    figure === null || level === undefined ? 'no fleet figure' : `${rate(figure)} tok/s${plusMinus(level)}`,
    `${places(run)} x ${level?.inFlight ?? '-'} in flight`,
    `${lengths(run)} tokens in / out`,
    printable(String(subject['servedModel'] ?? 'unknown model')),
    printable(`${subject['engine'] ?? 'unknown engine'} ${subject['version'] ?? 'unknown version'}`),
    figure === null || figure <= 0
      ? 'no GPU-hours'
      : `${((gpus * 1e6) / figure / 3600).toFixed(2)} GPU-h per 1 M output tokens`,
    run.runId,
  ].join(' | ');
}

/** What the requests in flight are counted by: a GPU each, or a server of several GPUs. */
function places(run: RunResult): string {
  const present = run.servers.filter((server) => server.absent === null);
  const gpus = gpusOf(run);
  const words = `${gpus} ${gpus === 1 ? 'GPU' : 'GPUs'}`;
  if (gpus === present.length) return words;
  return `${present.length} ${present.length === 1 ? 'server' : 'servers'} of ${words} in all`;
}

const gpusOf = (run: RunResult): number =>
  run.servers.filter((server) => server.absent === null).reduce((sum, server) => sum + server.gpus, 0);

/** Mean tokens of an answered request, from the ledgers: in / out. */
function lengths(run: RunResult): string {
  const answers = run.ledger.reduce(
    (sum, ledger) => sum + (ledger.outcomes['completed'] ?? 0) + (ledger.outcomes['truncated'] ?? 0),
    0,
  );
  const input = run.ledger.reduce((sum, ledger) => sum + ledger.promptTokens, 0);
  const warmUp = run.ledger.reduce((sum, ledger) => sum + ledger.warmUpRequests, 0);
  const output = run.ledger.reduce(
    (sum, ledger) => sum + ledger.answerTokens - (ledger.tokensByWindow['warmup'] ?? 0),
    0,
  );
  if (answers <= warmUp) return '- / -';
  return `${(input / answers).toFixed(0)} / ${(output / (answers - warmUp)).toFixed(0)}`;
}

/** What k6's exit code cannot say: it is 0 although a claim is refused. */
export function lastLine(run: RunResult, path: string): string {
  const refused = refusedClaims(run);
  const written = `result: ${path}`;
  if (refused.length === 0) return `${written}\n`;
  return `${written}\nnote: refused: ${refused.map((claim) => claimName(run, claim)).join(', ')}; k6 itself may still exit with 0\n`;
}
