/** Ways in which the answer to a generation request can be wrong. */
export const ANSWER_FAULTS = [
  'status-500',
  'queue-full',
  'unauthorized',
  'bad-gateway',
  'no-usage',
  'truncated-json',
  'tokens-as-text',
  'tokens-zero',
  'tokens-negative',
  'tokens-null',
  'abort',
] as const;

export type AnswerFault = (typeof ANSWER_FAULTS)[number];

/** Everything that can be wrong with a server; all off by default, each independent of the others. */
export interface FaultState {
  /** Connections are refused and open ones cut. The engine keeps its state: revival is a network coming back. */
  readonly dead: boolean;
  /** The server turns dead once it has finished so many requests since this was set. */
  readonly diesAfter: number | null;
  /** Generation requests are accepted and never answered. */
  readonly hang: boolean;
  /** How the answer of generation requests is wrong. */
  readonly answer: AnswerFault | null;
  /** Answers end after so many tokens with reason "stop", end-of-text ignored or not. */
  readonly stopEarlyAt: number | null;
  /** Answers are silently limited to so many tokens, with reason "length". */
  readonly clampTo: number | null;
  /** Every time of the engine is multiplied by this. */
  readonly slow: number;
  /** The next request pays the cold start again; turns itself off. */
  readonly cold: boolean;
  /** The name of another model. */
  readonly model: string | null;
  /** Another KV pool than the profile's, shown as such. */
  readonly maxTotalTokens: number | null;
  /** Another effective max running than configured, shown as such. */
  readonly maxRunning: number | null;
  /** A lower max running that the server shows nowhere. */
  readonly hiddenMaxRunning: number | null;
  /** Requests of others that hold slots and KV, each replaced when it ends. */
  readonly busy: number;
  /** `/health` and `/ping` answer 503. */
  readonly notReady: boolean;
  /** As without `--enable-metrics`. */
  readonly metricsOff: boolean;
  /** An old build: only the `get_` names, no `/v1/loads`. */
  readonly oldBuild: boolean;
}

export const NO_FAULTS: FaultState = {
  dead: false,
  diesAfter: null,
  hang: false,
  answer: null,
  stopEarlyAt: null,
  clampTo: null,
  slow: 1,
  cold: false,
  model: null,
  maxTotalTokens: null,
  maxRunning: null,
  hiddenMaxRunning: null,
  busy: 0,
  notReady: false,
  metricsOff: false,
  oldBuild: false,
};

/** A server's faults, changeable while it runs; both calls are done when the change is in force. */
export interface FaultSwitch {
  readonly state: FaultState;
  set(change: Partial<FaultState>): Promise<void>;
  clear(): Promise<void>;
}

type Rule = { readonly valid: (value: unknown) => boolean; readonly wanted: string };

const flag: Rule = { valid: (value) => typeof value === 'boolean', wanted: 'true or false' };
const countOrNull: Rule = {
  valid: (value) => value === null || (Number.isInteger(value) && Number(value) >= 0),
  wanted: 'a whole number from 0, or null',
};
const isPositive = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value) && value > 0;

const RULES: Readonly<Record<keyof FaultState, Rule>> = {
  dead: flag,
  diesAfter: countOrNull,
  hang: flag,
  answer: {
    valid: (value) => value === null || ANSWER_FAULTS.some((name) => name === value),
    wanted: `null or one of ${ANSWER_FAULTS.join(', ')}`,
  },
  stopEarlyAt: countOrNull,
  clampTo: countOrNull,
  slow: { valid: isPositive, wanted: 'a number above 0' },
  cold: flag,
  model: { valid: (value) => value === null || typeof value === 'string', wanted: 'a name, or null' },
  maxTotalTokens: countOrNull,
  maxRunning: countOrNull,
  hiddenMaxRunning: countOrNull,
  busy: { valid: (value) => value !== null && countOrNull.valid(value), wanted: 'a whole number from 0' },
  notReady: flag,
  metricsOff: flag,
  oldBuild: flag,
};

const isFaultName = (name: string): name is keyof FaultState => Object.hasOwn(RULES, name);

/** What is wrong with a change of faults that came as JSON, in one line; null if nothing. */
export function faultOfChange(change: Readonly<Record<string, unknown>>): string | null {
  for (const [name, value] of Object.entries(change)) {
    if (!isFaultName(name)) return `unknown fault "${name}"; known are ${Object.keys(RULES).join(', ')}`;
    const rule = RULES[name];
    if (!rule.valid(value)) return `fault "${name}": got ${JSON.stringify(value)}, want ${rule.wanted}`;
  }
  return null;
}
