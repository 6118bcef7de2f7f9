/** Flags, environment and file -> checked settings, or one ConfigError that names every fault. */
import { quote } from './quote.ts';
import type { ServerSpec } from './servers.ts';
import { conflictsOf } from './setting-conflicts.ts';
import { isObject, type ValueFault } from './setting-kinds.ts';
import { labelInFile, misplacedNames } from './setting-names.ts';
import { type SettingSpec, type SettingTable, settingTable } from './setting-table.ts';

export { type ServerSpec, safeUrl } from './servers.ts';

/** What a run is asked to do; the table of settings says what each field means. */
export interface Settings {
  readonly servers: readonly ServerSpec[];
  readonly api: 'generate' | 'completions' | 'chat';
  readonly model: string | null;
  readonly apiKey: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly tlsInsecure: boolean;
  readonly maxTokens: number;
  readonly stop: 'fixed' | 'natural';
  readonly inputTokens: number | null;
  readonly prompts: string | null;
  readonly levels: readonly number[] | null;
  readonly limit: number | null;
  readonly requestSeconds: readonly number[] | null;
  readonly overLimit: boolean;
  readonly hold: number;
  readonly closingBaseline: boolean;
  readonly timeoutSeconds: number | null;
  readonly maxMinutes: number | null;
  readonly waitSeconds: number;
  readonly minServers: number | null;
  readonly cacheIsolation: boolean;
  readonly plan: string | null;
  readonly results: string | null;
  readonly runName: string | null;
}

/** The configuration file as it was read. */
export interface SettingFile {
  readonly path: string;
  readonly text: string;
}

/** Where settings come from: flags win over the environment, the environment over the file. */
export interface SettingSources {
  /** Texts by setting name: `{ maxTokens: '64' }`. */
  readonly flags: Readonly<Record<string, string>>;
  /** All variables; only TOKRAMP_ names are looked at, and an empty text counts as not set. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly file: SettingFile | null;
}

/** The settings cannot be used; the message has every fault on a line of its own. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

/** Checks every value of every source, also those that another source overrules, and throws all faults as one ConfigError. */
export function parseSettings(sources: SettingSources): Settings {
  const table = settingTable();
  const faults: string[] = [];
  const entries = fileEntries(sources.file, faults);
  const given = new Given(sources, entries);
  faults.push(...misplacedNames(sources, entries, Object.values(table)));
  const settings: Settings = {
    servers: given.take(table.servers),
    api: given.take(table.api),
    model: given.take(table.model),
    apiKey: given.take(table.apiKey),
    headers: given.take(table.headers),
    tlsInsecure: given.take(table.tlsInsecure),
    maxTokens: given.take(table.maxTokens),
    stop: given.take(table.stop),
    inputTokens: given.take(table.inputTokens),
    prompts: given.take(table.prompts),
    levels: given.take(table.levels),
    limit: given.take(table.limit),
    requestSeconds: given.take(table.requestSeconds),
    overLimit: given.take(table.overLimit),
    hold: given.take(table.hold),
    closingBaseline: given.take(table.closingBaseline),
    timeoutSeconds: given.take(table.timeout),
    maxMinutes: given.take(table.maxMinutes),
    waitSeconds: given.take(table.wait),
    minServers: given.take(table.minServers),
    cacheIsolation: given.take(table.cacheIsolation),
    plan: given.take(table.plan),
    results: given.take(table.results),
    runName: given.take(table.runName),
  };
  faults.push(...given.faults, ...missingServers(given, table), ...conflictFaults(settings, { given, table }));
  if (faults.length > 0) throw new ConfigError(faults);
  return settings;
}

/** One value as one source gives it, with its name there. */
interface Entry {
  readonly label: string;
  /** As the user wrote it; null in a file, where the value is JSON. */
  readonly text: string | null;
  readonly value: unknown;
}

/** The values of all sources; remembers what was wrong with those that were taken, and how the user wrote their names. */
class Given {
  readonly faults: string[] = [];
  readonly #sources: SettingSources;
  readonly #file: Readonly<Record<string, unknown>>;
  readonly #labels = new Map<string, string>();
  readonly #faulty = new Set<string>();

  constructor(sources: SettingSources, file: Readonly<Record<string, unknown>>) {
    this.#sources = sources;
    this.#file = file;
  }

