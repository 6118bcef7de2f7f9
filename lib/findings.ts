import { subjectDifferences } from './capacity-subject.ts';
import { EFFICIENCY, FIT, FLEET, FORECAST, levelClaim, serverClaim } from './claims.ts';
import type { Length } from './plan.ts';
import { CLOSING } from './registry.ts';
import type { Finding, LevelResult, RunResult, ServerAtLevel, ServerLedger } from './result.ts';
import { RULES, type RuleId } from './rules.ts';

/** A run with its figures, before it is judged. */
export type Measured = Omit<RunResult, 'findings' | 'verdicts'>;

/** Every validity rule that fired (method.md section 6 with the amendments of the design), worst first. */
export function findingsOf(run: Measured): Finding[] {
  const rank = { refuse: 0, flag: 1, note: 2 };
  return [
    ...absentServers(run),
    ...run.ledger.filter((ledger) => isPresent(run, ledger.name)).flatMap((ledger) => ledgerFindings(run, ledger)),
    ...run.levels.flatMap((level) =>
      level.missing === null ? levelFindings(level) : [cutLevel(level, level.missing)],
    ),
    ...(run.closing?.missing === null ? levelFindings(run.closing) : []),
    ...warmUpFindings(run),
    ...closingFindings(run),
    ...lengthFindings(run),
    ...subjectFindings(run),
    ...timeoutFindings(run),
  ].sort((a, b) => rank[a.severity] - rank[b.severity]);
}

interface Place {
  readonly server?: string;
  readonly level?: string;
}

/** One finding from its rule's row; wording and bounds stand in the table, the measured value comes from the run. */
function finding(
  rule: RuleId,
  severity: Finding['severity'],
  about: Place & { readonly measured: string; readonly claims: readonly string[] },
): Finding {
  const row = RULES[rule];
  return {
    rule,
    title: row.title,
    severity,
    server: about.server ?? null,
    level: about.level ?? null,
    measured: about.measured,
    bound: row.bound,
    claims: [...about.claims],
    consequence: row.consequence,
    advice: row.advice,
    blocksBaseline: severity !== 'note',
  };
}

const percent = (share: number): string => `${(share * 100).toFixed(share < 0.0995 ? 2 : 1)} %`;
const isPresent = (run: Measured, name: string): boolean =>
  run.servers.some((server) => server.name === name && server.absent === null);

function absentServers(run: Measured): Finding[] {
  return run.servers
    .filter((server) => server.absent !== null)
    .map((server) =>
      finding('V3', 'refuse', {
        server: server.name,
        measured: server.absent ?? '',
        claims: [FLEET, serverClaim(server.name), FIT, FORECAST],
      }),
    );
}

function ledgerFindings(run: Measured, ledger: ServerLedger): Finding[] {
  const found: Finding[] = [];
  const server = ledger.name;
  const own = [FLEET, serverClaim(server)];
  const count = (outcome: string): number => ledger.outcomes[outcome] ?? 0;
  const add = (rule: RuleId, severity: Finding['severity'], measured: string): void => {
    found.push(finding(rule, severity, { server, measured, claims: own }));
  };

  const completedInRun = run.levels.reduce((sum, level) => sum + (at(level, server)?.completed ?? 0), 0);
  if (completedInRun === 0) {
    add('V1', 'refuse', `0 of ${ledger.finished - ledger.warmUpRequests} requests completed after the warm-up`);
  }
  if (completedInRun > 0) found.push(...deadLevels(run, server));
  if (count('malformed') > 0) add('V4', 'refuse', `${count('malformed')} answers without a usable token count`);
  const lost = ledger.started - ledger.finished;
  if (lost > 0)
    add('V5', run.interrupted === null ? 'refuse' : 'note', `${lost} of ${ledger.started} requests cut off`);
  const spread = Object.values(ledger.tokensByWindow).reduce((sum, part) => sum + part, 0);
  const drift = Math.abs(spread - ledger.answerTokens) / Math.max(ledger.answerTokens, 1);
  if (drift > 1e-6) add('V11', 'refuse', `${spread} tokens in windows, ${ledger.answerTokens} in answers`);
  if (run.workload.stop === 'fixed' && count('truncated') > 0) {
    add('V15', 'refuse', `${count('truncated')} answers shorter than ${run.workload.maxTokens} tokens`);
  }
  return found;
}

