import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerAdmin } from './admin.ts';
import { Backend } from './backend.ts';
import { type FaultState, type FaultSwitch, NO_FAULTS } from './faults.ts';
import { HttpStats } from './http-stats.ts';
import type { Profile } from './profiles.ts';
import { flatError, type Reply, unauthorized } from './reply.ts';
import { dispatch, GENERATION_PATHS, type Host, type Incoming } from './routes.ts';
import type { Identity } from './server-info.ts';
import type { ServerTruth } from './truth.ts';

const KEEP_ALIVE_MS = 5_000;
const LOOPBACK = '127.0.0.1';

/** One simulated server on loopback. */
export interface SimServer {
  readonly name: string;
  readonly url: string;
  readonly port: number;
  readonly faults: FaultSwitch;
  /** What it has done up to now. */
  truth(): ServerTruth;
  close(): Promise<void>;
}

export interface ServerOptions {
  readonly name: string;
  readonly profile: Profile;
  /** 0: any free port. */
  readonly port: number;
  readonly apiKey: string | null;
  /** All servers of the fleet, so that a dead one can be revived through another's admin route. */
  readonly peers: () => readonly SimServer[];
}

/** Starts one simulated server; it is listening when this resolves. */
export async function startServer(options: ServerOptions): Promise<SimServer> {
  const server = new HttpServer(options);
  await server.listen();
  return server;
}

class HttpServer implements SimServer {
  readonly name: string;
  readonly faults: FaultSwitch;
  port: number;

  private readonly options: ServerOptions;
  private readonly backend: Backend;
  private readonly http = new HttpStats();
  private readonly server: Server;
  private state: FaultState = NO_FAULTS;
  private answersUntilDeath: number | null = null;

  constructor(options: ServerOptions) {
    this.options = options;
    this.name = options.name;
    this.port = options.port;
    this.backend = new Backend(options.profile);
    this.server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
      this.receive(request, response).catch((error: unknown) => response.destroy(asError(error)));
    });
    const state = () => this.state;
    this.faults = {
      get state() {
        return state();
      },
      set: (change) => this.change({ ...this.state, ...change }),
      clear: () => this.change(NO_FAULTS),
    };
  }

  get url(): string {
    return `http://${LOOPBACK}:${this.port}`;
  }

  truth(): ServerTruth {
    return this.backend.truth();
  }

  async listen(): Promise<void> {
    if (this.server.listening) return;
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(this.port, LOOPBACK, () => {
        this.server.off('error', reject);
        resolve();
      });
    });
    const address = this.server.address();
    if (isBound(address)) this.port = address.port;
  }

  async close(): Promise<void> {
    this.backend.stop();
    await this.goDark();
  }

  private async goDark(): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  private async change(next: FaultState): Promise<void> {
    this.backend.apply(next);
    if (next.diesAfter !== this.state.diesAfter) this.answersUntilDeath = next.diesAfter;
    // A cold start is spent by the request that pays it, so the switch never stays on.
    this.state = { ...next, cold: false };
    if (next.dead) await this.goDark();
    else await this.listen();
  }

  private host(): Host {
    return { backend: this.backend, http: this.http, faults: this.state, identity: () => this.identity() };
  }

  private identity(): Identity {
    return this.backend.identity({ port: this.port, apiKey: this.options.apiKey });
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    const incoming: Incoming = {
      method: request.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      contentType: request.headers['content-type'] ?? null,
      body: await readBody(request),
      whenGone: (cancel) =>
        response.once('close', () => {
          if (!response.writableFinished) cancel();
        }),
    };
    const reply = await this.answer(incoming, request.headers.authorization ?? null);
    if (response.destroyed) return;
    response.once('finish', () => this.sent(incoming.path, reply));
    send(response, reply);
  }

  private async answer(incoming: Incoming, authorization: string | null): Promise<Reply> {
    if (incoming.path.startsWith('/sim/')) return answerAdmin(incoming, this, this.options.peers());
    if (!this.isAllowed(incoming, authorization)) return unauthorized();
    try {
      return await dispatch(this.host(), incoming);
    } catch (error) {
      return flatError(500, 'InternalServerError', asError(error).message);
    }
  }

  private isAllowed({ path, method }: Incoming, authorization: string | null): boolean {
    const { apiKey } = this.options;
    const open = path.startsWith('/health') || path.startsWith('/metrics') || method === 'OPTIONS';
    return apiKey === null || open || authorization === `Bearer ${apiKey}`;
  }

  private sent(path: string, reply: Reply): void {
    this.backend.tokensSent += reply.tokens ?? 0;
    if (this.answersUntilDeath === null || !GENERATION_PATHS.includes(path)) return;
    this.answersUntilDeath -= 1;
    if (this.answersUntilDeath > 0) return;
    this.answersUntilDeath = null;
    this.change({ ...this.state, dead: true, diesAfter: null }).catch((error: unknown) => {
      throw asError(error);
    });
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

const isBound = (address: AddressInfo | string | null): address is AddressInfo =>
  address !== null && typeof address !== 'string';

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, { status, type, body, headers }: Reply): void {
  const bytes = Buffer.from(body, 'utf8');
  response.writeHead(status, {
    server: 'simulated',
    'content-length': bytes.length,
    ...(type === null ? {} : { 'content-type': type }),
    ...headers,
  });
  response.end(bytes);
}
