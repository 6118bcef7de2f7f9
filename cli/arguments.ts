/** Command line -> settings as text, the command's own options and its positional arguments. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { nearest } from '../lib/nearest.ts';
import { quote } from '../lib/quote.ts';
import { booleanOf } from '../lib/setting-kinds.ts';
import { SETTINGS, type SettingSpec, settingTable } from '../lib/setting-table.ts';
import { ConfigError, type SettingFile, safeUrl } from '../lib/settings.ts';

/** An option of one command that is not a setting. */
export interface OptionSpec {
  /** Without the two hyphens. */
  readonly name: string;
  /** What stands for the value in usage lines; null where the option takes none. */
  readonly placeholder: string | null;
  readonly description: string;
}

/** What a command takes. */
export interface AllowedArguments {
  readonly settings: readonly SettingSpec[];
  readonly options: readonly OptionSpec[];
  /** What each positional argument is; more than these are a fault. */
  readonly positional: readonly string[];
}

export interface Arguments {
  /** Text of each setting given, by setting name. */
  readonly settings: Record<string, string>;
  /** Text of each option given, by option name; "true" for an option without a value and for `help`. */
  readonly options: Record<string, string>;
  readonly positional: readonly string[];
}

/** A flag that the command knows: where its value goes, and what that is where the flag takes none. */
interface Flag {
  readonly target: 'settings' | 'options';
  readonly key: string;
  readonly value: 'required' | 'optional' | 'none';
  readonly implied: string;
}

const CONFIG_VARIABLE = settingTable().config.environment;
const NPM_HINT = 'with npm, write "--" before the flags';

/** Reads the command line, or throws every fault of it as one ConfigError; `--help` anywhere makes the rest irrelevant. */
export function parseArguments(argv: readonly string[], { allowed }: { allowed: AllowedArguments }): Arguments {
  if (argv.includes('--help') || argv.includes('-h')) {
    return { settings: {}, options: { help: 'true' }, positional: [] };
  }
  const flags = flagsOf(allowed);
  const parsed = { settings: {}, options: {}, positional: [] as string[] } satisfies Arguments;
  const faults: string[] = [];
  const rest = [...argv];
  for (let argument = rest.shift(); argument !== undefined; argument = rest.shift()) {
    const fault = argument.startsWith('-')
      ? readFlag({ argument, rest, flags }, parsed)
      : readPositional(argument, parsed.positional, allowed.positional);
    if (fault !== null) faults.push(fault);
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return parsed;
}

function flagsOf(allowed: AllowedArguments): ReadonlyMap<string, Flag> {
  const flags = new Map<string, Flag>([['--help', { target: 'options', key: 'help', value: 'none', implied: 'true' }]]);
  for (const { name, placeholder } of allowed.options) {
    const value = placeholder === null ? 'none' : 'required';
    flags.set(`--${name}`, { target: 'options', key: name, value, implied: 'true' });
  }
  for (const spec of allowed.settings.filter((each) => each.sources.includes('flag'))) {
    const target = 'settings';
    const value = spec.isToggle ? 'optional' : 'required';
    flags.set(spec.flag, { target, key: spec.name, value, implied: 'true' });
    if (spec.isToggle) flags.set(negated(spec), { target, key: spec.name, value: 'none', implied: 'false' });
  }
  return flags;
}

/** The flag that turns a toggle off: `--no-over-limit`. */
export const negated = (spec: SettingSpec): string => spec.flag.replace('--', '--no-');

function readPositional(argument: string, taken: string[], expected: readonly string[]): string | null {
  if (taken.length < expected.length) {
    taken.push(argument);
    return null;
  }
  const isBoolean = booleanOf(argument) !== null;
  const remedy = isBoolean ? `to turn something on or off write --name or --no-name; ${NPM_HINT}` : NPM_HINT;
  const most = expected.length === 0 ? 'no argument without a flag' : `only ${expected.join(' ')}`;
  // npm without "--" swallows `--servers` and leaves its value, which may hold a password.
  const shown = argument.includes('@') ? safeUrl(argument) : argument;
  return `${quote(shown)}: this command takes ${most}; ${remedy}`;
}

/** Takes one flag, and its value from `rest` where that follows; returns what is wrong with it. */
function readFlag(
  from: { argument: string; rest: string[]; flags: ReadonlyMap<string, Flag> },
  into: { settings: Record<string, string>; options: Record<string, string> },
): string | null {
  const equals = from.argument.indexOf('=');
  const name = equals === -1 ? from.argument : from.argument.slice(0, equals);
  const attached = equals === -1 ? null : from.argument.slice(equals + 1);
  const flag = from.flags.get(name);
  const takesNext = attached === null && (flag === undefined || flag.value === 'required') && hasValue(from.rest);
  // The text after an unknown flag is dropped with it: it is most likely its value, and may be a secret.
  const next = takesNext ? (from.rest.shift() ?? null) : null;
  if (flag === undefined) return unknownFlag(name, [...from.flags.keys()]);
  if (flag.value === 'none' && attached !== null) return `${name}: takes no value, got ${quote(attached)}`;
  const value = attached ?? next ?? (flag.value === 'required' ? '' : flag.implied);
  if (value.trim() === '') return `${name}: a value is missing; write ${name} VALUE or ${name}=VALUE`;
  const target = into[flag.target];
  if (Object.hasOwn(target, flag.key)) return `${name}: given more than once`;
  target[flag.key] = value;
  return null;
}

// A negative number is a value, for its own check to refuse.
const hasValue = (rest: readonly string[]): boolean => rest[0] !== undefined && !/^-(?![\d.])/.test(rest[0]);

function unknownFlag(name: string, known: readonly string[]): string {
  const secrets = SETTINGS.filter((spec) => spec.isSecret);
  const meant = nearest(
    name.replace(/^-+/, ''),
    [...known, ...secrets.map((spec) => spec.flag)].map((flag) => flag.slice(2)),
  );
  const secret = secrets.find((spec) => spec.flag === `--${meant}`);
  if (secret !== undefined) return `${name}: secrets come by the environment only; set ${secret.environment}`;
  return `${name}: this command has no such flag; ${meant === null ? 'see --help' : `did you mean --${meant}?`}`;
}

/**
 * The TOKRAMP_ variables that hand flags on to another process; paths, also those of `environment`, are made absolute, as
 * that process may resolve them against another folder.
 */
export function settingsEnvironment(
  flags: Readonly<Record<string, string>>,
  cwd: string,
  environment: Readonly<Record<string, string | undefined>> = {},
): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const spec of SETTINGS) {
    const given = (flags[spec.name] ?? (spec.isPath ? environment[spec.environment] : undefined) ?? '').trim();
    if (given !== '') variables[spec.environment] = spec.isPath ? resolve(cwd, given) : given;
  }
  return variables;
}

/**
 * The file that TOKRAMP_CONFIG names, else `tokramp.json` of the checkout, else null; a named file that cannot be read is a
 * ConfigError.
 */
export function readConfigFile(from: {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly checkout: string;
  readonly cwd: string;
}): SettingFile | null {
  const named = (from.environment[CONFIG_VARIABLE] ?? '').trim();
  const path = named === '' ? join(from.checkout, 'tokramp.json') : resolve(from.cwd, named);
  try {
    return { path, text: readFileSync(path, 'utf8') };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : null;
    if (code === null) throw error;
    if (code === 'ENOENT' && named === '') return null;
    const reason = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code})`;
    const label = named === '' ? path : `${CONFIG_VARIABLE}: got ${quote(named)}, must be a file of settings; ${path}`;
    throw new ConfigError([`${label}: ${reason}`]);
  }
}
