import { spawn } from 'node:child_process';

/** Stops k6 if this process dies, however it dies. */
export interface Guard {
  /** Says that k6 has been asked to stop: a second SIGINT would cost its result. */
  readonly expectEnd: () => void;
  /** Says that k6 has ended. */
  readonly dismiss: () => void;
}

/** How long k6 may take from SIGINT to its written result before it is killed: teardown, outputs, summary. */
const GRACE_SECONDS = 30;

// An exit handler would not run after SIGKILL or out of memory, and k6 would go on loading the fleet for hours. The end of the
// pipe reaches this shell in every case. It asks first, because k6 then still writes the levels that are complete.
const WATCH = `
asked=no
while read -r word; do
  case $word in
    asked) asked=yes ;;
    ended) exit 0 ;;
  esac
done
[ $asked = yes ] || kill -s INT "$1"
left=${GRACE_SECONDS}
while [ $left -gt 0 ] && kill -s 0 "$1"; do
  sleep 1
  left=$((left - 1))
done
kill -s KILL -- "-$1"
`;

/** Watches over the k6 with this process id until it is dismissed. */
export function guardK6(pid: number): Guard {
  // Its own session, so that what ends this process (Ctrl-C, a closed terminal) does not end the guard with it.
  const shell = spawn('/bin/sh', ['-c', WATCH, 'tokramp-guard', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  const onFault = (error: Error) => console.error(`k6 runs unguarded if this process is killed: ${error.message}`);
  shell.on('error', onFault);
  shell.stdin.on('error', onFault);
  shell.unref();
  return {
    expectEnd: () => shell.stdin.write('asked\n'),
    dismiss: () => shell.stdin.end('ended\n'),
  };
}
