import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { planFleet } from '../lib/discovery.ts';
import type { Plan } from '../lib/plan.ts';
import { builtInPrompts } from '../lib/prompts.ts';
import { parseResult, type RunResult } from '../lib/result.ts';
import { parseSettings } from '../lib/settings.ts';
import type { Workload } from '../lib/workload.ts';
import type { Cluster, ClusterOptions, SimServer } from '../sim/cluster.ts';
import {
  type CliEnded,
  fleetFor,
  folderFor,
  requestSeconds,
  runCli,
  TABLE_LIMIT,
  TABLE_PROFILE,
  TABLE_TOKENS,
} from './e2e-fleet.ts';
import { workloadFor } from './factories.ts';

/** The plan that discover would make for this fleet, from the profile's own arithmetic. */
export function planFor(cluster: Cluster, part: Pick<Row, 'levels' | 'change' | 'workload'>): Plan {
  const settings = parseSettings({
    flags: { levels: part.levels ?? '1,4', hold: '2.2', overLimit: 'false', closingBaseline: 'false' },
    environment: { TOKRAMP_SERVERS: cluster.environment, TOKRAMP_MAX_TOKENS: String(TABLE_TOKENS) },
    file: null,
  });
  const discovered = cluster.servers.map(({ name }) => ({
    name,
    limit: { requests: TABLE_LIMIT, pool: 'max running' as const },
    promptTokens: 110,
    inputLength: { mean: 100, error: 0 },
    outputLength: { mean: TABLE_TOKENS, error: 0 },
    cachedShare: 0,
    requestSecondsAtOne: requestSeconds(TABLE_PROFILE, 1, TABLE_TOKENS),
    requestSecondsAtLimit: requestSeconds(TABLE_PROFILE, TABLE_LIMIT, TABLE_TOKENS),
    warm: true,
  }));
  const plan = planFleet(discovered, {
    settings,
    workload: workloadFor({
      maxTokens: TABLE_TOKENS,
      prompts: builtInPrompts({ api: 'generate', inputTokens: null }).describe,
      ...part.workload,
    }),
    createdAt: '2026-12-01T00:00:00.000Z',
    missing: [],
    subject: null,
  });
  // The mean of the prompts is the prompts' own business: rows that judge it let discover measure it.
  return { ...plan, inputLength: null, ...part.change };
}

/** One result file of the folder; null where there is none, a failure where there are several. */
export async function resultIn(folder: string): Promise<RunResult | null> {
  const names = (await readdir(folder)).filter((name) => name.startsWith('ramp-'));
  if (names.length > 1) throw new Error(`several results: ${names.join(', ')}`);
  const [name] = names;
  return name === undefined ? null : parseResult(await readFile(join(folder, name), 'utf8'), name);
}

/** One row of the table: a ramp by a plan, what goes wrong in it, and when. */
export interface Row {
  readonly fleet?: Partial<ClusterOptions>;
  readonly levels?: string;
  readonly change?: Partial<Plan>;
  readonly workload?: Partial<Workload>;
  readonly environment?: Readonly<Record<string, string>>;
  /** Before the run. */
  readonly before?: (cluster: Cluster) => Promise<unknown>;
  /** As soon as k6 says that the second level begins. */
  readonly during?: (cluster: Cluster) => Promise<unknown>;
}

export interface RowEnd extends CliEnded {
  readonly cluster: Cluster;
  readonly folder: string;
  readonly run: RunResult | null;
}

/** Runs one row with the command-line side and the real k6. */
export async function rampRow(t: TestContext, row: Row): Promise<RowEnd> {
  const cluster = await fleetFor(t, row.fleet ?? {});
  const folder = await folderFor(t);
  const planPath = join(folder, 'plan.json');
  await writeFile(planPath, JSON.stringify(planFor(cluster, row)));
  await row.before?.(cluster);
  let change: Promise<unknown> | undefined;
  const ended = await runCli(['ramp', '--plan', planPath], {
    cluster,
    folder,
    environment: row.environment ?? {},
    onLine: (line) => {
      if (line.startsWith('level 2 of ')) change ??= row.during?.(cluster);
    },
  });
  await change;
  return { ...ended, cluster, folder, run: await resultIn(folder) };
}

/** What a server itself counted; a dead one is brought back to be asked. */
export interface ServerCounts {
  readonly tokens: number;
  readonly requests: number;
  /** Generation requests that reached it, and its answers to them by HTTP status. */
  readonly received: number;
  readonly statuses: Readonly<Record<string, number>>;
}

export async function countsOf(server: SimServer): Promise<ServerCounts> {
  if (server.faults.state.dead) await server.faults.clear();
  const page = await (await fetch(`${server.url}/metrics`)).text();
  const samples = page.split('\n').flatMap((line) => {
    const [, name, labels, value] = /^sglang:(\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
    return name === undefined ? [] : [{ name, labels: labels ?? '', value: Number(value) }];
  });
  const generation = samples.filter(({ labels }) =>
    /endpoint="\/(generate|v1\/completions|v1\/chat\/completions)"/.test(labels),
  );
  const sum = (all: typeof samples, name: string) =>
    all.filter((sample) => sample.name === name).reduce((total, sample) => total + sample.value, 0);
  const statuses: Record<string, number> = {};
  for (const { labels, value } of generation.filter(({ name }) => name === 'http_responses_total')) {
    statuses[/status_code="(\d+)"/.exec(labels)?.[1] ?? ''] = value;
  }
  return {
    tokens: sum(samples, 'generation_tokens_total'),
    requests: sum(samples, 'num_requests_total'),
    received: sum(generation, 'http_requests_total'),
    statuses,
  };
}

/** The findings in short, sorted: "refuse V2 s1 l1". */
export const findingsIn = (run: RunResult): readonly string[] =>
  run.findings
    .map(({ severity, rule, server, level }) => [severity, rule, server, level].filter(Boolean).join(' '))
    .sort();

export const claimsWith = (run: RunResult, verdict: string): readonly string[] =>
  run.verdicts.filter((entry) => entry.verdict === verdict).map((entry) => entry.claim);
