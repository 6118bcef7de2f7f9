/** The wording of every validity rule: what it is called, its bound, what follows for the figure, and what to do. */
export interface RuleRow {
  readonly title: string;
  readonly bound: string;
  readonly consequence: string;
  readonly advice: string;
}

export const RULES = {
  V1: {
    title: 'server without a completed request',
    bound: 'at least 1',
    consequence: 'a sum over the fleet would hide a server that gave nothing',
    advice: 'look at this server and its log, then run again',
  },
  V2: {
    title: 'failed requests',
    bound: 'none; refused from 2 on above 0.5 % of the fleet or 2 % of a server',
    consequence: 'a failed request frees its place, so another load was measured than planned',
    advice: "read the outcomes in the ledger and the server's log",
  },
  V3: {
    title: 'server missing',
    bound: 'every planned server takes part',
    consequence: 'there is no sum of this fleet; the other servers keep their own figures',
    advice: 'bring the server back, or plan without it',
  },
  V4: {
    title: 'answer without a usable token count',
    bound: 'none',
    consequence: 'tokens were produced that nobody counted',
    advice: 'check that the API reports usage, and that no proxy changes the answers',
  },
  V5: {
    title: 'requests cut off',
    bound: 'none',
    consequence: 'their tokens are lost, so a window that they overlap reads too low',
    advice: 'let the run end; where nobody stopped it, raise the timeout (--timeout) or look for a server that hangs',
  },
  V6: {
    title: 'hold or window too short for the R of this level',
    bound: 'hold >= 2 R, window >= R',
    consequence: 'the window shows part of a wave and not the steady rate',
    advice: 'renew the plan (npm run discover) or hold longer (--hold)',
  },
  V11: {
    title: 'tokens in windows differ from tokens in answers',
    bound: '1e-6',
    consequence: 'pro-rating lost or invented tokens: a fault of this tool',
    advice: 'keep the result file and report it',
  },
  V12: {
    title: 'not warm',
    bound: '3 warm requests, two rounds within 3 %',
    consequence: 'level 1 may hold cold-start costs, so nothing may be scaled by it',
    advice: 'run again; a server that never settles is throttled or shared',
  },
  V13: {
    title: 'the first level measured again at the end differs',
    bound: '3 % flagged, 10 % refused',
    consequence: 'the servers changed during the run: clocks, heat, or a cold start',
    advice: 'run again; compare clocks and temperatures of the GPUs',
  },
  V15: {
    title: 'unequal answers under a fixed length',
    bound: 'every answer has exactly the asked length',
    consequence: 'the servers did not do the work that was planned',
    advice: 'lower --max-tokens below the context and KV limits, or use --stop natural',
  },
  V17: {
    title: 'lengths differ from the plan',
    bound: '2 %, or 4 standard errors where that is more',
    consequence: 'the speed of a step and the limit depend on the lengths',
    advice: 'renew the plan with the prompts of this run (npm run discover)',
  },
  V18: {
    title: 'prefix cache',
    bound: '5 points off the plan',
    consequence: 'cached prompts cost no prefill, so the figure is too high for fresh ones',
    advice: 'use unique prompts or --cache-isolation',
  },
  V19: {
    title: 'servers of unequal speed',
    bound: 'fastest / slowest: 1.10 flagged, above 1.25 no fit and no forecast',
    consequence: 'the sum is right, a share of it per server is not',
    advice: 'look at the slow server: clocks, power limit, neighbours, another build',
  },
  V21: {
    title: 'other number of requests in flight than planned',
    bound: '1 % flagged, 5 % refused',
    consequence: 'the figure belongs to another concurrency',
    advice: 'look for failures and back-off on this server',
  },
  V35: {
    title: 'timeout too close to the longest request',
    bound: 'timeout >= 1.5 x longest request',
    consequence: 'requests may have been cut',
    advice: 'raise --timeout',
  },
  V37: {
    title: 'servers of different kinds',
    bound: 'same model, version and arguments',
    consequence: 'a mixed fleet has no common curve',
    advice: 'give all servers the same model and arguments, or measure them apart',
  },
} as const satisfies Readonly<Record<string, RuleRow>>;

export type RuleId = keyof typeof RULES;
