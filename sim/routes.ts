import { setTimeout as delay } from 'node:timers/promises';
import { renderAnswer } from './answers.ts';
import { type Backend, nowMs } from './backend.ts';
import { type Call, isReply, readObject, refuseLength } from './call.ts';
import { refusalOf, replyOf } from './distort.ts';
import type { FaultState } from './faults.ts';
import { readGenerate } from './generate-route.ts';
import type { HttpStats } from './http-stats.ts';
import type { Completion } from './job.ts';
import { loadsBody, oldLoadBody, readInclude } from './loads.ts';
import { renderMetrics } from './metrics.ts';
import { readChat, readCompletions } from './openai-route.ts';
import {
  bare,
  invalidBody,
  json,
  methodNotAllowed,
  notFound,
  notSimulated,
  plain,
  queueFull,
  type Reply,
  refused,
} from './reply.ts';
import { type Identity, modelCard, modelInfo, serverInfo } from './server-info.ts';
import { readTokenize } from './tokenize-route.ts';

/** One HTTP request, its body read. */
export interface Incoming {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly contentType: string | null;
  readonly body: string;
  /** Calls back if the client leaves before it is answered. */
  readonly whenGone: (cancel: () => void) => void;
}

/** The parts of a server that its routes answer from. */
export interface Host {
  readonly backend: Backend;
  readonly http: HttpStats;
  readonly faults: FaultState;
  identity(): Identity;
}

/** A route's answer to one request. */
export type Handler = (host: Host, incoming: Incoming) => Reply | Promise<Reply>;

/** Routes by path and method. */
export type Routes = Readonly<Record<string, Readonly<Record<string, Handler>>>>;

const FLUSH_POLL_MS = 20;

/** Paths whose requests cost GPU time, and which faults of answers therefore concern. */
export const GENERATION_PATHS: readonly string[] = ['/generate', '/v1/completions', '/v1/chat/completions'];

/** Routes that only a current build has. */
const CURRENT: Routes = {
  '/server_info': { GET: (host) => json(serverInfo(host.identity(), host.backend.stats.lastGenThroughput)) },
  '/model_info': { GET: (host) => json(modelInfo(host.identity().model)) },
  '/v1/loads': { GET: loads },
};

/** Routes that only an old build has. */
const OLD: Routes = { '/get_load': { GET: (host) => json(oldLoadBody(host.backend.stats)) } };

const ALWAYS: Routes = {
  '/': { GET: () => json('SGLang is running') },
  '/ping': { GET: (host) => bare(isReady(host) ? 200 : 503) },
  '/health': { GET: health },
  '/health_generate': { GET: health },
  '/generate': { POST: generation(readGenerate), PUT: generation(readGenerate) },
  '/v1/completions': { POST: generation(readCompletions) },
  '/v1/chat/completions': { POST: generation(readChat) },
  '/v1/tokenize': { POST: tokenize },
  '/tokenize': { POST: tokenize },
  '/v1/models': { GET: models },
  '/v1/models/{model:path}': { GET: oneModel },
  '/get_server_info': { GET: (host) => json(serverInfo(host.identity(), host.backend.stats.lastGenThroughput)) },
  '/get_model_info': { GET: (host) => json(modelInfo(host.identity().model)) },
  '/flush_cache': { GET: flush, POST: flush },
  '/abort_request': { POST: abortRequest },
};

const WITH_METRICS: Routes = { '/metrics': { GET: metrics } };

/** Answers a request by the routes that a server has right now, and counts it. */
export async function dispatch(host: Host, incoming: Incoming): Promise<Reply> {
  const build = host.faults.oldBuild ? OLD : CURRENT;
  const routes: Routes = { ...ALWAYS, ...build, ...(host.identity().metrics ? WITH_METRICS : {}) };
  const isModel = incoming.path.startsWith('/v1/models/');
  const endpoint = isModel ? '/v1/models/{model:path}' : incoming.path;
  const done = host.http.opened(endpoint, incoming.method);
  let status = 500;
  try {
    const reply = await replyOn(routes[endpoint], host, incoming);
    status = reply.status;
    return reply;
  } finally {
    done(status);
  }
}

async function replyOn(methods: Routes[string] | undefined, host: Host, incoming: Incoming): Promise<Reply> {
  if (methods === undefined) return notFound();
  const handler = methods[incoming.method];
  return handler === undefined ? methodNotAllowed(Object.keys(methods)) : handler(host, incoming);
}

function isReady({ backend, faults }: Host): boolean {
  return !faults.notReady && nowMs() >= backend.startMs + backend.profile.startUpMs;
}

