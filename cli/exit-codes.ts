/** Every exit code of the command-line side, by name. */
export const EXIT = {
  ok: 0,
  toolError: 1,
  regression: 2,
  refused: 3,
  littleBaseline: 4,
  fleet: 5,
  interrupted: 130,
} as const;

export type ExitName = keyof typeof EXIT;
export type ExitCode = (typeof EXIT)[ExitName];

/** What each exit code tells the caller, in one line. */
export const EXIT_MEANINGS: Readonly<Record<ExitName, string>> = {
  ok: 'every claim holds, or is only flagged',
  toolError: 'the tool failed: wrong settings, no k6, a script error, or no complete result file',
  regression: 'the run is slower than its baseline',
  refused: 'the run finished, but at least one claim is refused',
  littleBaseline: 'too few baseline runs to judge, under --strict-baseline',
  fleet: 'the fleet is not as planned: a server is missing, busy or unlike the others',
  interrupted: 'interrupted; what was complete by then is kept in the result',
};

/** The table of exit codes as lines for --help. */
export function renderExitCodes(): string[] {
  const codes: Readonly<Record<string, number>> = EXIT;
  return Object.entries(EXIT_MEANINGS).map(([name, meaning]) => `${String(codes[name]).padStart(5)}  ${meaning}`);
}

/** How one `k6 run` ended, and what it left behind. */
export interface K6Ending {
  readonly k6Code: number | null;
  readonly signal: string | null;
  readonly interrupted: boolean;
  readonly hasCompleteResult: boolean;
  readonly refused: boolean;
}

const K6_THRESHOLDS_FAILED = 99;
const K6_STOPPED_BY_SIGNAL = 105;
const K6_ABORTED_BY_SCRIPT = 108;

/** Signals that end a k6 which has not yet set its own trap; any other one (SIGKILL, SIGSEGV) is a failure. */
const STOP_SIGNALS: readonly (string | null)[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** The exit code of the command that ran k6. */
export function exitCodeOf(ending: K6Ending): ExitCode {
  const { k6Code } = ending;
  if (ending.interrupted || k6Code === K6_STOPPED_BY_SIGNAL || STOP_SIGNALS.includes(ending.signal)) {
    return EXIT.interrupted;
  }
  // Preflight refuses in setup(), where no result can exist yet: this stands before the question for a result.
  if (k6Code === K6_ABORTED_BY_SCRIPT) return EXIT.fleet;
  if (!ending.hasCompleteResult) return EXIT.toolError;
  if (k6Code === K6_THRESHOLDS_FAILED) return EXIT.refused;
  if (k6Code !== 0) return EXIT.toolError;
  return ending.refused ? EXIT.refused : EXIT.ok;
}
