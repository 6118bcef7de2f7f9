import type { RunContext } from './summary.ts';

/** What a VU needs to know of a server that setup() looked at. */
export interface Place {
  readonly name: string;
  readonly absent: boolean;
  readonly servedModel: string | null;
}

/** What setup() returns: every VU decodes a copy, so all that only the summary needs stays a text in it. */
export interface SetupData {
  readonly runId: string;
  readonly places: readonly Place[];
  readonly context: string;
}

export function setupDataOf(context: RunContext): SetupData {
  const places = context.servers.map(({ name, absent, subject }) => {
    const model = subject?.['servedModel'];
    return { name, absent: absent !== null, servedModel: typeof model === 'string' ? model : null };
  });
  return { runId: context.runId, places, context: JSON.stringify(context) };
}

export const contextOf = (data: SetupData): RunContext => JSON.parse(data.context) as RunContext;
