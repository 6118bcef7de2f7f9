import { isReply, readObject } from './call.ts';
import { faultOfChange } from './faults.ts';
import { json, type Reply } from './reply.ts';
import type { Incoming } from './routes.ts';
import type { SimServer } from './server.ts';

/**
 * The simulator's own routes: `POST /sim/faults` changes a server's faults, `GET /sim/faults` shows them, and
 * `GET /sim/truth?from=&to=` tells what it really did. `?server=NAME` means another server of the same fleet.
 */
export async function answerAdmin(incoming: Incoming, own: SimServer, peers: readonly SimServer[]): Promise<Reply> {
  const name = incoming.query.get('server');
  const server = name === null ? own : peers.find((peer) => peer.name === name);
  if (server === undefined) return fault(404, `no server "${name}"; the fleet has ${peers.map((peer) => peer.name)}`);
  const route = `${incoming.method} ${incoming.path}`;
  if (route === 'POST /sim/faults') return changeFaults(server, incoming.body);
  if (route === 'GET /sim/faults') return json(server.faults.state);
  if (route === 'GET /sim/truth') return showTruth(server, incoming.query);
  return fault(404, `no ${route}; there are GET and POST /sim/faults and GET /sim/truth`);
}

const fault = (status: number, error: string): Reply => json({ error }, status);

async function changeFaults(server: SimServer, body: string): Promise<Reply> {
  const change = readObject(body);
  if (isReply(change)) return change;
  const wrong = faultOfChange(change);
  if (wrong !== null) return fault(400, wrong);
  await server.faults.set(change);
  return json(server.faults.state);
}

function showTruth(server: SimServer, query: URLSearchParams): Reply {
  const truth = server.truth();
  const { tokensBetween: _between, rate: _rate, inFlight: _inFlight, ...figures } = truth;
  const from = Number(query.get('from') ?? truth.firstBucketMs);
  const to = Number(query.get('to') ?? truth.firstBucketMs + truth.buckets.length * truth.bucketMs);
  if (!(to > from))
    return fault(400, `from ${query.get('from')} to ${query.get('to')} is no interval of epoch milliseconds`);
  const interval = {
    from,
    to,
    tokens: truth.tokensBetween(from, to),
    rate: truth.rate(from, to),
    inFlight: truth.inFlight(from, to),
  };
  return json({ server: server.name, ...figures, interval });
}
