import { parseResult, ResultError } from '../lib/result.ts';
import { renderRun } from '../lib/text.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { readText } from './session.ts';

/** Prints a run result as text; nothing is measured or computed again. */
export function report(path: string): ExitCode {
  process.stdout.write(renderRun(parseResult(textOf(path), path)));
  return EXIT.ok;
}

function textOf(path: string): string {
  try {
    return readText(path);
  } catch (error) {
    throw new ResultError(`${path}: cannot be read (${error instanceof Error ? error.message : String(error)})`);
  }
}
