/** The one table of settings: names, kinds, defaults and what each is for. Parser, `--help` and README are made from it. */
import { type ServerSpec, servers } from './servers.ts';
import { choice, decimal, headers, type Kind, listOf, secret, text, toggle, wholeNumber } from './setting-kinds.ts';

/** Where a setting may be given. */
export type Source = 'flag' | 'environment' | 'file';

export interface SettingSpec<T = unknown> {
  /** Key in the configuration file; the flag and the variable are the same words in their own spelling. */
  readonly name: string;
  readonly environment: string;
  readonly flag: string;
  /** One sentence without a full stop, for `--help` and README. */
  readonly description: string;
  readonly kind: Kind<T>;
  /** What holds where the setting is not given. */
  readonly fallback: T;
  /** The fallback in words. */
  readonly default: string;
  /** A valid value, for messages. */
  readonly example: string;
  readonly sources: readonly Source[];
  readonly isSecret: boolean;
  readonly isPath: boolean;
  readonly isToggle: boolean;
}

type Row<T> = Pick<SettingSpec<T>, 'kind' | 'fallback' | 'description' | 'example'> &
  Partial<Pick<SettingSpec<T>, 'default' | 'sources' | 'isSecret' | 'isPath' | 'isToggle'>>;

const MOST_LEVELS = 16; // level tags are l0 to l15

function row<T>(name: string, given: Row<T>): SettingSpec<T> {
  const words = name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
  return {
    name,
    environment: `TOKRAMP_${words.toUpperCase().replaceAll('-', '_')}`,
    flag: `--${words}`,
    default: String(given.fallback),
    sources: ['flag', 'environment', 'file'],
    isSecret: false,
    isPath: false,
    isToggle: false,
    ...given,
  };
}

const on = (name: string, description: string): SettingSpec<boolean> =>
  row(name, { kind: toggle(), fallback: true, default: 'on', isToggle: true, example: 'false', description });

const off = (name: string, description: string): SettingSpec<boolean> =>
  row(name, { kind: toggle(), fallback: false, default: 'off', isToggle: true, example: 'true', description });

const path = (name: string, of: Pick<Row<string | null>, 'description' | 'default' | 'example' | 'sources'>) =>
  row<string | null>(name, {
    kind: text({ placeholder: 'PATH', rule: 'a path', pattern: /\S/, repair: () => '' }),
    fallback: null,
    isPath: true,
    ...of,
  });

/** Every setting by its name, in the order in which people meet them. */
export type SettingTable = ReturnType<typeof settingTable>;

/**
 * Makes the table. A function, because k6 evaluates the top level of a bundle for each VU and the table takes 0.14 MB: with
 * 512 VUs that was 70 MB.
 */
