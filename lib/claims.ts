import type { Finding, RunResult, Verdict } from './result.ts';

/** What a reader may take from a run. A level's claim is the fleet's figure there; a server's claim is its own figures. */
export const FLEET = 'fleet';
export const EFFICIENCY = 'efficiency';
export const FIT = 'fit';
export const FORECAST = 'forecast';
export const BASELINE = 'baseline';
export const levelClaim = (tag: string): string => `level:${tag}`;
export const serverClaim = (name: string): string => `server:${name}`;

/** The claims of a run, in the order in which a report names them. */
export function claimsOf(run: Pick<RunResult, 'levels' | 'servers'>): readonly string[] {
  return [
    FLEET,
    ...run.levels.map((level) => levelClaim(level.tag)),
    ...run.servers.map((server) => serverClaim(server.name)),
    EFFICIENCY,
    FIT,
    FORECAST,
    BASELINE,
  ];
}

/**
 * The verdict of each claim: refused if one finding refuses it, flagged if one flags it, else valid. A level's figure and
 * the efficiency are sums over the fleet: where that is refused, so are they.
 */
export function verdictsOf(run: Pick<RunResult, 'levels' | 'servers'>, findings: readonly Finding[]): Verdict[] {
  const noSum = findings.some((finding) => finding.severity === 'refuse' && finding.claims.includes(FLEET));
  const sums = noSum ? [...run.levels.map((level) => levelClaim(level.tag)), EFFICIENCY] : [];
  return claimsOf(run).map((claim) => {
    const about = findings.filter(
      (finding) => concerns(finding, claim) || (sums.includes(claim) && concerns(finding, FLEET)),
    );
    const refused = about.some((finding) => finding.severity === 'refuse');
    const verdict = refused ? 'refused' : about.length > 0 ? 'flagged' : 'valid';
    return { claim, verdict, rules: [...new Set(about.map((finding) => finding.rule))] };
  });
}

function concerns(finding: Finding, claim: string): boolean {
  if (finding.severity === 'note') return false;
  if (claim === BASELINE && finding.blocksBaseline) return true;
  return finding.claims.includes(claim);
}

export function verdictOf(run: Pick<RunResult, 'verdicts'>, claim: string): Verdict['verdict'] {
  return run.verdicts.find((verdict) => verdict.claim === claim)?.verdict ?? 'refused';
}

/** Claims that a throughput run makes today; "fit", "forecast" and "baseline" are made by tools that read it. */
export function refusedClaims(run: Pick<RunResult, 'verdicts'>): readonly string[] {
  return run.verdicts
    .filter((verdict) => verdict.verdict === 'refused')
    .map((verdict) => verdict.claim)
    .filter((claim) => claim !== FIT && claim !== FORECAST && claim !== BASELINE);
}

/** Whether the fleet's figure at a level may be shown at all. */
export const isSumRefused = (run: Pick<RunResult, 'verdicts'>, level: { readonly tag: string }): boolean =>
  [FLEET, levelClaim(level.tag)].some((claim) => verdictOf(run, claim) === 'refused');
