import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { type Cluster, startCluster } from '../sim/cluster.ts';
import { PROFILES } from '../sim/profiles.ts';
import { EXIT } from './exit-codes.ts';

const MOST_SERVERS = 64;
const HELP = `npm run sim -- [--servers N] [--profile NAME] [--port BASE]

Starts simulated SGLang servers on loopback and keeps them until Ctrl-C.

  --servers N     how many (default 8)
  --profile NAME  one of ${Object.keys(PROFILES).join(', ')} (default story)
  --port BASE     first port, the others follow; 0 takes any free ones (default 0)

TOKRAMP_SIM_API_KEY in the environment makes them ask for that key.
POST /sim/faults on any server breaks one, GET /sim/truth tells what it really did.`;

interface Wish {
  readonly servers: number;
  readonly profile: string;
  readonly port: number;
}

/** `npm run sim`: a fleet of simulated servers until a signal ends it; the exit code. */
export async function simCommand(argv: readonly string[]): Promise<number> {
  if (argv.includes('--help') || argv.includes('-h')) {
    console.log(HELP);
    return EXIT.ok;
  }
  const wish = readWish(argv);
  if (typeof wish === 'string') {
    console.error(wish);
    return EXIT.toolError;
  }
  const cluster = await open(wish);
  if (typeof cluster === 'string') {
    console.error(cluster);
    return EXIT.toolError;
  }
  announce(cluster, wish);
  await signalled();
  await cluster.close();
  console.error('sim: stopped');
  return EXIT.ok;
}

/** What the flags ask for, or the one line that says which of them is wrong. */
function readWish(argv: readonly string[]): Wish | string {
  const given = readFlags(argv);
  if (typeof given === 'string') return given;
  const servers = wholeNumber(given['servers'] ?? '8', 1, MOST_SERVERS);
  if (servers === null) return `sim: --servers "${given['servers']}": want a whole number from 1 to ${MOST_SERVERS}`;
  const port = wholeNumber(given['port'] ?? '0', 0, 65_536 - servers);
  if (port === null) return `sim: --port "${given['port']}": want a whole number from 0 to ${65_536 - servers}`;
  const profile = given['profile'] ?? 'story';
  if (!Object.hasOwn(PROFILES, profile)) {
    return `sim: --profile "${profile}": want one of ${Object.keys(PROFILES).join(', ')}`;
  }
  return { servers, profile, port };
}

function readFlags(argv: readonly string[]): Record<string, string | undefined> | string {
  const options = { servers: { type: 'string' }, profile: { type: 'string' }, port: { type: 'string' } } as const;
  try {
    return { ...parseArgs({ args: [...argv], options }).values };
  } catch (error) {
    const [first = ''] = error instanceof Error ? error.message.split('. ') : [String(error)];
    return `sim: ${first}; want --servers, --profile or --port with a value`;
  }
}

function wholeNumber(text: string, least: number, most: number): number | null {
  const value = Number(text);
  return /^\d+$/.test(text) && value >= least && value <= most ? value : null;
}

async function open({ servers, profile, port }: Wish): Promise<Cluster | string> {
  const apiKey = process.env['TOKRAMP_SIM_API_KEY'];
  const chosen = PROFILES[profile] ?? PROFILES.story;
  const ports = Array.from({ length: servers }, (_, index) => (port === 0 ? 0 : port + index));
  try {
    return await startCluster({ count: servers, profile: chosen, ports, ...(apiKey ? { apiKey } : {}) });
  } catch (error) {
    return `sim: cannot start: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function announce(cluster: Cluster, wish: Wish): void {
  for (const { name, url } of cluster.servers) console.log(`${name}  ${url}  simulated, profile ${wish.profile}`);
  console.log(`export TOKRAMP_SERVERS=${cluster.environment}`);
  console.error('sim: Ctrl-C stops it');
}

/** Waits for the first Ctrl-C or SIGTERM; the second ends the process at once, as nothing listens any more. */
async function signalled(): Promise<void> {
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  process.removeAllListeners('SIGINT');
  process.removeAllListeners('SIGTERM');
}
