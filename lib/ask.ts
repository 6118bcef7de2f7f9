import { withoutCredentials } from './basic-auth.ts';
import type { PromptSource } from './prompts.ts';
import type { Ask, Reply } from './protocol.ts';
import type { ServerSpec, Settings } from './settings.ts';

/** The settings that shape requests. */
export type AskSettings = Pick<
  Settings,
  'api' | 'model' | 'apiKey' | 'headers' | 'maxTokens' | 'stop' | 'cacheIsolation'
>;

/** One server as requests reach it: its URL without credentials, and the headers that every request carries. */
export interface Endpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The endpoint of a server: key, headers and the credentials of its URL are all headers there. */
export function endpointOf(server: ServerSpec, settings: Pick<AskSettings, 'apiKey' | 'headers'>): Endpoint {
  const { url, authorization } = withoutCredentials(server.url);
  const bearer = settings.apiKey === null ? null : `Bearer ${settings.apiKey}`;
  const given = bearer ?? authorization;
  const key = given === null ? {} : { Authorization: given };
  return { url, headers: { 'Content-Type': 'application/json', ...key, ...settings.headers } };
}

/** Which request of a run: its index is unique per server, the nonce is the run's own. */
export interface AskOf {
  readonly server: string;
  readonly index: number;
  readonly nonce: string;
  readonly servedModel: string | null;
  /** Where it is not the settings' length. */
  readonly maxTokens?: number;
}

/** The request that the settings describe. */
export function askFor(settings: AskSettings, prompts: PromptSource, of: AskOf): Ask {
  return {
    api: settings.api,
    model: settings.model ?? of.servedModel,
    prompt: prompts.promptAt({ server: of.server, index: of.index, nonce: of.nonce }),
    maxTokens: of.maxTokens ?? settings.maxTokens,
    stop: settings.stop,
    cacheKey: settings.cacheIsolation ? `${of.nonce}-${of.server}-${of.index}` : null,
  };
}

/** A reply without the key and the header values that a server may have sent back in its error. */
export function withoutSecrets(reply: Reply, { apiKey, headers }: AskSettings): Reply {
  if (reply.status === 200 || reply.body === null) return reply;
  const secrets = [apiKey, ...Object.values(headers)].filter((secret) => secret !== null && secret.length >= 4);
  return {
    ...reply,
    body: secrets.reduce<string>((shown, secret) => shown.split(secret ?? '').join('***'), reply.body),
  };
}
