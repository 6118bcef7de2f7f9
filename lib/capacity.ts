/** What a server says of itself: how many tokens and requests it holds, and the limit that follows for given lengths. */
import { firstModel, internalStates, type ServerReplies, type Subject, subjectOf } from './capacity-subject.ts';
import { countAt, isRecord, type JsonRecord } from './protocol-json.ts';

export { isSimulated, type ServerReplies, type Subject, subjectDifferences } from './capacity-subject.ts';

export interface Capacity {
  /** KV-cache token slots (M), summed over the dp ranks. */
  readonly kvTokens: number | null;
  /** Most requests that run at once as the scheduler resolved it, summed over the dp ranks. */
  readonly maxRunning: number | null;
  readonly contextTokens: number | null;
  readonly pageSize: number;
  readonly ranks: number;
  readonly running: number | null;
  readonly queued: number | null;
  readonly subject: Subject;
  readonly notes: readonly string[];
}

/** One place where a server tells a number of each of its dp ranks. */
interface Source {
  readonly place: string;
  readonly values: readonly (number | null)[];
}

export function capacityOf(replies: ServerReplies): Capacity {
  const info: JsonRecord = isRecord(replies.serverInfo) ? replies.serverInfo : {};
  const states = internalStates(info);
  const loads = loadsOf(replies.loads);
  const ranks = count(info, 'dp_size') ?? Math.max(1, states.length, loads.length);
  const notes: string[] = [];
  const each = (place: string, records: readonly JsonRecord[], key: string): Source => ({
    place,
    values: records.map((record) => count(record, key)),
  });
  const kvTokens = agreedTotal(
    [
      each('/server_info max_total_num_tokens', [info], 'max_total_num_tokens'),
      each('/server_info token_capacity', states.map(memoryOf), 'token_capacity'),
      each('/v1/loads max_total_num_tokens', loads, 'max_total_num_tokens'),
    ],
    { ranks, notes },
  );
  // Not /server_info's own max_running_requests: that is what was asked for at the start, not what the scheduler made of it.
  const maxRunning = agreedTotal(
    [
      each('/server_info effective_max_running_requests_per_dp', states, 'effective_max_running_requests_per_dp'),
      each('/v1/loads max_running_requests', loads, 'max_running_requests'),
    ],
    { ranks, notes },
  );
  const asked = count(info, 'max_running_requests');
  if (asked !== null && maxRunning === null) {
    notes.push(
      `max_running_requests ${asked} is only what was asked for at the start; the effective number is not told`,
    );
  }
  if (asked !== null && maxRunning !== null && asked !== maxRunning) {
    notes.push(`max_running_requests: ${asked} asked for at the start, ${maxRunning} effective`);
  }
  const pageSize = count(states[0] ?? {}, 'page_size') ?? count(info, 'page_size');
  if (pageSize === null && kvTokens !== null) notes.push('page size not told: 1 assumed');
  return {
    kvTokens,
    maxRunning,
    contextTokens: contextOf(replies.models, info),
    pageSize: pageSize ?? 1,
    ranks,
    ...queueOf(loads),
    subject: subjectOf(replies),
    notes,
  };
}

/** Several places may tell the same number: the smallest counts, and that they differ is worth a note. */
function agreedTotal(
  sources: readonly Source[],
  context: { readonly ranks: number; readonly notes: string[] },
): number | null {
  const totals: { readonly place: string; readonly total: number }[] = [];
  for (const { place, values } of sources) {
    const told = values.filter((value) => value !== null);
    if (told.length === 0) continue;
    const least = Math.min(...told);
    if (told.some((value) => value !== least)) context.notes.push(`${place} differs between ranks: ${told.join(', ')}`);
    const isPerRank = told.length === context.ranks;
    totals.push({ place, total: isPerRank ? told.reduce((sum, value) => sum + value, 0) : least * context.ranks });
  }
  if (totals.length === 0) return null;
  const least = Math.min(...totals.map(({ total }) => total));
  if (totals.some(({ total }) => total !== least)) {
    context.notes.push(`${totals.map(({ place, total }) => `${place} ${total}`).join(', ')}: the smallest is used`);
  }
  return least;
}

function contextOf(models: unknown, info: JsonRecord): number | null {
  const card = firstModel(models);
  const meta = card['meta'];
  // llama.cpp tells the context of one slot there.
  const ofSlot = isRecord(meta) ? count(meta, 'n_ctx') : null;
  return count(card, 'max_model_len') ?? ofSlot ?? count(info, 'context_length');
}

