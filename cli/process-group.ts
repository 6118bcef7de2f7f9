/** Ends a process and everything it has started, at once; a group that is already gone is as wanted. */
export function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** macOS says EPERM of a group whose only member has ended and is not yet waited for. */
function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM');
}

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Takes the signals that ask a program to stop, until the returned function is called. */
export function onStopSignals(take: (signal: NodeJS.Signals) => void): () => void {
  for (const signal of STOP_SIGNALS) process.on(signal, take);
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, take);
  };
}
