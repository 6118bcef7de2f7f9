/** `npm run example`: runs the demo with the real k6 and keeps its result, its curve and its text as the README's example. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKOUT } from '../cli/k6.ts';
import { newResult, readText, resultFiles } from '../cli/session.ts';
import { parseResult } from '../lib/result.ts';
import { renderCurve } from '../report/curve-svg.ts';
import { EXAMPLE_CURVE, EXAMPLE_RUN, writeReadme } from './example-files.ts';

const folder = join(CHECKOUT, 'results');
const before = resultFiles(folder, 'ramp');
const { status } = spawnSync(process.execPath, [join(CHECKOUT, 'dist', 'tokramp.js'), 'start'], { stdio: 'inherit' });
const path = newResult(folder, 'ramp', before);
if (status !== 0 || path === null) throw new Error(`the demo ended with ${status}; the example stays as it was`);
const run = parseResult(readText(path), path);
if (!run.simulated) throw new Error('the run was not on simulated servers; the example stays as it was');
// A flagged example would teach that flags are normal; on a machine that does other work they are common.
const doubtful = run.verdicts.filter(({ verdict }) => verdict !== 'valid').map(({ claim }) => claim);
if (doubtful.length > 0) throw new Error(`not valid: ${doubtful.join(', ')}; run again on an idle machine`);
copyFileSync(path, EXAMPLE_RUN);
writeFileSync(EXAMPLE_CURVE, renderCurve(run));
writeReadme();
