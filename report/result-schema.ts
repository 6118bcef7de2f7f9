import { toJsonSchema } from '@valibot/to-json-schema';
import { RunResultSchema } from '../lib/result.ts';

/** The JSON Schema of a run result, as the text of its file. */
export function resultSchemaText(): string {
  const { $schema, ...schema } = toJsonSchema(RunResultSchema);
  const about = { $schema, title: 'tokramp run result', description: 'The file that one ramp leaves.' };
  return `${JSON.stringify({ ...about, ...schema }, null, 1)}\n`;
}
