import http, { type RefinedResponse } from 'k6/http';
import type { Endpoint } from './ask.ts';
import type { Reply } from './protocol.ts';

/** A reply and when its request began and ended, in ms since 1970. */
export interface Exchange {
  readonly reply: Reply;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** The URL is no tag: the path names the request, and the scenario's `server` tag names the server. */
const paramsOf = (endpoint: Endpoint, path: string, timeoutSeconds: number) => ({
  headers: endpoint.headers,
  timeout: `${Math.round(timeoutSeconds * 1000)}ms`,
  responseType: 'text' as const,
  redirects: 0,
  tags: { name: path },
});

/** Sends one request and waits for the whole answer; failures of the network are replies with status 0. */
export function post(
  endpoint: Endpoint,
  request: { readonly path: string; readonly body: string },
  timeoutSeconds: number,
): Exchange {
  const startedAt = Date.now();
  const response = http.post(
    endpoint.url + request.path,
    request.body,
    paramsOf(endpoint, request.path, timeoutSeconds),
  );
  return { reply: replyOf(response), startedAt, endedAt: Date.now() };
}

/** The same without blocking the VU: many may be in flight at once. */
export async function postAsync(
  endpoint: Endpoint,
  request: { readonly path: string; readonly body: string },
  timeoutSeconds: number,
): Promise<Exchange> {
  const startedAt = Date.now();
  const params = paramsOf(endpoint, request.path, timeoutSeconds);
  const response = await http.asyncRequest('POST', endpoint.url + request.path, request.body, params);
  return { reply: replyOf(response), startedAt, endedAt: Date.now() };
}

/** Asks for a document; failures of the network are replies with status 0. */
export async function getAsync(endpoint: Endpoint, path: string, timeoutSeconds: number): Promise<Reply> {
  const response = await http.asyncRequest('GET', endpoint.url + path, null, paramsOf(endpoint, path, timeoutSeconds));
  return replyOf(response);
}

function replyOf(response: RefinedResponse<'text'>): Reply {
  return {
    status: response.status,
    body: typeof response.body === 'string' ? response.body : null,
    errorCode: response.error_code,
    error: response.error,
  };
}
