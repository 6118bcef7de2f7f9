/** A file of prompts, one JSON value a line. */
import { nearest } from './nearest.ts';
import { textPrompt } from './prompts.ts';
import type { Api, ChatMessage, Prompt } from './protocol.ts';
import { isRecord, parseJson, type Read, shown } from './protocol-json.ts';
import { quote } from './quote.ts';

/** A prompts file that cannot be used; each fault is one line with number, what was received and what would be valid. */
export class PromptFileError extends Error {
  override readonly name = 'PromptFileError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`prompts file: ${faults.join('\n')}`);
    this.faults = faults;
  }
}

const MOST_FAULTS = 10;
const VALID_TEXT = 'a JSON string or {"text": "..."}';
const VALID_MESSAGES = '{"messages": [{"role": "user", "content": "..."}]}';
const ROLES = ['system', 'developer', 'user', 'assistant'];

/** The prompts of a file's text; blank lines and keys beside text and messages are passed over. */
export function parsePromptLines(text: string, api: Api): Prompt[] {
  const prompts: Prompt[] = [];
  const faults: string[] = [];
  text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .forEach((line, index) => {
      const trimmed = line.trim();
      if (trimmed === '') return;
      const read = promptOf(trimmed, api);
      if ('fault' in read) faults.push(`line ${index + 1}: ${read.fault}`);
      else prompts.push(read.value);
    });
  if (faults.length > MOST_FAULTS) {
    const more = `and ${faults.length - MOST_FAULTS} more faulty lines`;
    throw new PromptFileError([...faults.slice(0, MOST_FAULTS), more]);
  }
  if (faults.length > 0) throw new PromptFileError(faults);
  if (prompts.length === 0) throw new PromptFileError([`empty; valid is one prompt a line: ${validFor(api)}`]);
  return prompts;
}

function promptOf(line: string, api: Api): Read<Prompt> {
  const parsed = parseJson(line);
  if ('fault' in parsed) return { fault: `${parsed.fault}; valid is ${validFor(api)}` };
  const json = parsed.value;
  if (typeof json === 'string') return promptOfText(json, api);
  if (!isRecord(json)) return { fault: `${shown(json)}; valid is ${validFor(api)}` };
  const { text, messages } = json;
  if (text !== undefined && messages !== undefined) {
    return { fault: `both "text" and "messages" (${quote(line)}); valid is one of them` };
  }
  if (text !== undefined) return promptOfText(text, api);
  if (messages !== undefined) return promptOfMessages(messages, api);
  return { fault: `neither "text" nor "messages" (${quote(line)}); valid is ${validFor(api)}` };
}

function promptOfText(text: unknown, api: Api): Read<Prompt> {
  if (typeof text === 'string' && text.trim() !== '') return { value: textPrompt(text, api) };
  return { fault: `text: ${shown(text)}; valid is a text that is not empty` };
}

function promptOfMessages(messages: unknown, api: Api): Read<Prompt> {
  if (api !== 'chat') return { fault: `"messages" with api ${api}; valid is ${VALID_TEXT}, or api chat` };
  if (!Array.isArray(messages) || messages.length === 0) {
    return { fault: `messages: ${shown(messages)}; valid is ${VALID_MESSAGES}` };
  }
  const chat: ChatMessage[] = [];
  for (const [index, message] of messages.entries()) {
    const read = messageFrom(message);
    if ('fault' in read) return { fault: `messages[${index}]${read.fault}` };
    chat.push(read.value);
  }
  return { value: { kind: 'messages', messages: chat } };
}

function messageFrom(message: unknown): Read<ChatMessage> {
  if (!isRecord(message)) return { fault: `: ${shown(message)}; valid is {"role": "user", "content": "..."}` };
  const { role, content, ...others } = message;
  if (typeof role !== 'string' || !ROLES.includes(role)) {
    const guess = typeof role === 'string' ? nearest(role, ROLES) : null;
    const hint = guess === null ? '' : `, did you mean "${guess}"?`;
    return { fault: `.role: ${shown(role)}; valid is one of ${ROLES.join(', ')}${hint}` };
  }
  if (typeof content !== 'string') return { fault: `.content: ${shown(content)}; valid is a text` };
  // Sending a message without its tool calls or its name would be other work than the file describes.
  const [other] = Object.keys(others);
  if (other !== undefined) return { fault: `: key ${quote(other)}; valid are role and content alone` };
  return { value: { role, content } };
}

const validFor = (api: Api): string => (api === 'chat' ? `${VALID_TEXT} or ${VALID_MESSAGES}` : VALID_TEXT);
