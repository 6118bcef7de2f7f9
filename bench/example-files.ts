import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKOUT } from '../cli/k6.ts';
import { renewReadme } from '../cli/readme.ts';
import { parseResult, type RunResult } from '../lib/result.ts';

/** The committed run that the README shows. */
export const EXAMPLE_RUN = join(CHECKOUT, 'results', 'example-run.json');
export const EXAMPLE_CURVE = join(CHECKOUT, 'results', 'example-curve.svg');
export const README = join(CHECKOUT, 'README.md');
export const RESULT_SCHEMA = join(CHECKOUT, 'lib', 'run-result.schema.json');

export const readExample = (): RunResult => parseResult(readFileSync(EXAMPLE_RUN, 'utf8'), EXAMPLE_RUN);

/** Writes the README's generated parts anew. */
export function writeReadme(): void {
  writeFileSync(README, renewReadme(readFileSync(README, 'utf8'), readExample()));
}
