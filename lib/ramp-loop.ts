import { sleep } from 'k6';
import exec from 'k6/execution';
import { type AskSettings, askFor, endpointOf } from './ask.ts';
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
import type { ServerRecord } from './result.ts';
import type { ServerSpec } from './settings.ts';
import type { RunContext } from './summary.ts';

/** What every VU of a ramp holds: little, since there are hundreds of them. */
export interface RampVu {
  readonly ask: AskSettings;
  readonly timeoutSeconds: number;
  readonly levels: readonly LevelSchedule[];
}

/** One VU of a ramp: it holds one request in flight on its scenario's server, again and again. */
export function rampLoop(
  vu: RampVu,
  servers: ArrayLike<ServerSpec>,
  prompts: PromptSource,
): (context: RunContext) => void {
  const { ask: settings, levels, timeoutSeconds } = vu;
  const reportLevel = levelReporter(levels);
  let place: Place | null = null;
  let failuresInARow = 0;
  return (context) => {
    const origin = exec.scenario.startTime;
    if (place === null) {
      place = placeOf(servers, context);
      metrics.scenarioStart.add(origin, { server: place.server.name });
    }
    const { server, record } = place;
    const { name } = server;
    if (record.absent !== null) {
      sleep(1);
      return;
    }
    reportLevel(levelOf((Date.now() - origin) / 1000, levels).tag, context);

    const index = exec.scenario.iterationInTest;
    const ask = askFor(settings, prompts, {
      server: name,
      index,
      nonce: context.runId,
      servedModel: servedModelOf(record),
    });
    metrics.requestsStarted.add(1, { server: name });
    const exchange = post(endpointOf(server, settings), requestOf(ask), timeoutSeconds);
    const outcome = outcomeOf(ask, exchange.reply);
    recordRequest(name, outcome, exchange, { origin, levels });
    failuresInARow = 'tokens' in outcome ? 0 : failuresInARow + 1;
    if (failuresInARow === 1 && 'reason' in outcome) console.warn(`${name}: ${outcome.state}, ${outcome.reason}`);
    if (failuresInARow > 0) sleep(backOffSeconds(failuresInARow));
  };
}

interface Place {
  readonly server: ServerSpec;
  readonly record: ServerRecord;
}

/** The server of this VU's scenario, in the settings and as setup() found it. */
function placeOf(servers: ArrayLike<ServerSpec>, context: RunContext | undefined): Place {
  const name = __ENV[SERVER_VARIABLE] ?? '';
  for (let index = 0; index < servers.length; index += 1) {
    const server = servers[index];
    const record = context?.servers.find((entry) => entry.name === name);
    if (server?.name === name && record !== undefined) return { server, record };
  }
  return abort([`setup() told nothing about server "${name}": run without --no-setup`]);
}

function servedModelOf(record: ServerRecord): string | null {
  const model = record.subject?.['servedModel'];
  return typeof model === 'string' ? model : null;
}

/** Says when a level begins, from the one VU that sent the fleet's first request. */
function levelReporter(levels: readonly LevelSchedule[]): (tag: string, context: RunContext) => void {
  let speaks: boolean | null = null;
  let last = '';
  return (tag, context) => {
    const present = context.servers.filter((entry) => entry.absent === null);
    speaks ??= exec.scenario.iterationInTest === 0 && present[0]?.name === __ENV[SERVER_VARIABLE];
    if (!speaks || tag === last) return;
    last = tag;
    const level = levels.find((entry) => entry.tag === tag);
    if (level !== undefined) console.info(levelLine(level, levels, present.length));
  };
}
