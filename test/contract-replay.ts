/** Replays a captured request on a simulated server and says in what the two answers differ. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, 'fixtures', 'captures');

export interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly allow: string | null;
  readonly body: string;
}

/** One thing in which the simulator's answer is not the captured one. */
export interface Difference {
  readonly path: string;
  readonly captured: string;
  readonly simulated: string;
}

export const capturedAnswer = (name: string): Answer => parseAnswer(readFileSync(join(FOLDER, `${name}.http`)));

/** The captured request; `body` stands in for one that the capture cut. */
export function capturedRequest(name: string, body?: string): Buffer {
  const raw = readFileSync(join(FOLDER, `${name}.req`));
  if (body === undefined) return raw;
  const head = raw.toString('latin1', 0, raw.indexOf('\r\n\r\n'));
  const fitted = head.replace(/content-length: *\d+/i, `Content-Length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${fitted}\r\n\r\n${body}`);
}

/** Sends raw bytes and reads until the server closes, as `Connection: close` in the captures asks it to. */
export async function replay(port: number, request: Buffer): Promise<Answer> {
  const chunks: Buffer[] = [];
  const socket = connect(port, '127.0.0.1');
  socket.write(request);
  for await (const chunk of socket) chunks.push(chunk);
  return parseAnswer(Buffer.concat(chunks));
}

function parseAnswer(raw: Buffer): Answer {
  const headEnd = raw.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = raw.toString('latin1', 0, headEnd).split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const body = raw.subarray(headEnd + 4);
  const isChunked = headers.get('transfer-encoding') === 'chunked';
  return {
    status: Number(statusLine.split(' ')[1]),
    type: headers.get('content-type') ?? null,
    allow: headers.get('allow') ?? null,
    body: (isChunked ? unchunk(body) : body).toString('utf8'),
  };
}

function unchunk(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const lineEnd = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.toString('latin1', at, lineEnd), 16);
    if (size === 0) break;
    parts.push(body.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return Buffer.concat(parts);
}

/** Values that mean the same on both sides, beyond their type; whatever else is a number or a text may differ. */
const EXACT = new Set([
  'completion_tokens',
  'cached_tokens',
  'finish_reason',
  'object',
  'type',
  'max_total_num_tokens',
  'max_req_input_len',
  'code',
  'role',
  'max_running_requests',
  'effective_max_running_requests_per_dp',
  'max_model_len',
  'num_retractions',
]);

/** Status, media type, allowed methods, and the JSON's keys and types at every depth. */
export function differences(captured: Answer, simulated: Answer): Difference[] {
  const found: Difference[] = [];
  const note = (path: string, one: unknown, other: unknown) => {
    if (one !== other) found.push({ path, captured: String(one), simulated: String(other) });
  };
  note('status', captured.status, simulated.status);
  note('type', captured.type, simulated.type);
  note('allow', captured.allow, simulated.allow);
  if (found.length > 0) return found;
  if (captured.type !== 'application/json') {
    note('empty', captured.body === '', simulated.body === '');
    return found;
  }
  compareJson({ path: '$', captured: JSON.parse(captured.body), simulated: JSON.parse(simulated.body) }, note);
  return found;
}

type Note = (path: string, captured: unknown, simulated: unknown) => void;

function compareJson(pair: { path: string; captured: unknown; simulated: unknown }, note: Note): void {
  const { path, captured, simulated } = pair;
  note(path, kindOf(captured), kindOf(simulated));
  if (kindOf(captured) !== kindOf(simulated)) return;
  if (Array.isArray(captured) && Array.isArray(simulated)) {
    // Lists of one kind: their length is data, their first item stands for all.
    note(`${path}.length>0`, captured.length > 0, simulated.length > 0);
    if (captured.length > 0 && simulated.length > 0) {
      compareJson({ path: `${path}[]`, captured: captured[0], simulated: simulated[0] }, note);
    }
    return;
  }
  if (isObject(captured) && isObject(simulated)) {
    for (const key of new Set([...Object.keys(captured), ...Object.keys(simulated)])) {
      const inner = `${path}.${key}`;
      note(inner, key in captured, key in simulated);
      if (key in captured && key in simulated)
        compareJson({ path: inner, captured: captured[key], simulated: simulated[key] }, note);
    }
    return;
  }
  const name = path.slice(path.lastIndexOf('.') + 1);
  if (EXACT.has(name)) note(path, captured, simulated);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value);

/** Names, labels and types of a metrics page; only what depends on machine and model is left out of the labels. */
export function metricSeries(text: string): Set<string> {
  const series = new Set<string>();
  for (const line of text.split('\n')) {
    if (line.startsWith('# TYPE ')) series.add(line);
    if (line === '' || line.startsWith('#')) continue;
    const labels = line
      .slice(0, line.lastIndexOf(' '))
      .replace(/model_name="[^"]*"/, 'model_name')
      .replace(/pid="\d+"/, 'pid')
      // Powers differ in their last digit between languages.
      .replace(/le="([\d.e+]+)"/, (_, bound: string) => `le="${Number(bound).toPrecision(12)}"`);
    series.add(labels.startsWith('sglang:http_') ? labels.replace(/="[^"]*"/g, '') : labels);
  }
  return series;
}
