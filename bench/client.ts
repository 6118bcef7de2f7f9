/** What the suite costs beside a bare k6 script that only posts: CPU seconds per 1,000 requests, and peak memory. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { obtainK6 } from '../cli/bring-k6.ts';
import { CHECKOUT } from '../cli/k6.ts';
import { parseResult } from '../lib/result.ts';
import { startCluster } from '../sim/cluster.ts';
import { PROFILES } from '../sim/profiles.ts';
import { type Cost, costOf } from './process.ts';

const SERVERS = 8;
const MAX_TOKENS = 64;
const SECONDS = 60;
/** Of the suite's built-in prompts, as the simulator counts. */
const PROMPT_TOKENS = 103;

const k6 = await obtainK6({ environment: process.env, checkout: CHECKOUT, report: (line) => console.error(line) });
console.log(
  `k6 ${k6.version}, ${SERVERS} simulated servers, answers of ${MAX_TOKENS} tokens, ${SECONDS} s at the level`,
);
console.log('VUs   script   requests   CPU s per 1,000   peak MB');
for (const level of [37, 64]) await compare(level);

async function compare(level: number): Promise<void> {
  const { demo } = PROFILES;
  const pool = level * (PROMPT_TOKENS + MAX_TOKENS + 2) + 1;
  const cluster = await startCluster({ count: SERVERS, profile: { ...demo, coldStartMs: 0, maxTotalTokens: pool } });
  const folder = mkdtempSync(join(tmpdir(), 'tokramp-bench-'));
  try {
    const urls = cluster.servers.map((server) => server.url);
    const bare = await costOf(k6.path, ['run', '--quiet', '--address', '', bareScript(folder, urls, level)], quiet());
    const served = cluster.servers.reduce((sum, server) => sum + server.truth().requestsFinished, 0);
    show(level, 'bare', served, bare);
    const suite = await costOf(k6.path, ['run', '--quiet', '--address', '', join(CHECKOUT, 'scenarios/ramp.js')], {
      ...quiet(),
      ...settings(folder, cluster.environment, level),
    });
    show(level, 'tokramp', requestsOf(folder, suite), suite);
  } finally {
    await cluster.close();
    rmSync(folder, { recursive: true });
  }
}

function quiet(): NodeJS.ProcessEnv {
  return { ...process.env, K6_NO_USAGE_REPORT: 'true' };
}

/** One level, held so long that start and warm-up weigh little; R is given, so that no plan is needed. */
function settings(folder: string, servers: string, level: number): NodeJS.ProcessEnv {
  const requestSeconds = 2.2;
  return {
    TOKRAMP_SERVERS: servers,
    TOKRAMP_MAX_TOKENS: String(MAX_TOKENS),
    TOKRAMP_RESULTS: folder,
    TOKRAMP_LIMIT: String(level),
    TOKRAMP_LEVELS: String(level),
    TOKRAMP_REQUEST_SECONDS: String(requestSeconds),
    TOKRAMP_HOLD: String(SECONDS / requestSeconds),
    TOKRAMP_CLOSING_BASELINE: 'false',
  };
}

/** The least that a load test of the same servers can do: the same number of VUs, one request each, again and again. */
function bareScript(folder: string, urls: readonly string[], level: number): string {
  const path = join(folder, 'bare.js');
  const body = JSON.stringify({
    text: 'x'.repeat(400),
    sampling_params: { max_new_tokens: MAX_TOKENS, ignore_eos: true },
  });
  const scenarios = urls.map((url, index) => [
    `s${index}`,
    { executor: 'constant-vus', vus: level, duration: `${SECONDS}s`, gracefulStop: '30s', env: { URL: url } },
  ]);
  writeFileSync(
    path,
    `import http from 'k6/http';
export const options = { scenarios: ${JSON.stringify(Object.fromEntries(scenarios))} };
const params = { headers: { 'Content-Type': 'application/json' }, tags: { name: 'generate' } };
export default function () { http.post(__ENV.URL + '/generate', ${JSON.stringify(body)}, params); }
`,
  );
  return path;
}

function requestsOf(folder: string, cost: Cost): number {
  const name = readdirSync(folder).find((entry) => entry.startsWith('ramp-'));
  if (name === undefined) throw new Error(`the ramp left no result:\n${cost.output}`);
  const run = parseResult(readFileSync(join(folder, name), 'utf8'), name);
  return run.ledger.reduce((sum, ledger) => sum + ledger.finished, 0);
}

function show(level: number, script: string, requests: number, cost: Cost): void {
  const perThousand = (1000 * cost.cpuSeconds) / requests;
  const cells = [String(SERVERS * level).padEnd(5), script.padEnd(8), String(requests).padStart(8)];
  console.log(`${cells.join(' ')} ${perThousand.toFixed(3).padStart(17)} ${cost.peakMegabytes.toFixed(0).padStart(9)}`);
}