  take<T>(spec: SettingSpec<T>): T {
    let taken: { readonly value: T } | null = null;
    for (const entry of this.#entriesOf(spec)) {
      if (!this.#labels.has(spec.name)) this.#labels.set(spec.name, entry.label);
      const reading = spec.kind.read(entry.value);
      if ('value' in reading) {
        taken ??= reading;
        continue;
      }
      this.#faulty.add(spec.name);
      this.faults.push(...reading.faults.map((fault) => describeFault(entry, fault, spec)));
    }
    return taken === null ? spec.fallback : taken.value;
  }

  /** How the user wrote the name, or null where the setting was not given. */
  labelOf(spec: SettingSpec): string | null {
    return this.#labels.get(spec.name) ?? null;
  }

  isFaulty(spec: SettingSpec): boolean {
    return this.#faulty.has(spec.name);
  }

  /** Strongest source first. */
  #entriesOf(spec: SettingSpec): readonly Entry[] {
    const { flags, environment, file } = this.#sources;
    const entries: Entry[] = [];
    const flag = flags[spec.name];
    if (flag !== undefined && spec.sources.includes('flag')) {
      const text = flag.trim();
      entries.push({ label: spec.flag, text, value: spec.kind.fromText(text) });
    }
    // Secrets are not trimmed: what is sent must be what was given, so a stray line end has to be a fault.
    const variable = environment[spec.environment] ?? '';
    if (variable.trim() !== '') {
      const text = spec.isSecret ? variable : variable.trim();
      entries.push({ label: spec.environment, text, value: spec.kind.fromText(text) });
    }
    const inFile = Object.hasOwn(this.#file, spec.name) ? this.#file[spec.name] : null;
    if (file !== null && inFile !== null && spec.sources.includes('file')) {
      const isRelative = spec.isPath && typeof inFile === 'string' && inFile !== '' && !inFile.startsWith('/');
      const value = isRelative ? folderOf(file.path) + inFile : inFile;
      entries.push({ label: labelInFile(spec.name, file.path), text: null, value });
    }
    return entries;
  }
}

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1);

function describeFault(entry: Entry, fault: ValueFault, spec: SettingSpec): string {
  const where = fault.part === null ? entry.label : `${entry.label}, ${fault.part}`;
  const text = fault.part === null && entry.text !== null ? entry.text : fault.received;
  const received = fault.received === null || text === null ? 'the value (not shown)' : `got ${quote(text)},`;
  const statement = `${where}: ${received} must be ${fault.rule}`;
  const isQuotedOnly = entry.text === null && fault.part === null && fault.nearest === fault.received;
  if (fault.nearest !== null && isQuotedOnly) return `${statement}; write it without quotes`;
  if (fault.nearest !== null) return `${statement}; did you mean ${fault.nearest}?`;
  // What is not shown has a rule that says all there is to say.
  return fault.received === null ? statement : `${statement}; for example ${spec.example}`;
}

function fileEntries(file: SettingFile | null, faults: string[]): Readonly<Record<string, unknown>> {
  if (file === null) return {};
  try {
    const parsed: unknown = JSON.parse(file.text);
    if (isObject(parsed)) return parsed;
    faults.push(`${file.path}: must be a JSON object of settings, for example {"maxTokens": 1024}`);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    faults.push(`${file.path}${positionOf(error.message, file.text)}: is not JSON (${reasonOf(error.message)})`);
  }
  return {};
}

/** ":line:column" where the engine tells the position (Node mostly does, k6 never). */
function positionOf(message: string, text: string): string {
  const offset = /at position (\d+)/.exec(message)?.[1];
  if (offset === undefined) return '';
  const before = text.slice(0, Number(offset)).split('\n');
  return `:${before.length}:${(before.at(-1) ?? '').length + 1}`;
}

/** The engine's reason without the piece of the file that Node quotes: it may hold a password. */
const reasonOf = (message: string): string =>
  message.replace(/(?:^|, (?:\.\.\.)?)"[\s\S]*$| in JSON at position[\s\S]*$/, '') || 'unexpected text';

function missingServers(given: Given, { servers }: SettingTable): readonly string[] {
  if (given.labelOf(servers) !== null) return [];
  const { environment, example } = servers;
  const rule = 'not set, and load never goes to a server that nobody named';
  return [`${environment}: ${rule}; for example ${environment}=${example}`];
}

/** Where a value is at fault already, rules that join it with others would only repeat that. */
function conflictFaults(settings: Settings, by: { given: Given; table: SettingTable }): readonly string[] {
  const namesOf = (between: readonly SettingSpec[]) =>
    between.map((spec) => by.given.labelOf(spec) ?? spec.environment).join(' with ');
  return conflictsOf(settings, by.table)
    .filter((conflict) => !conflict.between.some((spec) => by.given.isFaulty(spec)))
    .map((conflict) => `${namesOf(conflict.between)}: ${conflict.fault}`);
}
