import { type Doors, examineFleet, faultOr, valuesOrFaults } from './fleet.ts';
import { printable } from './format.ts';
import type { Settings } from './settings.ts';
import { answered, tokensOf } from './warm-up.ts';

/** One checked answer of one server. */
export interface SmokeLine {
  readonly name: string;
  readonly seconds: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly engine: string;
}

/** What smoke found; missing servers are those that the settings allow to be missing. */
export interface SmokeReport {
  readonly lines: readonly SmokeLine[];
  readonly missing: readonly { readonly name: string; readonly fault: string }[];
}

const SMOKE_TOKENS = 16;
const TIMEOUT_SECONDS = 300;

/** One short request to every server, every answer checked; or every fault of every server. */
export async function smokeFleet(
  settings: Settings,
  doors: Doors,
): Promise<(SmokeReport & { readonly notes: readonly string[] }) | { readonly faults: readonly string[] }> {
  const fleet = await examineFleet(settings, doors);
  if ('faults' in fleet) return fleet;
  const checked = await valuesOrFaults(
    fleet.ready.map(({ server, capacity }) =>
      faultOr(server.name, async (): Promise<SmokeLine> => {
        const send = doors.send(server, capacity.subject.servedModel);
        const maxTokens = Math.min(SMOKE_TOKENS, settings.maxTokens);
        const answer = answered(await send({ maxTokens, timeoutSeconds: settings.timeoutSeconds ?? TIMEOUT_SECONDS }));
        const tokens = tokensOf(answer.outcome);
        const engine = printable(`${capacity.subject.engine} ${capacity.subject.version ?? ''}`.trim());
        return {
          name: server.name,
          seconds: answer.seconds,
          promptTokens: tokens.prompt,
          outputTokens: tokens.output,
          engine,
        };
      }),
    ),
  );
  if ('faults' in checked) return checked;
  const missing = fleet.missing.map(({ server, fault }) => ({ name: server.name, fault }));
  return { lines: checked.values, missing, notes: fleet.notes };
}

/** What smoke found, as terminal text. */
export function renderSmoke({ lines, missing }: SmokeReport): string {
  const rows = lines.map(
    (line) =>
      `  ${line.name}  ok  ${line.outputTokens} output tokens for ${line.promptTokens} input tokens in ${line.seconds.toFixed(2)} s  ${line.engine}`,
  );
  const who = missing.length === 0 ? 'every server' : `${lines.length} of ${lines.length + missing.length} servers`;
  const absent = missing.map(({ name, fault }) => `  ${name}  missing  ${fault}`);
  return `${[`Smoke: ${who} answered one request as it must`, ...rows, ...absent].join('\n')}\n`;
}
