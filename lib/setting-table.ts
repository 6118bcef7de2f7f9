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
  readonly kind: Kind<T>;
  /** What holds where the setting is not given. */
  readonly fallback: T;
  /** A valid value, for messages. */
  readonly example: string;
  readonly sources: readonly Source[];
  readonly isSecret: boolean;
  readonly isPath: boolean;
  readonly isToggle: boolean;
}

type Row<T> = Pick<SettingSpec<T>, 'kind' | 'fallback' | 'example'> &
  Partial<Pick<SettingSpec<T>, 'sources' | 'isSecret' | 'isPath' | 'isToggle'>>;

const MOST_LEVELS = 16; // level tags are l0 to l15

function row<T>(name: string, given: Row<T>): SettingSpec<T> {
  const words = name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
  return {
    name,
    environment: `TOKRAMP_${words.toUpperCase().replaceAll('-', '_')}`,
    flag: `--${words}`,
    sources: ['flag', 'environment', 'file'],
    isSecret: false,
    isPath: false,
    isToggle: false,
    ...given,
  };
}

const on = (name: string): SettingSpec<boolean> =>
  row(name, { kind: toggle(), fallback: true, isToggle: true, example: 'false' });

const off = (name: string): SettingSpec<boolean> =>
  row(name, { kind: toggle(), fallback: false, isToggle: true, example: 'true' });

const path = (name: string, of: Pick<Row<string | null>, 'example' | 'sources'>) =>
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
      example: 'http://10.0.0.5:30000,http://10.0.0.6:30000',
    }),
    api: row<'generate' | 'completions' | 'chat'>('api', {
      kind: choice(['generate', 'completions', 'chat']),
      fallback: 'generate',
      example: 'generate',
    }),
    model: row<string | null>('model', {
      kind: text({
        placeholder: 'NAME',
        rule: 'a text on one line',
        pattern: /^[\S ]+$/,
        repair: (value) => value.replace(/\s+/g, ' ').trim(),
      }),
      fallback: null,
      example: 'Qwen/Qwen3-8B',
    }),
    apiKey: row<string | null>('apiKey', {
      kind: secret(),
      fallback: null,
      example: 'a key',
      sources: ['environment'],
      isSecret: true,
    }),
    headers: row('headers', {
      kind: headers(),
      fallback: {},
      example: '{"X-Team":"batch"}',
      sources: ['environment'],
      isSecret: true,
    }),
    tlsInsecure: off('tlsInsecure'),
    maxTokens: row('maxTokens', {
      kind: wholeNumber({ min: 1, unit: 'tokens' }),
      fallback: 1024,
      example: '1024',
    }),
    stop: row<'fixed' | 'natural'>('stop', {
      kind: choice(['fixed', 'natural']),
      fallback: 'fixed',
      example: 'fixed',
    }),
    inputTokens: row<number | null>('inputTokens', {
      kind: wholeNumber({ min: 1, unit: 'tokens' }),
      fallback: null,
      example: '512',
    }),
    prompts: path('prompts', {
      example: 'prompts.jsonl',
    }),
    levels: row<readonly number[] | null>('levels', {
      kind: listOf(wholeNumber({ min: 1, max: 100_000, unit: 'requests' }), { most: MOST_LEVELS, ascending: true }),
      fallback: null,
      example: '1,2,4,8',
    }),
    limit: row<number | null>('limit', {
      kind: wholeNumber({ min: 1, max: 100_000, unit: 'requests' }),
      fallback: null,
      example: '37',
    }),
    requestSeconds: row<readonly number[] | null>('requestSeconds', {
      kind: listOf(decimal({ min: 0.001, unit: 'seconds' }), { most: MOST_LEVELS, ascending: false }),
      fallback: null,
      example: '2.1',
    }),
    overLimit: on('overLimit'),
    hold: row('hold', {
      kind: decimal({ min: 2.2, max: 100, unit: 'R' }),
      fallback: 3,
      example: '3',
    }),
    closingBaseline: on('closingBaseline'),
    timeout: row<number | null>('timeout', {
      kind: decimal({ min: 1, unit: 'seconds' }),
      fallback: null,
      example: '120',
    }),
    maxMinutes: row<number | null>('maxMinutes', {
      kind: decimal({ min: 0.1, unit: 'minutes' }),
      fallback: null,
      example: '30',
    }),
    wait: row('wait', {
      kind: decimal({ min: 0, unit: 'seconds' }),
      fallback: 0,
      example: '300',
    }),
    minServers: row<number | null>('minServers', {
      kind: wholeNumber({ min: 1, unit: 'servers' }),
      fallback: null,
      example: '7',
    }),
    cacheIsolation: off('cacheIsolation'),
    plan: path('plan', {
      example: 'results/plan.json',
    }),
    results: path('results', {
      example: 'results',
    }),
    runName: row<string | null>('runName', {
      kind: text({
        placeholder: 'NAME',
        rule: '1 to 64 of A-Z, a-z, 0-9, ".", "_" and "-"',
        pattern: /^[A-Za-z0-9._-]{1,64}$/,
        repair: (value) => value.replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 64),
      }),
      fallback: null,
      example: 'nightly-h100',
    }),
    config: path('config', {
      example: 'tokramp.json',
      sources: ['flag', 'environment'],
    }),
  };
}

/** The settings as a list, for Node; pure, so that bundles for k6 leave it out. */
export const SETTINGS: readonly SettingSpec[] = /* @__PURE__ */ listSettings();

function listSettings(): readonly SettingSpec[] {
  return Object.values(settingTable());
}
