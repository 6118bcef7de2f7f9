import { existsSync } from 'node:fs';
import { capacityOf } from '../lib/capacity.ts';
import { limitFor } from '../lib/discovery.ts';
import { defaultTimeoutSeconds, ladder, type Plan } from '../lib/plan.ts';
import { parsePlan } from '../lib/plan-file.ts';
import { renderPlan } from '../lib/plan-text.ts';
import { askCapacity } from '../lib/preflight.ts';
import { builtInPrompts } from '../lib/prompts.ts';
import type { Reply } from '../lib/protocol.ts';
import { type ServerSpec, type Settings, safeUrl } from '../lib/settings.ts';
import { SUITE_MAJOR } from '../lib/workload.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { readText, type Session } from './session.ts';

/** Where nothing was measured, a token is taken to need this long and a prompt to have this many tokens; the text says so. */
const ASSUMED_SECONDS_PER_TOKEN = 0.04;
const ASSUMED_PROMPT_TOKENS = 128;
const LOOK_TIMEOUT_MS = 30_000;

/** Prints what a ramp would do and cost, without sending any load. */
export async function plan(session: Session): Promise<ExitCode> {
  const { settings } = session;
  if (existsSync(session.planPath)) {
    console.log(`from ${session.planPath}`);
    process.stdout.write(renderPlan(parsePlan(readText(session.planPath), session.planPath), settings.servers));
    return EXIT.ok;
  }
  const looked = await Promise.all(settings.servers.map((server) => limitNow(server, settings)));
  const faults = looked.flatMap((entry) => ('fault' in entry ? [entry.fault] : []));
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) return EXIT.fleet;
  const servers = looked.flatMap((entry) => ('fault' in entry ? [] : [entry]));
  process.stdout.write(renderPlan(assumedPlan(servers, settings), settings.servers));
  console.log(
    `assumed: ${ASSUMED_SECONDS_PER_TOKEN * 1000} ms a token and prompts of ${settings.inputTokens ?? ASSUMED_PROMPT_TOKENS} tokens; ` +
      'npm run discover measures both',
  );
  return EXIT.ok;
}

interface ServerLimit {
  readonly name: string;
  readonly limit: number;
  readonly pool: string;
}

async function limitNow(server: ServerSpec, settings: Settings): Promise<ServerLimit | { readonly fault: string }> {
  const asked = await askCapacity((path) => get(server, settings, path));
  if ('fault' in asked) return { fault: `${server.name} ${safeUrl(server.url)} ${asked.fault}` };
  const lengths = { promptTokens: settings.inputTokens ?? ASSUMED_PROMPT_TOKENS, outputTokens: settings.maxTokens };
  try {
    const limit = limitFor(capacityOf(asked.replies), lengths, settings.limit);
    return { name: server.name, limit: limit.requests, pool: limit.pool };
  } catch (error) {
    return { fault: `${server.name}: ${error instanceof Error ? error.message : String(error)}` };
  }
}

async function get(server: ServerSpec, settings: Settings, path: string): Promise<Reply> {
  const key = settings.apiKey === null ? {} : { Authorization: `Bearer ${settings.apiKey}` };
  try {
    const signal = AbortSignal.timeout(LOOK_TIMEOUT_MS);
    const response = await fetch(`${server.url}${path}`, {
      headers: { ...key, ...settings.headers },
      redirect: 'manual',
      signal,
    });
    return { status: response.status, body: await response.text(), errorCode: 0, error: '' };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    return { status: 0, body: null, errorCode: 1000, error: cause };
  }
}

function assumedPlan(servers: readonly ServerLimit[], settings: Settings): Plan {
  const [first, ...others] = servers;
  if (first === undefined) throw new Error('no servers');
  const smallest = others.reduce((a, b) => (b.limit < a.limit ? b : a), first);
  const requestSeconds = settings.maxTokens * ASSUMED_SECONDS_PER_TOKEN;
  const levels = ladder(smallest.limit, settings).map((level) => ({ ...level, requestSeconds }));
  return {
    schemaVersion: 1,
    kind: 'tokramp plan',
    createdAt: new Date().toISOString(),
    assumed: true,
    promptTokens: null,
    inputLength: null,
    outputLength: null,
    cachedShare: null,
    hold: settings.hold,
    closingBaseline: settings.closingBaseline,
    timeoutSeconds: settings.timeoutSeconds ?? defaultTimeoutSeconds(requestSeconds),
    limit: smallest.limit,
    pool: smallest.pool,
    servers: servers.map((server) => ({ ...server, requestSecondsAtOne: null, requestSecondsAtLimit: null })),
    levels,
    workload: {
      suiteMajor: SUITE_MAJOR,
      api: settings.api,
      stop: settings.stop,
      maxTokens: settings.maxTokens,
      inputTokens: settings.inputTokens,
      prompts: builtInPrompts({ api: settings.api, inputTokens: settings.inputTokens }).describe,
      cacheIsolation: settings.cacheIsolation,
    },
  };
}