export function settingTable() {
  return {
    servers: row<readonly ServerSpec[]>('servers', {
      kind: servers(),
      fallback: [],
      default: 'none: required',
      example: 'http://10.0.0.5:30000,http://10.0.0.6:30000',
      description: 'SGLang servers that load is sent to; names default to s0, s1, ..., gpus to 1',
    }),
    api: row<'generate' | 'completions' | 'chat'>('api', {
      kind: choice(['generate', 'completions', 'chat']),
      fallback: 'generate',
      example: 'generate',
      description: 'Route that requests go to: /generate, /v1/completions or /v1/chat/completions',
    }),
    model: row<string | null>('model', {
      kind: text({
        placeholder: 'NAME',
        rule: 'a text on one line',
        pattern: /^[\S ]+$/,
        repair: (value) => value.replace(/\s+/g, ' ').trim(),
      }),
      fallback: null,
      default: 'what the server reports',
      example: 'Qwen/Qwen3-8B',
      description: 'Model named in requests to the OpenAI routes',
    }),
    apiKey: row<string | null>('apiKey', {
      kind: secret(),
      fallback: null,
      default: 'none',
      example: 'a key',
      sources: ['environment'],
      isSecret: true,
      description: 'Key sent as "Authorization: Bearer"; never stored or shown',
    }),
    headers: row('headers', {
      kind: headers(),
      fallback: {},
      default: 'none',
      example: '{"X-Team":"batch"}',
      sources: ['environment'],
      isSecret: true,
      description: 'Further headers of every request, as a JSON object; never stored or shown',
    }),
    tlsInsecure: off('tlsInsecure', 'Accept any TLS certificate of the servers'),
    maxTokens: row('maxTokens', {
      kind: wholeNumber({ min: 1, unit: 'tokens' }),
      fallback: 1024,
      example: '1024',
      description: 'Output tokens asked for in each request',
    }),
    stop: row<'fixed' | 'natural'>('stop', {
      kind: choice(['fixed', 'natural']),
      fallback: 'fixed',
      example: 'fixed',
      description:
        'fixed: every answer has exactly the tokens asked for (ignore_eos); natural: the model may stop earlier',
    }),
    inputTokens: row<number | null>('inputTokens', {
      kind: wholeNumber({ min: 1, unit: 'tokens' }),
      fallback: null,
      default: 'length of the built-in prompts',
      example: '512',
      description: 'Exact input length of every request; only with api generate',
    }),
    prompts: path('prompts', {
      default: 'built-in, each unique',
      example: 'prompts.jsonl',
      description: 'File of prompts, one JSON a line: a text or OpenAI messages',
    }),
    levels: row<readonly number[] | null>('levels', {
      kind: listOf(wholeNumber({ min: 1, max: 100_000, unit: 'requests' }), { most: MOST_LEVELS, ascending: true }),
      fallback: null,
      default: '1, 2, 4, ... up to the limit',
      example: '1,2,4,8',
      description: 'Requests held in flight per server, level by level; also decides where they and the limit disagree',
    }),
    limit: row<number | null>('limit', {
      kind: wholeNumber({ min: 1, max: 100_000, unit: 'requests' }),
      fallback: null,
      default: 'asked from the servers',
      example: '37',
      description: 'Most requests that one server holds at once without queueing',
    }),
    requestSeconds: row<readonly number[] | null>('requestSeconds', {
      kind: listOf(decimal({ min: 0.001, unit: 'seconds' }), { most: MOST_LEVELS, ascending: false }),
      fallback: null,
      default: 'measured by discover',
      example: '2.1',
      description:
        'R, the duration of one request: one number for all levels or one for each; only for a ramp without a plan',
    }),
    overLimit: on('overLimit', 'Add one level at 1.25 times the limit, which shows whether the limit is the knee'),
    hold: row('hold', {
      kind: decimal({ min: 2.2, max: 100, unit: 'R' }),
      fallback: 3,
      example: '3',
      description: 'Time at each level, in durations of one request (R)',
    }),
    closingBaseline: on('closingBaseline', 'Measure level 1 once more at the end, which shows drift'),
    timeout: row<number | null>('timeout', {
      kind: decimal({ min: 1, unit: 'seconds' }),
      fallback: null,
      default: 'the larger of 60 s and 3 R',
      example: '120',
      description: 'Time after which a request counts as timed out',
    }),
    maxMinutes: row<number | null>('maxMinutes', {
      kind: decimal({ min: 0.1, unit: 'minutes' }),
      fallback: null,
      default: 'no bound',
      example: '30',
      description: 'Refuse, before any load, a plan that takes longer',
    }),
    wait: row('wait', {
      kind: decimal({ min: 0, unit: 'seconds' }),
      fallback: 0,
      example: '300',
      description: 'Time to wait at the start for servers that are not ready or not idle',
    }),
    minServers: row<number | null>('minServers', {
      kind: wholeNumber({ min: 1, unit: 'servers' }),
      fallback: null,
      default: 'all',
      example: '7',
      description: 'Go on if at least this many servers are well; the sum of the fleet is refused if any is missing',
    }),
    cacheIsolation: off('cacheIsolation', 'Give each request a cache key of its own, so that no prefix is shared'),
    plan: path('plan', {
      default: 'results/plan.json',
      example: 'results/plan.json',
      description: 'Plan that discover writes and ramp follows',
    }),
    results: path('results', {
      default: 'results',
      example: 'results',
      description: 'Folder that results are written to; it must exist',
    }),
    runName: row<string | null>('runName', {
      kind: text({
        placeholder: 'NAME',
        rule: '1 to 64 of A-Z, a-z, 0-9, ".", "_" and "-"',
        pattern: /^[A-Za-z0-9._-]{1,64}$/,
        repair: (value) => value.replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 64),
      }),
      fallback: null,
      default: 'none',
      example: 'nightly-h100',
      description: 'Name of the run, part of its id and of every file it writes',
    }),
    config: path('config', {
      default: 'tokramp.json, if there is one',
      example: 'tokramp.json',
      sources: ['flag', 'environment'],
      description: 'JSON file that holds settings by the names in this table',
    }),
  };
}

/** The settings as a list, for Node; pure, so that bundles for k6 leave it out. */
export const SETTINGS: readonly SettingSpec[] = /* @__PURE__ */ listSettings();

function listSettings(): readonly SettingSpec[] {
  return Object.values(settingTable());
}
