import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { EXAMPLE_RUN, RESULT_SCHEMA } from '../bench/example-files.ts';
import { parseResult, ResultError } from '../lib/result.ts';
import { resultSchemaText } from '../report/result-schema.ts';

test('the committed JSON Schema is what the code reads (npm run schema)', async () => {
  assert.equal(await readFile(RESULT_SCHEMA, 'utf8'), resultSchemaText());
});

test('the committed example is a result of the current version, and reading it changes nothing', async () => {
  const text = await readFile(EXAMPLE_RUN, 'utf8');
  assert.deepEqual(parseResult(text, EXAMPLE_RUN), JSON.parse(text));
});

type Json = Readonly<Record<string, unknown>>;

test('the schema and the reader refuse the same keys: every required key of the example, and any further one', async () => {
  const schema = JSON.parse(resultSchemaText()) as { readonly required: readonly string[] } & Json;
  assert.equal(schema['additionalProperties'], false);
  const example = JSON.parse(await readFile(EXAMPLE_RUN, 'utf8')) as Json;
  assert.deepEqual([...schema.required].sort(), Object.keys(example).sort());
  for (const key of schema.required) {
    const { [key]: _, ...rest } = example;
    assert.throws(() => parseResult(JSON.stringify(rest), 'r.json'), ResultError, key);
  }
  assert.throws(() => parseResult(JSON.stringify({ ...example, more: 1 }), 'r.json'), ResultError);
});
