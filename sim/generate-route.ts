import { type Call, type Fields, isCount, isFields, isReply, namespaceOf, readObject, readPrompts } from './call.ts';
import { invalidBody, json, notSimulated, type Reply, refused } from './reply.ts';
import { countTokens } from './text.ts';

const DEFAULT_NEW_TOKENS = 128;

/** The sampling parameters that the server knows; any other name is refused. */
const SAMPLING = [
  'max_new_tokens',
  'stop',
  'stop_token_ids',
  'stop_regex',
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'min_new_tokens',
  'n',
  'json_schema',
  'regex',
  'ebnf',
  'structural_tag',
  'ignore_eos',
  'skip_special_tokens',
  'spaces_between_special_tokens',
  'no_stop_trim',
  'stream_interval',
  'logit_bias',
  'sampling_seed',
  'custom_params',
  'beam_width',
  'watermark',
  'choice',
];

/** Reads the body of `/generate`: a call, or what the server answers instead. */
export function readGenerate(body: string): Call | Reply {
  const fields = readObject(body);
  if (isReply(fields)) return fields;
  if (fields['stream'] === true) return notSimulated('streams');
  const sampling = fields['sampling_params'] ?? {};
  if (!isFields(sampling)) return notSimulated('one set of sampling parameters per prompt');
  const fault = formFault(fields, sampling) ?? valueFault(fields, sampling);
  if (fault !== null) return fault;
  // Both may be given: then the token ids are the prompt.
  const source = fields['input_ids'] ?? fields['text'];
  const prompts = readPrompts(source, namespaceOf(fields), countTokens);
  if (prompts === null) return invalidBody("'body', 'text': Input should be a valid string");
  const choices = isCount(sampling['n']) ? sampling['n'] : 1;
  const isBatch = Array.isArray(source) && !isCount(source[0]);
  return {
    api: 'generate',
    prompts,
    choices,
    maxNewTokens: isCount(sampling['max_new_tokens']) ? sampling['max_new_tokens'] : DEFAULT_NEW_TOKENS,
    ignoreEos: sampling['ignore_eos'] === true,
    rid: typeof fields['rid'] === 'string' ? fields['rid'] : null,
    model: '',
    listed: isBatch || choices > 1,
    returnPromptIds: fields['return_prompt_token_ids'] === true,
    returnMeta: true,
  };
}

/** A body of the wrong form is refused before anything in it is judged. */
function formFault(fields: Fields, sampling: Fields): Reply | null {
  const { text } = fields;
  if (text !== undefined && text !== null && typeof text !== 'string' && !Array.isArray(text)) {
    return invalidBody("'body', 'text': Input should be a valid string or list");
  }
  const unknown = Object.keys(sampling).find((name) => !SAMPLING.includes(name));
  if (unknown === undefined) return null;
  const expected = SAMPLING.map((name) => `\`${name}\``).join(', ');
  return json({ error: `unknown field \`${unknown}\`, expected one of ${expected}` }, 400);
}

function valueFault(fields: Fields, sampling: Fields): Reply | null {
  const ids = fields['input_ids'] ?? null;
  if (ids === null && (fields['text'] ?? null) === null) {
    return refused('native', 'Either text, input_ids or input_embeds should be provided.');
  }
  if (Array.isArray(ids) && ids.length === 0) return refused('native', 'input_ids cannot be empty.');
  const { max_new_tokens: most, temperature, top_p: topP } = sampling;
  if (typeof most === 'number' && most < 0) return refused('native', `max_new_tokens must be at least 0, got ${most}.`);
  if (typeof temperature === 'number' && temperature < 0) {
    return refused('native', `temperature must be a non-negative finite number, got ${temperature}.`);
  }
  if (typeof topP === 'number' && (topP <= 0 || topP > 1)) {
    return refused('native', `top_p must be in (0, 1], got ${topP}.`);
  }
  return null;
}
