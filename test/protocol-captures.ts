/** The captured exchanges under test/fixtures/answers, as a client sees them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Ask, Outcome, Reply } from '../lib/protocol.ts';

const FOLDER = join(import.meta.dirname, 'fixtures', 'answers');

export interface Expectation extends Pick<Ask, 'api' | 'maxTokens' | 'stop'> {
  readonly expected: Outcome;
}

/** What each captured answer must be judged as. */
export const EXPECTED: Readonly<Record<string, Expectation>> = JSON.parse(
  readFileSync(join(FOLDER, 'expected.json'), 'utf8'),
);

/** A captured answer as k6 gives it. */
export function capturedReply(name: string): Reply {
  const raw = readFileSync(join(FOLDER, `${name}.http`));
  const headEnd = raw.indexOf('\r\n\r\n');
  const status = Number(raw.toString('latin1', 0, headEnd).split(' ')[1]);
  const body = raw.subarray(headEnd + 4);
  const isChunked = /\r\ntransfer-encoding: *chunked/i.test(raw.toString('latin1', 0, headEnd));
  if (isChunked) throw new Error(`${name}: chunked bodies are not expected here`);
  return { status, body: body.toString('utf8'), errorCode: status >= 400 ? 1000 + status : 0, error: '' };
}

/** The JSON of a captured information route, or null where the server does not have it. */
export function capturedJson(name: string): unknown {
  const { status, body } = capturedReply(name);
  return status === 200 ? JSON.parse(body ?? '') : null;
}

/** Body of a captured request; the captures cut long ones, which have none. */
export function capturedRequest(name: string): { readonly line: string; readonly body: string } {
  const [head = '', body = ''] = readFileSync(join(FOLDER, `${name}.req`), 'utf8').split('\r\n\r\n');
  return { line: head.split(' HTTP/')[0] ?? '', body };
}

/** Names of all captured generation answers, whether or not anything is expected of them. */
export function capturedAnswers(): readonly string[] {
  return readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.http'))
    .map((file) => file.slice(0, -'.http'.length).replaceAll('\\', '/'))
    .filter((name) => /^(POST|PUT) \/(generate|v1\/)/.test(capturedRequest(name).line))
    .sort();
}