/** A server that died on the way: its earlier levels stand, a sum over the fleet does not. */
function deadLevels(run: Measured, server: string): Finding[] {
  return run.levels.flatMap((level) => {
    const entry = at(level, server);
    if (level.missing !== null || entry === undefined || entry.completed > 0 || entry.failed === 0) return [];
    const measured = `0 of ${entry.failed} requests completed`;
    const claims = [FLEET, ...claimsAt(level), serverClaim(server)];
    return [finding('V1', 'refuse', { server, level: level.tag, measured, claims })];
  });
}

const at = (level: LevelResult, server: string) => level.servers.find((entry) => entry.name === server);

/** What rests on a level: its own figure, and where it is level 1 all that is scaled by it. */
const claimsAt = (level: LevelResult): readonly string[] => [
  ...(level.tag === CLOSING ? [] : [levelClaim(level.tag)]),
  ...(level.inFlight === 1 || level.tag === CLOSING ? [EFFICIENCY, FIT, FORECAST] : []),
];

/** A level without figures has no claim either. */
const cutLevel = (level: LevelResult, why: string): Finding =>
  finding('V5', 'refuse', { level: level.tag, measured: why, claims: claimsAt(level) });

function levelFindings(level: LevelResult): Finding[] {
  const found: Finding[] = [];
  const levelClaims = claimsAt(level);
  for (const server of level.servers) {
    const place = { server: server.name, level: level.tag };
    const claims = level.tag === CLOSING ? levelClaims : [...levelClaims, serverClaim(server.name)];
    if (server.failed > 0) {
      const measured = `${server.failed} of ${server.completed + server.failed} requests`;
      found.push(finding('V2', isFailing(server) ? 'refuse' : 'flag', { ...place, measured, claims }));
    }
    const off = Math.abs((server.inFlight ?? 0) - level.inFlight) / level.inFlight;
    if (off > 0.01) {
      const measured = `${(server.inFlight ?? 0).toFixed(2)} in flight instead of ${level.inFlight}`;
      found.push(finding('V21', off > 0.05 ? 'refuse' : 'flag', { ...place, measured, claims }));
    }
    found.push(...shortHold(level, server, { ...place, claims }));
  }
  return [...found, ...fleetFailures(level, levelClaims), ...(level.tag === CLOSING ? [] : imbalance(level))];
}

/** A single lost request is a flag however short the level is (amendment of V2). */
const isFailing = ({ completed, failed }: ServerAtLevel): boolean =>
  failed >= 2 && failed / (completed + failed) > 0.02;

/** V6 for one server; where failures are why there is no R, V2 has refused the level. */
function shortHold(
  level: LevelResult,
  server: ServerAtLevel,
  about: Place & { readonly claims: readonly string[] },
): Finding[] {
  const held = `hold ${level.holdSeconds} s, window ${level.windowSeconds} s`;
  const r = server.requestDuration?.p50Seconds ?? null;
  if (r === null) {
    if (isFailing(server) || (server.completed === 0 && server.failed > 0)) return [];
    return [finding('V6', 'refuse', { ...about, measured: `${held}, no request that began in the hold completed` })];
  }
  const measured = `${held}, R ${r.toFixed(3)} s`;
  // Holds are planned with a margin over R; 0.1 % absorbs the 1 ms steps of the clock.
  if (level.windowSeconds < r * 0.999) return [finding('V6', 'refuse', { ...about, measured })];
  return level.holdSeconds < 2 * r * 0.999 ? [finding('V6', 'flag', { ...about, measured })] : [];
}

function fleetFailures(level: LevelResult, claims: readonly string[]): Finding[] {
  const failed = level.servers.reduce((sum, server) => sum + server.failed, 0);
  const requests = level.servers.reduce((sum, server) => sum + server.completed + server.failed, 0);
  if (failed < 2 || failed / requests <= 0.005) return [];
  return [
    finding('V2', 'refuse', { level: level.tag, measured: `${failed} of ${requests} requests of the fleet`, claims }),
  ];
}

function imbalance(level: LevelResult): Finding[] {
  const { minPerServer, maxPerServer, slowest } = level.fleet;
  if (minPerServer === null || maxPerServer === null || minPerServer <= 0 || slowest === null) return [];
  const ratio = maxPerServer / minPerServer;
  // A server that failed is no slow server: V1 and V2 speak of it.
  if (ratio <= 1.1 || (at(level, slowest)?.failed ?? 0) > 0) return [];
  const about = { server: slowest, level: level.tag, measured: `fastest / slowest = ${ratio.toFixed(2)}` };
  const flag = finding('V19', 'flag', { ...about, claims: [FLEET, levelClaim(level.tag)] });
  return ratio <= 1.25 ? [flag] : [flag, finding('V19', 'refuse', { ...about, claims: [FIT, FORECAST] })];
}

