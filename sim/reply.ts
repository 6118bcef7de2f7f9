/** One HTTP answer; a null type sends no Content-Type header. */
export interface Reply {
  readonly status: number;
  readonly type: string | null;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Output tokens in this answer, for the count of what was really sent. */
  readonly tokens?: number;
}

/** Which of SGLang's two error shapes a route speaks. */
export type Dialect = 'native' | 'openai';

export const json = (value: unknown, status = 200): Reply => ({
  status,
  type: 'application/json',
  body: JSON.stringify(value),
});

export const plain = (status: number, body: string): Reply => ({ status, type: 'text/plain; charset=utf-8', body });

/** An answer without a media type, as several of SGLang's control routes give it. */
export const bare = (status: number, body = ''): Reply => ({ status, type: null, body });

/** The flat error object of the OpenAI routes and of request validation. */
export const flatError = (status: number, type: string, message: string): Reply =>
  json({ object: 'error', message, type, param: null, code: status }, status);

/** A body that does not have the required form. */
export const invalidBody = (message: string): Reply => flatError(400, 'Bad Request', `1 validation error: ${message}`);

/** A body of the right form that asks for something impossible. */
export function refused(dialect: Dialect, message: string): Reply {
  if (dialect === 'native') return json({ error: { message } }, 400);
  return flatError(400, 'BadRequestError', message);
}

export const queueFull = (): Reply => flatError(503, '503', 'The request queue is full.');
export const unauthorized = (): Reply => json({ error: 'Unauthorized' }, 401);
export const notFound = (): Reply => json({ detail: 'Not Found' }, 404);

export const methodNotAllowed = (allowed: readonly string[]): Reply => ({
  ...json({ detail: 'Method Not Allowed' }, 405),
  headers: { allow: allowed.join(', ') },
});

/** What this simulator does not do says so, and is no answer of a real server. */
export const notSimulated = (what: string): Reply =>
  flatError(501, 'NotSimulated', `this simulated server does not do ${what}`);
