// Builds what runs: scenarios/*.js for k6 (beside the sources) and dist/tokramp.js for Node. A gate as much as a compiler.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { onceModules } from './build-once.mjs';

const root = dirname(fileURLToPath(import.meta.url));
// What VUs evaluate is bounded by build-once.mjs and not by the file's size: with it 296 idle VUs of the ramp take 132 MB, and a
// bundle of 155 kB without it took 356 MB. A Kubernetes ConfigMap holds 1 MiB; three bundles of this size and a plan fit.
const BUDGET_BYTES = 192 * 1024;

/** What k6's engine (Sobek, ES2022) lacks; using any of it must fail here and not in the middle of a run. */
const engineGaps = {
  'async-generator': false,
  'for-await': false,
  'dynamic-import': false,
  decorators: false,
  'regexp-unicode-property-escapes': false,
  'regexp-match-indices': false,
  'regexp-set-notation': false,
};

const scenarios = readdirSync(join(root, 'scenarios')).filter((name) => name.endsWith('.ts'));

const forK6 = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'neutral',
  mainFields: ['module', 'main'],
  target: 'es2022',
  supported: engineGaps,
  external: ['k6', 'k6/*'],
  logLevel: 'error',
};

// One build a scenario: what a once-module must be handed depends on what its scenario has outside.
const warnings = [];
for (const name of scenarios) {
  const built = await build({
    ...forK6,
    entryPoints: [`scenarios/${name}`],
    outdir: 'scenarios',
    sourcemap: 'linked',
    legalComments: 'inline',
    plugins: [onceModules(forK6)],
  });
  warnings.push(...built.warnings);
}

// Packages may hold what the engine lacks as long as none of it reaches a bundle (checkBundle looks at what did).
const ours = warnings.filter((warning) => !warning.location?.file.startsWith('node_modules/'));
const faults = [
  ...ours.map((warning) => `${warning.location?.file}:${warning.location?.line}: ${warning.text}`),
  ...scenarios.flatMap((name) => checkBundle(join(root, 'scenarios', name.replace(/\.ts$/, '.js')))),
];

await build({
  absWorkingDir: root,
  entryPoints: ['cli/main.ts'],
  outfile: 'dist/tokramp.js',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.12',
  packages: 'bundle',
  sourcemap: 'linked',
  logLevel: 'warning',
});

if (faults.length > 0) {
  for (const fault of faults) console.error(`build: ${fault}`);
  process.exit(1);
}

/** Prints a bundle's size and returns what disqualifies it. */
function checkBundle(path) {
  const bytes = statSync(path).size;
  const name = path.slice(root.length + 1);
  console.log(`${name}  ${(bytes / 1024).toFixed(1)} kB of ${BUDGET_BYTES / 1024} kB`);
  const text = readFileSync(path, 'utf8');
  const properties = /\\p\{/.test(text)
    ? [`${name} holds a regular expression with \\p{...}, which k6 does not know`]
    : [];
  const imports = [...text.matchAll(/^\s*(?:import|export)\b[^;]*?from\s*["']([^"']+)["']/gm)].map((match) => match[1]);
  const foreign = imports.filter((from) => from !== 'k6' && !from.startsWith('k6/'));
  return [
    ...properties,
    ...(bytes > BUDGET_BYTES ? [`${name} has ${bytes} bytes, the budget is ${BUDGET_BYTES}`] : []),
    ...foreign.map((from) => `${name} imports ${from}; a bundle for k6 may import only k6 and k6/*`),
  ];
}
