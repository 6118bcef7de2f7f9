/** The kinds of value a setting can have: text -> value, value -> checked value or what is wrong with it. */
import { nearest } from './nearest.ts';

/** One thing wrong with one value. */
export interface ValueFault {
  /** Which part of the value, where it has parts: "server 2". */
  readonly part: string | null;
  /** The text received, or null where it is or may hold a secret. */
  readonly received: string | null;
  /** What the value must be, as in "must be ...". */
  readonly rule: string;
  /** The valid value closest to what was received. */
  readonly nearest: string | null;
}

/** A checked value, or everything that is wrong with it. */
export type Reading<T> = { readonly value: T } | { readonly faults: readonly ValueFault[] };

/** How values of one kind are read: from text (flag, environment) or from JSON (file). */
export interface Kind<T> {
  /** Placeholder in usage lines. */
  readonly placeholder: string;
  /** What is valid, for people; the same words as in a fault. */
  readonly rule: string;
  /** Turns text into what the file would hold; text that cannot be turned stays text, for `read` to refuse. */
  readonly fromText: (text: string) => unknown;
  readonly read: (value: unknown) => Reading<T>;
}

interface Range {
  readonly min: number;
  readonly max?: number;
  /** "tokens", "seconds", "minutes", "R". */
  readonly unit?: string;
}

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const BOOLEAN_WORDS = ['true', 'false', 'on', 'off', 'yes', 'no', '1', '0'];

/** A value as the user wrote it, for a fault. */
export function shown(value: unknown): string {
  // JSON has no word for what 1e999 becomes.
  return typeof value === 'string' || typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? '');
}

/** A reading with one fault about the value as a whole. */
export function refuse(value: unknown, rule: string, nearestValid: string | null): { faults: readonly ValueFault[] } {
  return { faults: [{ part: null, received: shown(value), rule, nearest: nearestValid }] };
}

export function wholeNumber(range: Range): Kind<number> {
  return numeric(range, { noun: 'a whole number', round: Math.round });
}

export function decimal(range: Range): Kind<number> {
  return numeric(range, { noun: 'a number', round: (value) => value });
}

function numeric(range: Range, of: { noun: string; round: (value: number) => number }): Kind<number> {
  const { min, max = Number.MAX_SAFE_INTEGER, unit } = range;
  const bounds = range.max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  const rule = `${of.noun} ${bounds}${unit === undefined ? '' : ` (${unit})`}`;
  return {
    placeholder: 'N',
    rule,
    fromText: numberFromText,
    read: (value) => {
      if (typeof value === 'number' && value >= min && value <= max && of.round(value) === value) return { value };
      const meant = typeof value === 'string' ? repairNumber(value, unit) : value;
      const isUsable = typeof meant === 'number' && Number.isFinite(meant);
      return refuse(value, rule, isUsable ? String(Math.min(max, Math.max(min, of.round(meant)))) : null);
    },
  };
}

const numberFromText = (text: string): unknown => (NUMBER.test(text) ? Number(text) : text);

const SECONDS_IN: Readonly<Record<string, number>> = { ms: 0.001, s: 1, sec: 1, m: 60, min: 60, h: 3600 };

