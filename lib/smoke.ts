import { type Doors, examineFleet, faultOr } from './fleet.ts';
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

const SMOKE_TOKENS = 16;
const TIMEOUT_SECONDS = 300;

/** One short request to every server, every answer checked; or every fault of every server. */
export async function smokeFleet(
  settings: Settings,
  doors: Doors,
): Promise<
  { readonly lines: readonly SmokeLine[]; readonly notes: readonly string[] } | { readonly faults: readonly string[] }
> {
  const fleet = await examineFleet(settings, doors);
  if ('faults' in fleet) return fleet;
  const checked = await Promise.all(
    fleet.ready.map(({ server, capacity }) =>
      faultOr(server.name, async (): Promise<SmokeLine> => {
        const send = doors.send(server, capacity.subject.servedModel);
        const maxTokens = Math.min(SMOKE_TOKENS, settings.maxTokens);
        const answer = answered(await send({ maxTokens, timeoutSeconds: settings.timeoutSeconds ?? TIMEOUT_SECONDS }));
        const tokens = tokensOf(answer.outcome);
        const engine = `${capacity.subject.engine} ${capacity.subject.version ?? ''}`.trim();
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
  const faults = checked.flatMap((entry) => ('fault' in entry ? [entry.fault] : []));
  if (faults.length > 0) return { faults };
  return { lines: checked.flatMap((entry) => ('value' in entry ? [entry.value] : [])), notes: fleet.notes };
}

export function renderSmoke(lines: readonly SmokeLine[]): string {
  const rows = lines.map(
    (line) =>
      `  ${line.name}  ok  ${line.outputTokens} output tokens for ${line.promptTokens} input tokens in ${line.seconds.toFixed(2)} s  ${line.engine}`,
  );
  return `${['Smoke: every server answered one request as it must', ...rows].join('\n')}\n`;
}
