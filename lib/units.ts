/** Numbers that carry their unit in their type, and the only operations that mix units. */
declare const unit: unique symbol;
type Quantity<Unit extends string> = number & { readonly [unit]: Unit };

/** Output tokens; fractional once pro-rated. */
export type Tokens = Quantity<'tokens'>;
/** A duration in seconds. */
export type Seconds = Quantity<'seconds'>;
/** Output tokens per second. */
export type TokensPerSecond = Quantity<'tokens per second'>;
/** Requests held in flight; fractional as a time-mean. */
export type InFlight = Quantity<'requests in flight'>;

export const tokens = (value: number): Tokens => value as Tokens;
export const seconds = (value: number): Seconds => value as Seconds;
export const inFlight = (value: number): InFlight => value as InFlight;

/** Tokens over the window they were produced in. */
export const rateOf = (produced: Tokens, window: Seconds): TokensPerSecond => (produced / window) as TokensPerSecond;

/** Time-mean of requests in flight: their summed time inside a window over the window. */
export const meanInFlight = (busy: Seconds, window: Seconds): InFlight => (busy / window) as InFlight;
