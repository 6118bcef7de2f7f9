/** What a simulated fleet costs: CPU of its own process while another process holds 64 requests on each of eight servers. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Cluster, startCluster } from '../sim/cluster.ts';
import { PROFILES } from '../sim/profiles.ts';

const SERVERS = 8;
const IN_FLIGHT = 64;
const SECONDS = 10;
const SETTLE_SECONDS = 3;
const PROMPT_CHARACTERS = 400;

const CASES = [
  { profile: 'story', tokens: 1024 },
  { profile: 'story', tokens: 64 },
  { profile: 'fast', tokens: 1024 },
  { profile: 'fast', tokens: 64 },
] as const;

interface Report {
  readonly cpuSeconds: number;
  readonly tokens: number;
  readonly requests: number;
  readonly megabytes: number;
}

/** The measured process: a fleet that tells what it has used whenever it is asked. */
async function runFleet(profile: string): Promise<void> {
  const chosen = { ...(PROFILES[profile] ?? PROFILES.story), coldStartMs: 0, maxTotalTokens: 200_000 };
  const cluster = await startCluster({ count: SERVERS, profile: chosen });
  process.send?.({ urls: cluster.servers.map(({ url }) => url) });
  process.on('message', () => process.send?.(reportOf(cluster)));
}

function reportOf(cluster: Cluster): Report {
  const { user, system } = process.cpuUsage();
  const truths = cluster.servers.map((server) => server.truth());
  return {
    cpuSeconds: (user + system) / 1e6,
    tokens: truths.reduce((sum, { tokensEmitted }) => sum + tokensEmitted, 0),
    requests: truths.reduce((sum, { requestsFinished }) => sum + requestsFinished, 0),
    megabytes: process.memoryUsage.rss() / 2 ** 20,
  };
}

async function runClient(): Promise<void> {
  console.log(`${SERVERS} servers x ${IN_FLIGHT} in flight, ${SECONDS} s each`);
  for (const { profile, tokens } of CASES) {
    const fleet = fork(fileURLToPath(import.meta.url), ['fleet', profile]);
    const { urls } = await answerOf<{ urls: string[] }>(fleet);
    const load = holdLoad(urls, tokens);
    await delay(SETTLE_SECONDS * 1000);
    const before = await askFor(fleet);
    await delay(SECONDS * 1000);
    const after = await askFor(fleet);
    load.stop();
    fleet.kill();
    print(`${profile}, ${tokens} tokens`, before, after);
  }
}

function print(label: string, before: Report, after: Report): void {
  const cpu = after.cpuSeconds - before.cpuSeconds;
  const requests = (after.requests - before.requests) / SECONDS;
  const tokens = (after.tokens - before.tokens) / SECONDS;
  const figures = [
    `${((cpu / SECONDS) * 100).toFixed(1)} % of one core`,
    `${requests.toFixed(0)} requests/s`,
    `${tokens.toFixed(0)} tok/s`,
    `${after.megabytes.toFixed(0)} MB`,
  ];
  console.log(`${label.padEnd(20)} ${figures.join('   ')}`);
}

const answerOf = async <Message>(fleet: ChildProcess): Promise<Message> => (await once(fleet, 'message'))[0] as Message;

function askFor(fleet: ChildProcess): Promise<Report> {
  const answer = answerOf<Report>(fleet);
  fleet.send('report');
  return answer;
}

/** Keeps every server at the level: an answer is followed at once by the next question. */
function holdLoad(urls: readonly string[], tokens: number): { stop(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  let stopped = false;
  let serial = 0;
  const send = (url: string): void => {
    if (stopped) return;
    const text = String(serial++).padEnd(PROMPT_CHARACTERS, 'x');
    const body = JSON.stringify({ text, sampling_params: { max_new_tokens: tokens, ignore_eos: true } });
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request(`${url}/generate`, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.once('end', () => send(url));
    });
    sent.once('error', (error) => {
      if (!stopped) throw error;
    });
    sent.end(body);
  };
  for (const url of urls) for (let index = 0; index < IN_FLIGHT; index++) send(url);
  return {
    stop() {
      stopped = true;
      agent.destroy();
    },
  };
}

const role = process.argv[2];
if (role === 'fleet') await runFleet(process.argv[3] ?? 'story');
else await runClient();
