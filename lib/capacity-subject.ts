/** What answered: model, engine, version and the arguments that change speed; picked by name, since /server_info shows keys. */
import { isRecord, type JsonRecord } from './protocol-json.ts';

/** The parsed answers of a server's information routes; null where the route does not exist. */
export interface ServerReplies {
  /** /server_info, or /get_server_info of older servers. */
  readonly serverInfo: unknown | null;
  /** /v1/loads, or /get_load of older servers. */
  readonly loads: unknown | null;
  /** /v1/models. */
  readonly models: unknown | null;
}

export type Engine = 'sglang' | 'vllm' | 'llama.cpp' | 'unknown';

/** Null means that the server does not tell; "none" that it says there is none. A type, so that it fits a JSON record. */
export type Subject = {
  readonly model: string | null;
  readonly servedModel: string | null;
  readonly engine: Engine;
  readonly version: string | null;
  readonly dtype: string | null;
  readonly quantization: string | null;
  readonly kvCacheDtype: string | null;
  readonly tp: number | null;
  readonly dp: number | null;
  readonly pp: number | null;
  readonly pageSize: number | null;
  readonly radixCache: boolean | null;
  /** Tokens a prefill pass may take; -1 is off. */
  readonly chunkedPrefill: number | null;
  readonly speculation: string | null;
  readonly attentionBackend: string | null;
  readonly graphs: string | null;
  readonly accelerator: string | null;
};

/** A subject as a result file has it. */
type SubjectRecord = Readonly<Record<string, string | number | boolean | null>>;

// Never seeds, ports, start times or served names; the accelerator is absent from most answers.
const COMPARED = [
  'engine',
  'model',
  'version',
  'dtype',
  'quantization',
  'kvCacheDtype',
  'tp',
  'dp',
  'pp',
  'pageSize',
  'radixCache',
  'chunkedPrefill',
  'speculation',
  'attentionBackend',
  'graphs',
] as const satisfies readonly (keyof Subject)[];

/** The fields that make two servers unlike, as "version: 0.5.23 / 0.5.24". */
export function subjectDifferences(a: SubjectRecord, b: SubjectRecord): readonly string[] {
  return COMPARED.filter((key) => a[key] !== b[key]).map(
    (key) => `${key}: ${a[key] ?? 'unknown'} / ${b[key] ?? 'unknown'}`,
  );
}

/** True for the simulated fleet: its results must say so everywhere. */
export function isSimulated(subject: Subject): boolean {
  return subject.version?.includes('+simulated') ?? false;
}

/** The first model of /v1/models: adapters follow the model they belong to. */
export function firstModel(models: unknown): JsonRecord {
  const data = isRecord(models) ? models['data'] : undefined;
  const first: unknown = Array.isArray(data) ? data[0] : undefined;
  return isRecord(first) ? first : {};
}

/** The resolved arguments of each dp rank, where the server tells them. */
export function internalStates(serverInfo: unknown): readonly JsonRecord[] {
  const states = isRecord(serverInfo) ? serverInfo['internal_states'] : undefined;
  return Array.isArray(states) ? states.filter(isRecord) : [];
}

export function subjectOf(replies: ServerReplies): Subject {
  const info: JsonRecord = isRecord(replies.serverInfo) ? replies.serverInfo : {};
  const loads: JsonRecord = isRecord(replies.loads) ? replies.loads : {};
  const card = firstModel(replies.models);
  // Resolved inside the scheduler first, then as given at the start.
  const settings: JsonRecord = { ...info, ...withoutNulls(internalStates(info)[0] ?? {}) };
  const isRadixOff = settings['disable_radix_cache'];
  return {
    model: text(info['model_path']) ?? text(card['root']) ?? text(card['id']),
    servedModel: text(card['id']) ?? text(info['served_model_name']),
    engine: engineOf(card, info),
    version: text(info['version']) ?? text(loads['version']),
    dtype: text(settings['dtype']),
    quantization: textOrNone(settings, 'quantization'),
    kvCacheDtype: text(settings['kv_cache_dtype']),
    tp: number(settings['tp_size']),
    dp: number(settings['dp_size']),
    pp: number(settings['pp_size']),
    pageSize: number(settings['page_size']),
    radixCache: typeof isRadixOff === 'boolean' ? !isRadixOff : null,
    chunkedPrefill: number(settings['chunked_prefill_size']),
    speculation: speculationOf(settings),
    attentionBackend: attentionOf(settings),
    graphs: graphsOf(settings),
    accelerator: text(loads['accelerator']),
  };
}

const ENGINES: Readonly<Record<string, Engine>> = { sglang: 'sglang', vllm: 'vllm', llamacpp: 'llama.cpp' };

function engineOf(card: JsonRecord, info: JsonRecord): Engine {
  const owner = text(card['owned_by']);
  const known = owner === null ? undefined : ENGINES[owner];
  // Every SGLang server has internal_states, under a gateway that renames the owner too.
  return known ?? ('internal_states' in info ? 'sglang' : 'unknown');
}

function speculationOf(settings: JsonRecord): string | null {
  const algorithm = textOrNone(settings, 'speculative_algorithm');
  if (algorithm === null || algorithm === 'none') return algorithm;
  const details = [
    ['steps', number(settings['speculative_num_steps'])],
    ['top-k', number(settings['speculative_eagle_topk'])],
    ['draft tokens', number(settings['speculative_num_draft_tokens'])],
    ['draft model', text(settings['speculative_draft_model_path'])],
  ] as const;
  return [algorithm, ...details.flatMap(([name, value]) => (value === null ? [] : [`${name} ${value}`]))].join(', ');
}

function attentionOf(settings: JsonRecord): string | null {
  const both = text(settings['attention_backend']);
  const prefill = text(settings['prefill_attention_backend']);
  const decode = text(settings['decode_attention_backend']);
  if (prefill === null && decode === null) return both;
  return `prefill ${prefill ?? both ?? 'unknown'}, decode ${decode ?? both ?? 'unknown'}`;
}

function graphsOf(settings: JsonRecord): string | null {
  if (settings['disable_cuda_graph'] === true) return 'off';
  const config = settings['cuda_graph_config'];
  const decode = isRecord(config) && isRecord(config['decode']) ? config['decode'] : {};
  const backend = text(decode['backend']);
  if (backend === 'disabled') return 'off';
  const largest = number(decode['max_bs']) ?? number(settings['cuda_graph_max_bs']);
  if (largest !== null) return `${backend ?? 'on'}, batch up to ${largest}`;
  return settings['disable_cuda_graph'] === false ? (backend ?? 'on') : null;
}

function withoutNulls(record: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}

function textOrNone(record: JsonRecord, key: string): string | null {
  return record[key] === null ? 'none' : text(record[key]);
}

const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** A model may be named by a URL: nothing of its credentials or its signature may reach a result. */
function text(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  return value.includes('://') ? value.replace(/\/\/[^/]*@/, '//').replace(/[?#].*$/, '') : value;
}
