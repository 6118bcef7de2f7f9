import { isReply, readObject } from './call.ts';
import { readContents } from './openai-route.ts';
import { invalidBody, type Reply } from './reply.ts';
import { answerIds, countChatTokens, countPieces, countTokens, hashText } from './text.ts';

/** Reads the body of `/v1/tokenize` and counts; the ids are made up, their number is the one that generation counts. */
export function readTokenize(body: string): { tokens: number[] | number[][]; count: number | number[] } | Reply {
  const fields = readObject(body);
  if (isReply(fields)) return fields;
  const { prompt, messages, add_special_tokens: special } = fields;
  if ((prompt === undefined) === (messages === undefined)) {
    return invalidBody("Exactly one of 'prompt' or 'messages' must be provided.");
  }
  const idsOf = (text: string) => answerIds(special === false ? countPieces(text) : countTokens(text), hashText(text));
  if (typeof prompt === 'string') return counted(idsOf(prompt));
  if (Array.isArray(prompt) && prompt.every((text) => typeof text === 'string')) {
    const tokens = prompt.map(idsOf);
    return { tokens, count: tokens.map(({ length }) => length) };
  }
  const contents = Array.isArray(messages) ? readContents(messages) : null;
  if (contents === null) return invalidBody("'prompt' must be text or texts, 'messages' a list of messages");
  return counted(answerIds(countChatTokens(contents), hashText(contents.join('\n'))));
}

const counted = (tokens: number[]) => ({ tokens, count: tokens.length });
