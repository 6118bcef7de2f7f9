import { sleep } from 'k6';
import exec from 'k6/execution';
import { type AskSettings, askFor, type Endpoint, endpointOf, withoutSecrets } from './ask.ts';
import { levelOf } from './attribution.ts';
import { backOffSeconds } from './back-off.ts';
import { abort } from './k6.ts';
import { metrics } from './metrics.ts';
import type { LevelSchedule } from './plan.ts';
import { levelLine } from './progress.ts';
import type { PromptSource } from './prompts.ts';
import { outcomeOf, requestOf } from './protocol.ts';
import { recordRequest } from './record.ts';
import { SERVER_VARIABLE } from './registry.ts';
import { post } from './request.ts';
import type { ServerSpec } from './settings.ts';
import type { Place, SetupData } from './setup-data.ts';

/** What every VU of a ramp holds: little, since there are hundreds of them. */
export interface RampVu {
  readonly ask: AskSettings;
  readonly timeoutSeconds: number;
  readonly levels: readonly LevelSchedule[];
}

/** One VU of a ramp: it holds one request in flight on its scenario's server, again and again. */
export function rampLoop(vu: RampVu, servers: ArrayLike<ServerSpec>, prompts: PromptSource): (data: SetupData) => void {
  const { ask: settings, levels, timeoutSeconds } = vu;
  const reportLevel = levelReporter(levels);
  let target: Target | null = null;
  let failuresInARow = 0;
  return (data) => {
    const origin = exec.scenario.startTime;
    if (target === null) {
      target = targetOf(servers, data, settings);
      metrics.scenarioStart.add(origin, { server: target.name });
    }
    const { name, endpoint, servedModel, absent } = target;
    if (absent) {
      sleep(1);
      return;
    }
    reportLevel(origin, data);

    const index = exec.scenario.iterationInTest;
    const ask = askFor(settings, prompts, {
      server: name,
      index,
      nonce: data.runId,
      servedModel,
    });
    metrics.requestsStarted.add(1, { server: name });
    const exchange = post(endpoint, requestOf(ask), timeoutSeconds);
    const outcome = outcomeOf(ask, withoutSecrets(exchange.reply, settings));
    recordRequest(name, outcome, exchange, { origin, levels });
    failuresInARow = 'tokens' in outcome ? 0 : failuresInARow + 1;
    if (failuresInARow === 1 && 'reason' in outcome) console.warn(`${name}: ${outcome.state}, ${outcome.reason}`);
    if (failuresInARow > 0) sleep(backOffSeconds(failuresInARow));
  };
}

/** The server of a VU's scenario: worked out once, used at every request. */
interface Target extends Place {
  readonly endpoint: Endpoint;
}

/** The server of this VU's scenario, from the settings and as setup() found it. */
function targetOf(servers: ArrayLike<ServerSpec>, data: SetupData | undefined, settings: AskSettings): Target {
  const name = __ENV[SERVER_VARIABLE] ?? '';
  const place = data?.places.find((entry) => entry.name === name);
  for (let index = 0; place !== undefined && index < servers.length; index += 1) {
    const server = servers[index];
    if (server?.name !== name) continue;
    const { absent, servedModel } = place;
    return { name, absent, servedModel, endpoint: endpointOf(server, settings) };
  }
  return abort([`setup() told nothing about server "${name}": run without --no-setup`]);
}

/** Says when a level begins, from the one VU that sent the fleet's first request. */
function levelReporter(levels: readonly LevelSchedule[]): (origin: number, data: SetupData) => void {
  let speaks: boolean | null = null;
  let last = '';
  return (origin, data) => {
    if (speaks === false) return;
    const present = data.places.filter((entry) => !entry.absent);
    speaks ??= exec.scenario.iterationInTest === 0 && present[0]?.name === __ENV[SERVER_VARIABLE];
    const { tag } = levelOf((Date.now() - origin) / 1000, levels);
    if (!speaks || tag === last) return;
    last = tag;
    const level = levels.find((entry) => entry.tag === tag);
    if (level !== undefined) console.info(levelLine(level, levels, present.length));
  };
}
