/** Names that no setting has, and settings given where they may not be. */
import { nearest } from './nearest.ts';
import { quote } from './quote.ts';
import type { SettingSpec, Source } from './setting-table.ts';
import type { SettingSources } from './settings.ts';

const PREFIX = 'TOKRAMP_';
/** Names of the simulator's own settings, which mean nothing to the suite. */
const SIMULATOR_PREFIX = 'TOKRAMP_SIM_';

/** How messages name a setting of a file. */
export const labelInFile = (name: string, path: string): string => `${quote(name)} in ${path}`;

/** One fault for each name that is unknown or given by a source it may not come from; values are never shown. */
export function misplacedNames(
  sources: SettingSources,
  file: Readonly<Record<string, unknown>>,
  specs: readonly SettingSpec[],
): readonly string[] {
  const path = sources.file?.path ?? '';
  const flagOf = (name: string) => specs.find((spec) => spec.name === name)?.flag ?? `--${name}`;
  const variables = Object.keys(sources.environment).filter(
    (name) => /^tokramp_/i.test(name) && !name.startsWith(SIMULATOR_PREFIX) && sources.environment[name] !== undefined,
  );
  return [
    ...Object.keys(sources.flags).flatMap((name) => misplaced(specs, { name, source: 'flag', label: flagOf(name) })),
    ...variables.flatMap((name) => unknownVariable(name, specs)),
    ...Object.keys(file).flatMap((name) => misplaced(specs, { name, source: 'file', label: labelInFile(name, path) })),
  ];
}

function unknownVariable(name: string, specs: readonly SettingSpec[]): readonly string[] {
  if (specs.some((spec) => spec.environment === name)) return [];
  // Compared without the common prefix, which would make any two names look alike.
  const suffixes = specs.map((spec) => spec.environment.slice(PREFIX.length));
  const suffix = nearest(name.slice(PREFIX.length), suffixes);
  return [unknown(name, suffix === null ? null : PREFIX + suffix)];
}

function misplaced(
  specs: readonly SettingSpec[],
  at: { name: string; source: Source; label: string },
): readonly string[] {
  const spec = specs.find((each) => each.name === at.name);
  if (spec?.sources.includes(at.source)) return [];
  if (spec?.isSecret) return [`${at.label}: secrets come by the environment only; set ${spec.environment}`];
  if (spec !== undefined) return [`${at.label}: cannot be set here; set ${spec.environment}`];
  const meant = nearest(
    at.name,
    specs.map((each) => each.name),
  );
  return [unknown(at.label, meant === null ? null : quote(meant))];
}

const unknown = (label: string, meant: string | null): string =>
  `${label}: no setting has this name; ${meant === null ? 'see --help' : `did you mean ${meant}?`}`;
