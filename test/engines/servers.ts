import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Installed, lastLineOf } from './install.ts';
import { pythonEnvironment } from './python.ts';
import { type Supervised, supervise } from './supervised.ts';

/** A real engine that listens on loopback. */
export interface EngineServer {
  readonly name: string;
  readonly url: string;
  /** Where its output goes. */
  readonly log: string;
  /** Leads the process group of the server; none of the group outlives this process. */
  readonly pid: number;
  /** What /metrics says now, as Prometheus text. */
  readonly metrics: () => Promise<string>;
  /** Ends the server at once, as a crash would: requests in flight lose their connection. */
  readonly close: () => Promise<void>;
}

/** An SGLang server, whose speed can be set. */
export interface SglangServer extends EngineServer {
  /** Makes every step of the scheduler take this much longer from now on; 0 ends it. */
  readonly slowDown: (seconds: number) => Promise<void>;
}

interface Listening {
  /** A free one unless given. */
  readonly port?: number;
  /** Takes each line of progress. */
  readonly report: (line: string) => void;
}

export interface SglangOptions extends Listening {
  readonly maxRunning: number;
  /** Size of the KV pool in tokens. */
  readonly kvTokens: number;
  /** Whether /metrics is served. */
  readonly metrics: boolean;
}

export interface LlamaCppOptions extends Listening {
  /** Most requests that it works on at once. */
  readonly slots: number;
}

const START_SECONDS = 180;
const PROGRESS_SECONDS = 10;

// One thread each, so that servers side by side do not fight for cores; and nothing is asked of the network.
const SGLANG_ENVIRONMENT = {
  SGLANG_USE_CPU_ENGINE: '1',
  OMP_NUM_THREADS: '1',
  HF_HUB_OFFLINE: '1',
  TRANSFORMERS_OFFLINE: '1',
};

/** Starts SGLang and resolves when it is ready for requests. */
export async function startSglang(installed: Installed, options: SglangOptions): Promise<SglangServer> {
  const port = await freePort(options.port);
  const words = [installed.python, ...sglangArguments(installed.model, port, options)];
  const server = await start({ name: 'sglang', words, port, extra: SGLANG_ENVIRONMENT, installed, ...options });
  const slowDown = async (seconds: number) => {
    await ask(`${server.url}/slow_down`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ forward_sleep_time: seconds }),
    });
  };
  return { ...server, slowDown };
}

function sglangArguments(model: string, port: number, { maxRunning, kvTokens, metrics }: SglangOptions): string[] {
  return [
    ...['-m', 'sglang.launch_server', '--model-path', model, '--host', '127.0.0.1', '--port', String(port)],
    ...['--device', 'cpu', '--dtype', 'float32', '--mem-fraction-static', '0.3', '--disable-cuda-graph'],
    ...['--attention-backend', 'torch_native', '--sampling-backend', 'pytorch', '--grammar-backend', 'none'],
    ...['--max-running-requests', String(maxRunning), '--max-total-tokens', String(kvTokens)],
    // An idle scheduler would otherwise keep a core busy; and counters shall begin at what the test itself sends.
    ...['--sleep-on-idle', '--skip-server-warmup'],
    ...(metrics ? ['--enable-metrics'] : []),
  ];
}

/** Starts llama.cpp's server and resolves when it is ready for requests. */
export async function startLlamaCpp(installed: Installed, options: LlamaCppOptions): Promise<EngineServer> {
  const port = await freePort(options.port);
  const script = fileURLToPath(new URL('serve-llama-cpp.py', import.meta.url));
  const words = [installed.python, script, installed.model, String(port), String(options.slots)];
  return start({ name: 'llama-cpp', words, port, extra: {}, installed, ...options });
}

interface Launch extends Listening {
  readonly name: string;
  readonly words: readonly string[];
  readonly port: number;
  readonly extra: Readonly<Record<string, string>>;
  readonly installed: Installed;
}

async function start({ name, words, port, extra, installed, report }: Launch): Promise<EngineServer> {
  const title = `${name}-${port}`;
  const log = join(installed.logs, `${title}.log`);
  // Engines leave sockets and caches among the temporary files; these go with the server.
  const scratch = await mkdtemp(join(tmpdir(), 'tokramp-'));
  const process = await supervise({ words, environment: { ...pythonEnvironment(), ...extra, TMPDIR: scratch }, log });
  const url = `http://127.0.0.1:${port}`;
  const close = async () => {
    await process.kill();
    await rm(scratch, { recursive: true, force: true });
  };
  try {
    await untilReady({ title, url, process, log, report });
  } catch (error) {
    await close();
    throw error;
  }
  const metrics = async () => (await ask(`${url}/metrics`)).text();
  return { name: title, url, log, pid: process.pid, metrics, close };
}

interface Starting {
  readonly title: string;
  readonly url: string;
  readonly process: Supervised;
  readonly log: string;
  readonly report: (line: string) => void;
}

async function untilReady({ title, url, process, log, report }: Starting): Promise<void> {
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 1000;
  let told = 0;
  // Only /health: other routes of SGLang answer 200 long before it can serve.
  while (!(await isHealthy(url))) {
    if (process.hasEnded()) throw new Error(`${title} ended while it started: ${await lastLineOf(log)}`);
    if (elapsed() > START_SECONDS) {
      throw new Error(`${title} is not ready after ${START_SECONDS} s: ${await lastLineOf(log)}`);
    }
    if (elapsed() >= told + PROGRESS_SECONDS) {
      told += PROGRESS_SECONDS;
      report(`${title}: starting for ${told} s`);
    }
    await pause(250);
  }
  report(`${title}: ready after ${elapsed().toFixed(0)} s at ${url}`);
}

/** SGLang takes one second to say that it is well. */
const HEALTH_PATIENCE_MS = 5_000;

function isHealthy(url: string): Promise<boolean> {
  return fetch(`${url}/health`, { signal: AbortSignal.timeout(HEALTH_PATIENCE_MS) }).then(
    async (answer) => {
      await answer.arrayBuffer();
      return answer.status === 200;
    },
    () => false,
  );
}

async function ask(url: string, request: RequestInit = {}): Promise<Response> {
  const answer = await fetch(url, request);
  if (answer.ok) return answer;
  throw new Error(`${url} answers ${answer.status}: ${JSON.stringify((await answer.text()).slice(0, 200))}`);
}

/** The port asked for, or any, that nothing listens on: an engine may share a taken one, and another server would answer. */
export function freePort(wanted = 0): Promise<number> {
  return new Promise((settle, fail) => {
    const probe = createServer();
    probe.on('error', (error) => fail(new Error(`port ${wanted} cannot be used: ${error.message}`)));
    probe.listen(wanted, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' ? address?.port : undefined;
      probe.close(() => (port === undefined ? fail(new Error('no free port')) : settle(port)));
    });
  });
}
