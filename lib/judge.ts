import { verdictsOf } from './claims.ts';
import { findingsOf, type Measured } from './findings.ts';
import type { RunResult } from './result.ts';

/** A measured run with the rules that fired and the verdict of each claim. */
export function judge(run: Measured): RunResult {
  const findings = findingsOf(run);
  return { ...run, findings, verdicts: verdictsOf(run, findings) };
}
