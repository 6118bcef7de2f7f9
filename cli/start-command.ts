import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster } from '../sim/cluster.ts';
import { PROFILES } from '../sim/profiles.ts';
import { obtainK6 } from './bring-k6.ts';
import type { ExitCode } from './exit-codes.ts';
import { CHECKOUT } from './k6.ts';
import { ramp } from './scenario-commands.ts';
import { openSession } from './session.ts';

const DEMO_SERVERS = 8;
/** Short answers keep R near 2 s, so that the whole ramp takes about a minute. */
const DEMO_MAX_TOKENS = 64;

/** `npm start`: the main job on eight simulated servers in this process, with the real k6. */
export async function start(): Promise<ExitCode> {
  const report = (line: string): void => console.error(line);
  const k6 = await obtainK6({ environment: process.env, checkout: CHECKOUT, report });
  report(`k6 ${k6.version} (${k6.path}); its usage reports are off`);
  const profile = PROFILES['demo'];
  if (profile === undefined) throw new Error('the simulator has no profile "demo"');
  const cluster = await startCluster({ count: DEMO_SERVERS, profile });
  report(`${DEMO_SERVERS} simulated SGLang servers on loopback; discover and ramp take about two minutes`);
  const folder = mkdtempSync(join(tmpdir(), 'tokramp-demo-'));
  try {
    // A plan of its own: `npm run plan` must not take the demo's for a plan of real servers.
    const plan = join(CHECKOUT, 'results', 'demo-plan.json');
    rmSync(plan, { force: true });
    const settings = { servers: cluster.environment, maxTokens: String(DEMO_MAX_TOKENS), plan };
    return await ramp(openSession({ settings }, demoEnvironment(folder)), k6);
  } finally {
    await cluster.close();
    rmSync(folder, { recursive: true });
  }
}

/** The demo's load must not go to a server that the shell or a tokramp.json happens to name. */
function demoEnvironment(folder: string): NodeJS.ProcessEnv {
  const config = join(folder, 'settings.json');
  writeFileSync(config, '{}\n');
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('TOKRAMP_'));
  return { ...Object.fromEntries(others), TOKRAMP_CONFIG: config };
}