/** Takes its time as the real one does, but runs nothing: a probe must not warm a server that is to be cold. */
async function health(host: Host): Promise<Reply> {
  if (!isReady(host)) return bare(503);
  await delay(host.backend.profile.healthMs, undefined, { ref: false });
  return bare(isReady(host) ? 200 : 503);
}

/** `application/json`, with or without parameters. */
const isJson = (contentType: string | null): boolean => /^application\/json\s*(;|$)/i.test(contentType ?? '');

function generation(read: (body: string) => Call | Reply): Handler {
  return async (host, incoming) => {
    if (host.faults.hang) return new Promise<Reply>(() => {});
    const fault = host.faults.answer;
    const refusal = refusalOf(fault);
    if (refusal !== null) return refusal;
    if (!isJson(incoming.contentType)) return invalidBody("'header', 'content-type': only application/json is allowed");
    const call = read(incoming.body);
    if (isReply(call)) return call;
    const { backend } = host;
    const impossible = refuseLength(call, host.identity().limits) ?? refuseDuplicate(call, backend);
    if (impossible !== null) return impossible;
    const { ids, done } = backend.run(call);
    incoming.whenGone(() => backend.abort(ids));
    const completions = await done;
    if (completions.some(({ ending }) => ending === 'queue-full')) return queueFull();
    return answer(host, call, fault === 'abort' ? completions.map(asAborted) : completions);
  };
}

const asAborted = (completion: Completion): Completion => ({ ...completion, ending: 'abort' });

function answer(host: Host, call: Call, completions: readonly Completion[]): Reply {
  const { metrics: withMetrics, profile } = host.identity();
  const context = { metrics: withMetrics, cacheReport: profile.cacheReport, nowMs: nowMs() };
  const tokens = completions.reduce((sum, completion) => sum + completion.tokens, 0);
  return { ...replyOf(renderAnswer(call, completions, context), host.faults.answer), tokens };
}

function refuseDuplicate(call: Call, { engine }: Backend): Reply | null {
  if (call.rid === null || !engine.isLive(call.rid)) return null;
  return refused(call.api === 'generate' ? 'native' : 'openai', `Duplicate request ID detected: ${call.rid}`);
}

function tokenize(host: Host, { body }: Incoming): Reply {
  const counted = readTokenize(body);
  if (isReply(counted)) return counted;
  return json({ ...counted, max_model_len: host.identity().limits.contextLength });
}

function models(host: Host): Reply {
  const { model, limits } = host.identity();
  return json({ object: 'list', data: [modelCard(model, nowMs(), limits.contextLength)] });
}

function oneModel(host: Host, { path }: Incoming): Reply {
  const { model, limits } = host.identity();
  const asked = decodeURIComponent(path.slice('/v1/models/'.length));
  if (asked === model) return json(modelCard(model, nowMs(), limits.contextLength));
  const error = {
    message: `The model '${asked}' does not exist`,
    type: 'invalid_request_error',
    param: 'model',
    code: 'model_not_found',
  };
  return json({ error }, 404);
}

function loads(host: Host, { query }: Incoming): Reply {
  if (query.get('format') === 'prometheus') return notSimulated('/v1/loads?format=prometheus');
  const sections = readInclude(query.get('include'));
  if (sections === null) return plain(500, 'Internal Server Error');
  host.backend.catchUp();
  return json(loadsBody(host.identity(), host.backend.stats, { sections, rank: query.get('dp_rank'), nowMs: nowMs() }));
}

function metrics(host: Host): Reply {
  const { backend, http } = host;
  backend.catchUp();
  const text = renderMetrics({
    identity: host.identity(),
    stats: backend.stats,
    http,
    nowMs: nowMs(),
    startMs: backend.startMs,
  });
  return { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8', body: text };
}

async function flush({ backend }: Host, { query }: Incoming): Promise<Reply> {
  const seconds = Number(query.get('timeout') ?? 0);
  if (!(seconds >= 0)) return invalidBody("'query', 'timeout': Input should be greater than or equal to 0");
  const deadlineMs = nowMs() + seconds * 1000;
  backend.catchUp();
  while (!backend.engine.idle && nowMs() < deadlineMs) {
    await delay(FLUSH_POLL_MS, undefined, { ref: false });
    backend.catchUp();
  }
  if (!backend.engine.idle) return bare(400, 'Flush cache failed.');
  backend.engine.flush();
  return bare(200, 'Cache flushed.\n');
}

function abortRequest({ backend }: Host, { body }: Incoming): Reply {
  const fields = readObject(body);
  if (isReply(fields)) return fields;
  const { rid, abort_all: everything } = fields;
  if (everything === true) backend.abortAll();
  else if (typeof rid === 'string') backend.abort([rid]);
  return bare(200);
}
