import { existsSync } from 'node:fs';
import { endpointOf } from '../lib/ask.ts';
import { capacityOf } from '../lib/capacity.ts';
import { limitFor } from '../lib/discovery.ts';
import { faultOr, valuesOrFaults } from '../lib/fleet.ts';
import { planFaults, tooLong } from '../lib/options.ts';
import { defaultTimeoutSeconds, ladder, type Plan } from '../lib/plan.ts';
import { parsePlan } from '../lib/plan-file.ts';
import { renderPlan } from '../lib/plan-text.ts';
import { askCapacity } from '../lib/preflight.ts';
import { parsePromptLines } from '../lib/prompt-file.ts';
import { builtInPrompts, type PromptSource, promptsFrom } from '../lib/prompts.ts';
import type { Reply } from '../lib/protocol.ts';
import { type ServerSpec, type Settings, safeUrl } from '../lib/settings.ts';
import { type Workload, workloadDifferences, workloadOf } from '../lib/workload.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { readText, type Session } from './session.ts';

/** Where nothing was measured, a token is taken to need this long and a prompt to have this many tokens; the text says so. */
const ASSUMED_SECONDS_PER_TOKEN = 0.04;
const ASSUMED_PROMPT_TOKENS = 128;
const LOOK_TIMEOUT_MS = 30_000;

/** Prints what a ramp would do and cost, without sending any load. */
export async function plan(session: Session): Promise<ExitCode> {
  const { settings, planPath } = session;
  const workload = workloadOf(settings, promptsOf(settings).describe);
  if (existsSync(planPath)) {
    const found = parsePlan(readText(planPath), planPath);
    const faults = planFaults(found, settings, (planned) => workloadDifferences(planned, workload));
    if (faults.length === 0) {
      console.log(`from ${planPath}`);
      process.stdout.write(renderPlan(found, settings.servers));
      return EXIT.ok;
    }
    for (const fault of faults) console.error(`${planPath}: ${fault}`);
    if (settings.plan !== null) return EXIT.toolError;
    console.error('that plan is not used');
  }
  // Node has no other way to accept any certificate for its fetch; it warns on stderr by itself.
  if (settings.tlsInsecure) process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  const looked = await valuesOrFaults(settings.servers.map((server) => limitNow(server, settings)));
  if ('faults' in looked) {
    for (const fault of looked.faults) console.error(fault);
    return EXIT.fleet;
  }
  const assumed = assumedPlan(looked.values, { settings, workload });
  process.stdout.write(renderPlan(assumed, settings.servers));
  console.log(
    `assumed: ${ASSUMED_SECONDS_PER_TOKEN * 1000} ms a token and prompts of ${settings.inputTokens ?? ASSUMED_PROMPT_TOKENS} tokens; ` +
      'npm run discover measures both',
  );
  const long = tooLong(assumed, settings);
  if (long === null) return EXIT.ok;
  console.error(long);
  return EXIT.toolError;
}

function promptsOf(settings: Settings): PromptSource {
  if (settings.prompts === null) return builtInPrompts(settings);
  return promptsFrom(parsePromptLines(readText(settings.prompts), settings.api));
}

interface ServerLimit {
  readonly name: string;
  readonly limit: number;
  readonly pool: string;
}

async function limitNow(
  server: ServerSpec,
  settings: Settings,
): Promise<{ readonly value: ServerLimit } | { readonly fault: string }> {
  const asked = await askCapacity((path) => get(server, settings, path));
  if ('fault' in asked) return { fault: `${server.name} ${safeUrl(server.url)} ${asked.fault}` };
  const lengths = { promptTokens: settings.inputTokens ?? ASSUMED_PROMPT_TOKENS, outputTokens: settings.maxTokens };
  return faultOr(server.name, async () => {
    const limit = limitFor(capacityOf(asked.replies), lengths, settings.limit);
    return { name: server.name, limit: limit.requests, pool: limit.pool };
  });
}

async function get(server: ServerSpec, settings: Settings, path: string): Promise<Reply> {
  const { url, headers } = endpointOf(server, settings);
  try {
    const signal = AbortSignal.timeout(LOOK_TIMEOUT_MS);
    const response = await fetch(`${url}${path}`, { headers, redirect: 'manual', signal });
    return { status: response.status, body: await response.text(), errorCode: 0, error: '' };
  } catch (error) {
    return { status: 0, body: null, errorCode: 1000, error: reasonOf(error) };
  }
}

/** Why fetch failed; where a name has several addresses, Node's cause has a code and an empty message. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const message = cause instanceof Error ? cause.message : String(cause);
  return message === '' ? code : message;
}

function assumedPlan(
  servers: readonly ServerLimit[],
  { settings, workload }: { readonly settings: Settings; readonly workload: Workload },
): Plan {
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
    workload,
    subject: null,
  };
}
