/** `npm run schema`: writes the JSON Schema of a run result. */
import { writeFileSync } from 'node:fs';
import { resultSchemaText } from '../report/result-schema.ts';
import { RESULT_SCHEMA } from './example-files.ts';

writeFileSync(RESULT_SCHEMA, resultSchemaText());
