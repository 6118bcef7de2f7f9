import type { SettingTable } from '../lib/setting-table.ts';

/** What people read about each setting; kept apart from the rules, since a bundle for k6 need not carry it. */
export const SETTING_WORDS: Readonly<
  Record<keyof SettingTable, { readonly meaning: string; readonly default: string }>
> = {
  servers: {
    meaning: 'SGLang servers that load is sent to; names default to s0, s1, ..., gpus to 1',
    default: 'none: required',
  },
  api: {
    meaning: 'Route that requests go to: /generate, /v1/completions or /v1/chat/completions',
    default: 'generate',
  },
  model: { meaning: 'Model named in requests to the OpenAI routes', default: 'what the server reports' },
  apiKey: { meaning: 'Key sent as "Authorization: Bearer"; never stored or shown', default: 'none' },
  headers: { meaning: 'Further headers of every request, as a JSON object; never stored or shown', default: 'none' },
  tlsInsecure: { meaning: 'Accept any TLS certificate of the servers', default: 'off' },
  maxTokens: { meaning: 'Output tokens asked for in each request', default: '1024' },
  stop: {
    meaning: 'fixed: every answer has exactly the tokens asked for (ignore_eos); natural: the model may stop earlier',
    default: 'fixed',
  },
  inputTokens: {
    meaning:
      'Input length of every request: exact with api generate, about that elsewhere (the plan prints the measured mean)',
    default: 'length of the built-in prompts',
  },
  prompts: { meaning: 'File of prompts, one JSON a line: a text or OpenAI messages', default: 'built-in, each unique' },
  levels: {
    meaning: 'Requests held in flight per server, level by level; also decides where they and the limit disagree',
    default: '1, 2, 4, ... up to the limit',
  },
  limit: { meaning: 'Most requests that one server holds at once without queueing', default: 'asked from the servers' },
  requestSeconds: {
    meaning:
      'R, the duration of one request: one number for all levels or one for each; only for a ramp without a plan',
    default: 'measured by discover',
  },
  overLimit: {
    meaning: 'Add one level at 1.25 times the limit, which shows whether the limit is the knee',
    default: 'on',
  },
  hold: { meaning: 'Time at each level, in durations of one request (R)', default: '3' },
  closingBaseline: { meaning: 'Measure level 1 once more at the end, which shows drift', default: 'on' },
  timeout: { meaning: 'Time after which a request counts as timed out', default: 'the larger of 60 s and 3 R' },
  maxMinutes: { meaning: 'Refuse, before any load, a plan that takes longer', default: 'no bound' },
  wait: { meaning: 'Time to wait at the start for servers that are not ready or not idle', default: '0' },
  minServers: {
    meaning: 'Go on if at least this many servers are well; the sum of the fleet is refused if any is missing',
    default: 'all',
  },
  cacheIsolation: { meaning: 'Give each request a cache key of its own, so that no prefix is shared', default: 'off' },
  plan: { meaning: 'Plan that discover writes and ramp follows', default: 'results/plan.json' },
  results: { meaning: 'Folder that results are written to; it must exist', default: 'results' },
  runName: { meaning: 'Name of the run, part of its id and of every file it writes', default: 'none' },
  config: {
    meaning: 'JSON file that holds settings by the names in this table',
    default: 'tokramp.json, if there is one',
  },
};