/** Guesses the number in "1,024", "64 tokens" or, for times, "2m"; null where there is none. */
function repairNumber(text: string, unit: string | undefined): number | null {
  const [, digits, suffix = ''] = /^([+-]?\d*\.?\d+)\s*([a-z]*)$/i.exec(text.trim().replace(/[,_'](?=\d)/g, '')) ?? [];
  if (digits === undefined) return null;
  if (suffix === '' || suffix === unit) return Number(digits);
  const factor = SECONDS_IN[suffix.toLowerCase()];
  if (factor === undefined) return null;
  if (unit === 'seconds') return Number(digits) * factor;
  return unit === 'minutes' ? (Number(digits) * factor) / 60 : null;
}

/** Numbers separated by commas, or a JSON list of them; one number alone is a list of one. */
export function listOf(item: Kind<number>, limits: { most: number; ascending: boolean }): Kind<readonly number[]> {
  const order = limits.ascending ? ', ascending and without repetition' : '';
  const rule = `a list of at most ${limits.most}${order}, each ${item.rule}`;
  return {
    placeholder: 'N,N,...',
    rule,
    fromText: (text) => text.split(',').map((part) => item.fromText(part.trim())),
    read: (value) => {
      const items: readonly unknown[] = Array.isArray(value) ? value : [value];
      const numbers = items.filter((each): each is number => 'value' in item.read(each));
      const isOrdered = !limits.ascending || numbers.every((each, at) => at === 0 || each > (numbers[at - 1] ?? each));
      if (isOrdered && numbers.length === items.length && items.length >= 1 && items.length <= limits.most) {
        return { value: numbers };
      }
      const text = items.map(shown).join(',');
      return refuse(text, rule, repairList(text, item, limits));
    },
  };
}

function repairList(text: string, item: Kind<number>, limits: { most: number; ascending: boolean }): string | null {
  const parts = text.split(/[\s,;]+/).filter((part) => part !== '');
  const readings = parts.map((part) => item.read(item.fromText(part)));
  const numbers = readings.flatMap((reading) => ('value' in reading ? [reading.value] : []));
  const repaired = limits.ascending ? [...new Set(numbers)].sort((a, b) => a - b) : numbers;
  return readings.length > numbers.length || repaired.length === 0 || repaired.length > limits.most
    ? null
    : repaired.join(',');
}

export function toggle(): Kind<boolean> {
  const rule = 'true or false (also on/off, yes/no, 1/0)';
  return {
    placeholder: 'true|false',
    rule,
    fromText: (text) => booleanOf(text) ?? text,
    read: (value) => {
      if (typeof value === 'boolean') return { value };
      const word = nearest(shown(value), BOOLEAN_WORDS);
      return refuse(value, rule, word === null ? null : String(booleanOf(word)));
    },
  };
}

/** The boolean that a word stands for, or null. */
export function booleanOf(word: string): boolean | null {
  const at = BOOLEAN_WORDS.indexOf(word.toLowerCase());
  return at === -1 ? null : at % 2 === 0;
}

export function choice<const C extends string>(choices: readonly C[]): Kind<C> {
  const rule = `one of ${choices.join(', ')}`;
  return {
    placeholder: choices.join('|'),
    rule,
    fromText: (text) => text,
    read: (value) => {
      const chosen = choices.find((each) => each === value);
      return chosen === undefined ? refuse(value, rule, nearest(shown(value), choices)) : { value: chosen };
    },
  };
}

/** Text that matches a pattern; `repair` makes the nearest valid text, or "" where there is none. */
export function text(of: {
  placeholder: string;
  rule: string;
  pattern: RegExp;
  repair: (value: string) => string;
}): Kind<string> {
  return {
    placeholder: of.placeholder,
    rule: of.rule,
    fromText: (value) => value,
    read: (value) => {
      if (typeof value === 'string' && of.pattern.test(value)) return { value };
      const repaired = of.repair(shown(value));
      return refuse(value, of.rule, of.pattern.test(repaired) ? repaired : null);
    },
  };
}

const PRINTABLE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** A secret: what was received is never part of a fault. */
export function secret(): Kind<string> {
  const rule = 'printable ASCII characters on one line, as it goes into a header';
  return {
    placeholder: 'SECRET',
    rule,
    fromText: (value) => value,
    read: (value) => (typeof value === 'string' && PRINTABLE.test(value) ? { value } : hide(null, rule)),
  };
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const HEADERS_RULE = 'a JSON object of header names and texts, such as {"X-Team":"batch"}';

/** Extra request headers; as they may hold tokens, neither names nor values are part of a fault. */
export function headers(): Kind<Readonly<Record<string, string>>> {
  return { placeholder: 'JSON', rule: HEADERS_RULE, fromText: jsonFromText, read: readHeaders };
}

function readHeaders(value: unknown): Reading<Readonly<Record<string, string>>> {
  if (!isObject(value)) return hide(null, HEADERS_RULE);
  const read: Record<string, string> = {};
  for (const [at, [name, content]] of Object.entries(value).entries()) {
    const part = `header ${at + 1}`;
    if (!HEADER_NAME.test(name)) return hide(part, 'named by letters, digits and hyphens');
    if (typeof content !== 'string' || !/^[\x20-\x7e]*$/.test(content)) {
      return hide(part, 'a text of printable ASCII characters on one line');
    }
    read[name] = content;
  }
  return { value: read };
}

/** The JSON value that the text holds, or the text itself where it is not JSON. */
export function jsonFromText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}

/** Whether a JSON value is an object and neither a list nor null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const hide = (part: string | null, rule: string): { faults: readonly ValueFault[] } => ({
  faults: [{ part, received: null, rule, nearest: null }],
});
