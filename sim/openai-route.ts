import { type Call, type Fields, isCount, isFields, isReply, namespaceOf, readObject, readPrompts } from './call.ts';
import { invalidBody, notSimulated, type Reply, refused } from './reply.ts';
import { countChatTokens, countTokens } from './text.ts';

const DEFAULT_COMPLETION_TOKENS = 16;
const ROLES = ['user', 'system', 'assistant', 'tool', 'function', 'developer', 'latest_reminder', 'root'];

/** Reads the body of `/v1/completions`: a call, or what the server answers instead. */
export function readCompletions(body: string): Call | Reply {
  const fields = readObject(body);
  if (isReply(fields)) return fields;
  if (fields['stream'] === true) return notSimulated('streams');
  const { prompt, max_tokens: most } = fields;
  if (prompt === undefined || prompt === null) return invalidBody("'body', 'prompt': Field required");
  const fault = tokensFault(most);
  if (fault !== null) return fault;
  if (most === 0) return invalidBody("'body', 'max_tokens': max_tokens must be positive");
  if (prompt === '' || (Array.isArray(prompt) && prompt.length === 0))
    return refused('openai', 'Prompt cannot be empty');
  const prompts = readPrompts(prompt, namespaceOf(fields), countTokens);
  if (prompts === null) return invalidBody("'body', 'prompt': Input should be text, texts or token ids");
  return {
    ...commonOf(fields),
    api: 'completions',
    prompts,
    maxNewTokens: isCount(most) ? most : DEFAULT_COMPLETION_TOKENS,
    returnMeta: false,
  };
}

/** Reads the body of `/v1/chat/completions`: a call, or what the server answers instead. */
export function readChat(body: string): Call | Reply {
  const fields = readObject(body);
  if (isReply(fields)) return fields;
  if (fields['stream'] === true) return notSimulated('streams');
  const { messages, input_ids: ids } = fields;
  if (!Array.isArray(messages)) return invalidBody("'body', 'messages': Field required");
  if (messages.length === 0) return refused('openai', 'Messages cannot be empty.');
  const contents = readContents(messages);
  if (contents === null) return invalidBody("'body', 'messages': 'role' or 'content' is not valid");
  const most = fields['max_completion_tokens'] ?? fields['max_tokens'];
  const fault = tokensFault(most);
  if (fault !== null) return fault;
  const namespace = namespaceOf(fields);
  const template = { tokens: countChatTokens(contents), key: `${namespace}c${JSON.stringify(messages)}`, ids: null };
  const prompts = ids === undefined ? [template] : readPrompts(ids, namespace, countTokens);
  if (prompts === null) return invalidBody("'body', 'input_ids': Input should be token ids");
  return {
    ...commonOf(fields),
    api: 'chat',
    prompts,
    maxNewTokens: isCount(most) ? most : null,
    returnMeta: fields['return_meta_info'] === true,
  };
}

/** The text of every message; null where a message is none. */
export function readContents(messages: readonly unknown[]): string[] | null {
  const contents: string[] = [];
  for (const message of messages) {
    if (!isFields(message)) return null;
    const { role, content } = message;
    if (typeof role !== 'string' || !ROLES.includes(role.toLowerCase())) return null;
    const text = textOf(content);
    if (text === null) return null;
    contents.push(text);
  }
  return contents;
}

function textOf(content: unknown): string | null {
  if (typeof content === 'string') return content;
  if (content === null || content === undefined) return '';
  if (!Array.isArray(content)) return null;
  return content.map((part) => (isFields(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('');
}

function tokensFault(most: unknown): Reply | null {
  if (most === undefined || most === null || (isCount(most) && most >= 0)) return null;
  return invalidBody(`'body', 'max_tokens': Input should be a valid integer, input ${JSON.stringify(most)}`);
}

function commonOf(fields: Fields) {
  return {
    choices: isCount(fields['n']) ? fields['n'] : 1,
    ignoreEos: fields['ignore_eos'] === true,
    rid: typeof fields['rid'] === 'string' ? fields['rid'] : null,
    model: typeof fields['model'] === 'string' ? fields['model'] : 'default',
    listed: false,
    returnPromptIds: false,
  };
}
