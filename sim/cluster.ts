import type { Profile } from './profiles.ts';
import { type SimServer, startServer } from './server.ts';

export type { SimServer } from './server.ts';

/** A fleet to start: servers of one profile, where wanted with changes for single ones by their index. */
export interface ClusterOptions {
  readonly count: number;
  readonly profile: Profile;
  /** One per server; absent or 0: any free port. */
  readonly ports?: readonly number[];
  readonly apiKey?: string;
  readonly profiles?: Readonly<Record<number, Partial<Profile>>>;
}

/** A running fleet. */
export interface Cluster {
  readonly servers: readonly SimServer[];
  /** The value of TOKRAMP_SERVERS that names this fleet. */
  readonly environment: string;
  close(): Promise<void>;
}

/** Starts a fleet on loopback: servers s0, s1, ... in this process. If one cannot start, none stays. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const servers: SimServer[] = [];
  try {
    for (let index = 0; index < options.count; index++) {
      const server = await startServer({
        name: `s${index}`,
        profile: { ...options.profile, ...options.profiles?.[index] },
        port: options.ports?.[index] ?? 0,
        apiKey: options.apiKey ?? null,
        peers: () => servers,
      });
      servers.push(server);
    }
  } catch (error) {
    await closeAll(servers);
    throw error;
  }
  return {
    servers,
    environment: servers.map(({ name, url }) => `${name}=${url}`).join(','),
    close: () => closeAll(servers),
  };
}

async function closeAll(servers: readonly SimServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.close()));
}
