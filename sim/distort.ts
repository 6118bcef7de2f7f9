import { isFields } from './call.ts';
import type { AnswerFault } from './faults.ts';
import { plain, queueFull, type Reply, unauthorized } from './reply.ts';

/** Faults that answer before the engine hears of the request; null for those that spoil a real answer. */
export function refusalOf(fault: AnswerFault | null): Reply | null {
  switch (fault) {
    case 'status-500':
      return plain(500, 'Internal Server Error');
    case 'queue-full':
      return queueFull();
    case 'unauthorized':
      return unauthorized();
    case 'bad-gateway':
      return badGateway();
    default:
      return null;
  }
}

/** What a proxy in front of a server that is gone says. */
const badGateway = (): Reply => ({
  status: 502,
  type: 'text/html',
  body: '<html>\n<head><title>502 Bad Gateway</title></head>\n<body>\n<center><h1>502 Bad Gateway</h1></center>\n</body>\n</html>\n',
});

const SHOWN_TOKENS: Partial<Record<AnswerFault, (tokens: unknown) => unknown>> = {
  'no-usage': () => undefined,
  'tokens-as-text': (tokens) => String(tokens),
  'tokens-zero': () => 0,
  'tokens-negative': () => -1,
  'tokens-null': () => null,
};

/** Spoils the body of a real answer as the fault says; the text stays what was generated. */
export function distort(answer: unknown, fault: AnswerFault | null): unknown {
  if (fault === null) return answer;
  if (Array.isArray(answer)) return answer.map((item) => distort(item, fault));
  const shown = SHOWN_TOKENS[fault];
  if (shown === undefined || !isFields(answer)) return answer;
  const { usage, meta_info: meta, ...rest } = answer;
  if (isFields(meta)) return { ...rest, meta_info: { ...meta, completion_tokens: shown(meta['completion_tokens']) } };
  if (fault === 'no-usage' || !isFields(usage)) return rest;
  return { ...rest, usage: { ...usage, completion_tokens: shown(usage['completion_tokens']) } };
}

/** The reply for an answer; a truncated one ends in the middle of its JSON but is well-formed HTTP. */
export function replyOf(answer: unknown, fault: AnswerFault | null): Reply {
  const body = JSON.stringify(distort(answer, fault));
  const shown = fault === 'truncated-json' ? body.slice(0, Math.floor(body.length / 2)) : body;
  return { status: 200, type: 'application/json', body: shown };
}
