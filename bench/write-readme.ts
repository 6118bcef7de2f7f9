/** `npm run readme`: renews the tables of the README and its example text. */
import { writeReadme } from './example-files.ts';

writeReadme();
