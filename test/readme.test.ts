import assert from 'node:assert/strict';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { EXAMPLE_CURVE, README, readExample } from '../bench/example-files.ts';
import { EXIT } from '../cli/exit-codes.ts';
import { CHECKOUT } from '../cli/k6.ts';
import { renewReadme } from '../cli/readme.ts';
import { TOOL } from '../lib/version.ts';
import { renderCurve } from '../report/curve-svg.ts';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
}

const read = (path: string): Promise<string> => readFile(path, 'utf8');
const readManifest = async (): Promise<Manifest> => JSON.parse(await read(join(CHECKOUT, 'package.json'))) as Manifest;

test('the tables of the README and its example text are what the code makes of them (npm run readme)', async () => {
  const readme = await read(README);
  assert.equal(renewReadme(readme, readExample()), readme);
});

test('renewing replaces whatever stands between the markers, and every exit code has a row', async () => {
  const readme = await read(README);
  const emptied = readme.replaceAll(/(<!-- [a-z-]+:begin -->)[\s\S]*?(<!-- [a-z-]+:end -->)/g, '$1\nold\n$2');
  assert.notEqual(emptied, readme);
  const renewed = renewReadme(emptied, readExample());
  assert.equal(renewed, readme);
  for (const code of Object.values(EXIT)) assert.match(renewed, new RegExp(`^\\| ${code} +\\| \\S`, 'm'));
});

test('a README without the markers of a part is refused', () => {
  const settings = '<!-- settings:begin -->\n<!-- settings:end -->\n';
  assert.throws(() => renewReadme(settings, readExample()), /README: must have <!-- exit-codes:begin -->/);
});

test('the example is a valid run on simulated servers, and its picture is drawn from it (npm run example)', async () => {
  const run = readExample();
  assert.equal(run.simulated, true);
  assert.deepEqual(
    run.verdicts.filter(({ verdict }) => verdict !== 'valid'),
    [],
  );
  assert.equal(await read(EXAMPLE_CURVE), renderCurve(run));
});

test('the README names every script of package.json, and no other', async () => {
  const readme = await read(README);
  const { scripts } = await readManifest();
  const named = [...readme.matchAll(/npm run ([a-z0-9:]+)/g)].map((match) => match[1] ?? '');
  for (const name of named) assert.ok(name in scripts, `the README names npm run ${name}`);
  const inOtherWords: Readonly<Record<string, string>> = { start: 'npm start', test: 'npm test', prepare: '`prepare`' };
  for (const name of Object.keys(scripts)) {
    const words = inOtherWords[name];
    assert.ok(
      words === undefined ? named.includes(name) : readme.includes(words),
      `the README lacks the script ${name}`,
    );
  }
});

test('a signal to npm reaches the command: its shell hands over to node', async () => {
  const { scripts } = await readManifest();
  for (const [name, script] of Object.entries(scripts)) {
    const last = script.split(' && ').at(-1) ?? '';
    if (/^(exec )?node (dist|--import)/.test(last)) assert.match(last, /^exec /, name);
  }
});

test('every path that the README names exists', async () => {
  const readme = await read(README);
  const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map((match) => match[1] ?? '');
  const files = [...readme.matchAll(/`((?:bench|lib|scenarios|test)\/[\w./-]+\.\w+)`/g)].map((match) => match[1] ?? '');
  assert.ok(links.length >= 4 && files.length >= 4, 'the patterns find them');
  for (const path of [...links, ...files]) await access(join(CHECKOUT, path));
});

test('results name the version of package.json, and the changelog has an entry for it', async () => {
  const { name, version } = await readManifest();
  assert.equal(TOOL, `${name} ${version}`);
  const changelog = await read(join(CHECKOUT, 'CHANGELOG.md'));
  assert.match(changelog, new RegExp(`^## .*\\b${version.replaceAll('.', '\\.')}\\b`, 'm'));
});
