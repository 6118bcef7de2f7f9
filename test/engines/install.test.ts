import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makeOnce } from './made-once.ts';
import { findPython } from './python.ts';

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tokramp-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

/** Makes home/thing, which holds one file with the text given; returns the text that it holds then. */
async function make(home: string, recipe: string, text: string): Promise<string> {
  const folder = join(home, 'thing');
  await makeOnce({ folder, recipe, proof: 'file', make: (workshop) => writeFile(join(workshop, 'file'), text) });
  return readFile(join(folder, 'file'), 'utf8');
}

test('what was made is used again until its recipe changes', async (t) => {
  const home = await temporaryFolder(t);
  assert.equal(await make(home, 'recipe 1', 'first'), 'first');
  assert.equal(await make(home, 'recipe 1', 'second'), 'first');
  assert.equal(await make(home, 'recipe 2', 'third'), 'third');
  assert.deepEqual(await readdir(home), ['thing']);
});

test('a folder that was never finished, or lost its proof, is made anew', async (t) => {
  const home = await temporaryFolder(t);
  await mkdir(join(home, 'thing'));
  await writeFile(join(home, 'thing', 'file'), 'half-made');
  assert.equal(await make(home, 'recipe', 'whole'), 'whole');
  await rm(join(home, 'thing', 'file'));
  assert.equal(await make(home, 'recipe', 'whole again'), 'whole again');
});

test('a failure leaves nothing, and what dead processes left is cleared', async (t) => {
  const home = await temporaryFolder(t);
  const failing = makeOnce({
    folder: join(home, 'thing'),
    recipe: 'recipe',
    proof: 'file',
    make: async (workshop) => {
      await writeFile(join(workshop, 'file'), 'half-made');
      throw new Error('no network');
    },
  });
  await assert.rejects(failing, /no network/);
  assert.deepEqual(await readdir(home), []);
  // No process has this number: it is above what Linux and macOS give out.
  await mkdir(join(home, 'making-99999999-thing'));
  await mkdir(join(home, `making-${process.pid}-other`));
  await make(home, 'recipe', 'whole');
  assert.deepEqual((await readdir(home)).sort(), [`making-${process.pid}-other`, 'thing']);
});

test('a machine without a usable Python is told what is wanted and what was found', async (t) => {
  const home = await temporaryFolder(t);
  const python = join(home, 'python3');
  await writeFile(python, '#!/bin/sh\necho cpython 3.11.7\n', { mode: 0o755 });
  const find = (minors: readonly number[]) => findPython({ minors, reason: 'the wheels fit no other' }, { PATH: home });
  await assert.rejects(find([12]), (error: Error) => {
    assert.match(
      error.message,
      /wanted is CPython 3\.12 with venv \(the wheels fit no other\).*found: python3 is 3\.11\.7$/,
    );
    return true;
  });
  assert.equal(await find([12, 11]), 'python3');
});