/** One record per dp rank, from /v1/loads or from the bare list of the older /get_load. */
function loadsOf(loads: unknown): readonly JsonRecord[] {
  const list = isRecord(loads) ? loads['loads'] : loads;
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

function queueOf(loads: readonly JsonRecord[]): { readonly running: number | null; readonly queued: number | null } {
  const sum = (of: (load: JsonRecord) => number | null): number | null => {
    const values = loads.map(of).filter((value) => value !== null);
    return values.length === 0 ? null : values.reduce((total, value) => total + value, 0);
  };
  const waiting = (load: JsonRecord): number | null => count(load, 'num_waiting_reqs', 0);
  const running = (load: JsonRecord): number | null => {
    const all = count(load, 'num_reqs', 0);
    const inQueue = waiting(load);
    const older = all === null || inQueue === null ? null : all - inQueue;
    return count(load, 'num_running_reqs', 0) ?? older;
  };
  return { running: sum(running), queued: sum(waiting) };
}

function memoryOf(state: JsonRecord): JsonRecord {
  const memory = state['memory_usage'];
  return isRecord(memory) ? memory : {};
}

function count(record: JsonRecord, key: string, least: 0 | 1 = 1): number | null {
  const read = countAt(record, key, { path: '', least });
  return 'value' in read ? read.value : null;
}

/** Most requests a server holds without queueing or retraction, and what binds there. */
export interface Limit {
  readonly requests: number;
  readonly pool: 'KV' | 'max running' | 'context' | 'given';
}

/** Why there is no limit, in one line that says what to do. */
export interface LimitProblem {
  readonly problem: string;
}

/** SGLang keeps two positions of the context free and cuts longer answers without a word (sglang.md 11, point 2). */
const SGLANG_KEEPS_FREE = 2;
/** SGLang refuses prompts of min(context, M) - 6 tokens or more (same place). */
const SGLANG_PROMPT_MARGIN = 6;

/** min(effective max running, floor((M - 1) / (ceilPage(P) + O + page))) of one dp rank, times the ranks. */
export function limitOf(
  capacity: Capacity,
  lengths: { readonly promptTokens: number; readonly outputTokens: number },
): Limit | LimitProblem {
  const tooLong = tooLongFor(capacity, lengths);
  if (tooLong !== null) return { problem: tooLong };
  const { kvTokens, maxRunning, pageSize, ranks } = capacity;
  if (kvTokens === null || maxRunning === null) {
    const missing = [
      ...(kvTokens === null ? ['its KV tokens'] : []),
      ...(maxRunning === null ? ['its effective max running requests'] : []),
    ].join(' and ');
    return { problem: `the server does not tell ${missing}; set TOKRAMP_LIMIT to the most requests it holds at once` };
  }
  const slots = Math.ceil(lengths.promptTokens / pageSize) * pageSize + lengths.outputTokens + pageSize;
  const byKv = Math.floor((Math.floor(kvTokens / ranks) - 1) / slots);
  const byRunning = Math.floor(maxRunning / ranks);
  if (byKv < 1) {
    return {
      problem: `${requestText(lengths)} needs ${slots} KV tokens, the pool of one rank has ${Math.floor(kvTokens / ranks)}; ask for fewer tokens`,
    };
  }
  if (byRunning < 1)
    return { problem: `max running requests ${maxRunning} is less than the ${ranks} dp ranks; set TOKRAMP_LIMIT` };
  return { requests: Math.min(byKv, byRunning) * ranks, pool: byKv < byRunning ? 'KV' : 'max running' };
}

function tooLongFor(
  { contextTokens, kvTokens, ranks, subject }: Capacity,
  lengths: { readonly promptTokens: number; readonly outputTokens: number },
): string | null {
  const isSglang = subject.engine === 'sglang';
  const total = lengths.promptTokens + lengths.outputTokens;
  const free = isSglang ? SGLANG_KEEPS_FREE : 0;
  if (contextTokens !== null && total > contextTokens - free) {
    const kept = isSglang ? ` (SGLang keeps ${free} of them free)` : '';
    return `${requestText(lengths)} does not fit into the context of ${contextTokens} tokens${kept}; ask for fewer tokens`;
  }
  if (!isSglang) return null;
  const room = Math.min(
    contextTokens ?? Number.POSITIVE_INFINITY,
    Math.floor((kvTokens ?? Number.POSITIVE_INFINITY) / ranks),
  );
  if (lengths.promptTokens < room - SGLANG_PROMPT_MARGIN) return null;
  const longest = room - SGLANG_PROMPT_MARGIN - 1;
  return `a prompt of ${lengths.promptTokens} tokens is refused by the server, which takes at most ${longest}; ask for fewer tokens`;
}

const requestText = (lengths: { readonly promptTokens: number; readonly outputTokens: number }): string =>
  `a request of ${lengths.promptTokens} + ${lengths.outputTokens} tokens`;
