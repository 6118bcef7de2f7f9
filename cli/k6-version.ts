import { spawn } from 'node:child_process';
import { killGroup } from './process-group.ts';

/** Environment variables of a process to be started. */
export type Environment = Readonly<Record<string, string | undefined>>;

export type K6Answer = { readonly version: string; readonly major: number } | { readonly fault: string };

/** A healthy k6 answers within 30 ms; a cold disk may need seconds for its 65 MB. */
const PATIENCE_MS = 15_000;

/** k6 prints under 100 bytes, with extensions a few hundred: a program that prints more is something else. */
const MOST_CHARACTERS = 16_384;

/** What a program answers to `version`, or what makes it no usable k6. */
export function askK6Version(
  program: string,
  environment: Environment,
  patienceMs: number = PATIENCE_MS,
): Promise<K6Answer> {
  return new Promise((settle) => {
    // A group of its own: the kill must also reach what a wrapper script has started, which holds the pipes open.
    const child = spawn(program, ['version'], {
      env: { ...environment, K6_NO_USAGE_REPORT: 'true' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let text = '';
    const finish = (answer: K6Answer) => {
      clearTimeout(timer);
      settle(answer);
    };
    const giveUp = (fault: string) => {
      if (child.pid !== undefined) killGroup(child.pid);
      child.stdout.destroy();
      child.stderr.destroy();
      finish({ fault });
    };
    const late = `it did not answer \`k6 version\` within ${patienceMs / 1000} s`;
    const timer = setTimeout(() => giveUp(late), patienceMs);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (text.length > MOST_CHARACTERS) giveUp(`it is not k6: ${printed(text)}`);
      });
    }
    child.on('error', (error) => finish({ fault: `it cannot be started (${error.message})` }));
    child.on('close', (code, signal) => finish(readAnswer(text, signal ?? `exit code ${code}`)));
  });
}

function readAnswer(text: string, ending: string): K6Answer {
  if (ending !== 'exit code 0') return { fault: `\`k6 version\` ended with ${ending}: ${printed(text)}` };
  const match = /^k6(?:\.exe)? v((\d+)\.\d+\S*)/m.exec(text);
  const [, version, major] = match ?? [];
  if (version === undefined) return { fault: `it is not k6: ${printed(text)}` };
  return { version, major: Number(major) };
}

/** The first line that a program printed, fit for one line of ours. */
function printed(text: string): string {
  const line = text.split(/[\r\n]+/).find((each) => each.trim() !== '');
  if (line === undefined) return 'it printed nothing';
  const plain = [...line].filter((character) => character >= ' ' && character !== '\x7f').join('');
  return `it printed ${JSON.stringify(plain.length > 80 ? `${plain.slice(0, 80)}…` : plain)}`;
}