function warmUpFindings(run: Measured): Finding[] {
  return run.servers.flatMap((server) => {
    const { warmUp } = server;
    if (warmUp === null || (warmUp.requests >= 3 && warmUp.agreed)) return [];
    const rounds = warmUp.roundSeconds.map((round) => round.toFixed(2)).join(', ');
    const measured = `${warmUp.requests} requests, rounds of ${rounds === '' ? 'none' : rounds} s`;
    return [finding('V12', 'refuse', { server: server.name, measured, claims: [EFFICIENCY, FIT, FORECAST] })];
  });
}

function closingFindings(run: Measured): Finding[] {
  const first = run.levels[0]?.fleet.tokensPerSecond ?? null;
  const last = run.closing?.fleet.tokensPerSecond ?? null;
  if (first === null || last === null || first <= 0) return [];
  const change = last / first - 1;
  if (Math.abs(change) <= 0.03) return [];
  const measured = `${first.toFixed(1)} tok/s at the start, ${last.toFixed(1)} at the end (${percent(change)})`;
  const severity = Math.abs(change) > 0.1 ? 'refuse' : 'flag';
  return [finding('V13', severity, { level: 'closing', measured, claims: [EFFICIENCY, FIT, FORECAST] })];
}

/** Mean lengths and the cached share against what discover saw when it made the plan. */
function lengthFindings(run: Measured): Finding[] {
  const { inputLength, outputLength, cachedShare } = run.plan;
  const ledgers = run.ledger.filter((ledger) => ledger.finished > 0);
  const answered = (ledger: ServerLedger): number =>
    (ledger.outcomes['completed'] ?? 0) + (ledger.outcomes['truncated'] ?? 0);
  return ledgers.flatMap((ledger) => {
    const requests = answered(ledger) - ledger.warmUpRequests;
    if (requests <= 0) return [];
    const found: Finding[] = [];
    const claims = [FLEET, serverClaim(ledger.name), FORECAST];
    const add = (rule: RuleId, measured: string): void => {
      found.push(finding(rule, 'flag', { server: ledger.name, measured, claims }));
    };
    const prompt = ledger.promptTokens / answered(ledger);
    if (inputLength !== null && differs(prompt, inputLength)) {
      add('V17', `${prompt.toFixed(1)} input tokens a request, ${inputLength.mean.toFixed(1)} when planned`);
    }
    const output = (ledger.answerTokens - (ledger.tokensByWindow['warmup'] ?? 0)) / requests;
    if (outputLength !== null && differs(output, outputLength)) {
      add('V17', `${output.toFixed(1)} output tokens a request, ${outputLength.mean.toFixed(1)} when planned`);
    }
    const cached = ledger.cachedTokens / Math.max(ledger.promptTokens, 1);
    if (Math.abs(cached - (cachedShare ?? 0)) > 0.05) {
      add(
        'V18',
        `${percent(cached)} of the input tokens came from the prefix cache, ${percent(cachedShare ?? 0)} planned`,
      );
    }
    return found;
  });
}

/** Beyond 2 %, and beyond 4 standard errors of the difference: the run's own mean is no better known than the plan's. */
const differs = (measured: number, planned: Length): boolean =>
  Math.abs(measured / planned.mean - 1) > Math.max(0.02, 4 * Math.SQRT2 * planned.error);

function subjectFindings(run: Measured): Finding[] {
  const reference = run.servers.find((server) => server.subject !== null);
  if (reference?.subject == null) return [];
  const { subject } = reference;
  return run.servers.flatMap((server) => {
    const other = server.subject;
    if (other === null) return [];
    const differences = subjectDifferences(subject, other);
    if (differences.length === 0) return [];
    const measured = `unlike ${reference.name}: ${differences.join('; ')}`;
    return [finding('V37', 'refuse', { server: server.name, measured, claims: [FLEET, FIT, FORECAST] })];
  });
}

function timeoutFindings(run: Measured): Finding[] {
  const longest = Math.max(0, ...run.levels.map((level) => level.fleet.requestDuration?.maxSeconds ?? 0));
  if (run.plan.timeoutSeconds >= 1.5 * longest) return [];
  const measured = `timeout ${run.plan.timeoutSeconds} s, longest request ${longest.toFixed(1)} s`;
  return [finding('V35', 'refuse', { measured, claims: [FLEET] })];
}
