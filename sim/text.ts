/** How this simulator counts and makes text: a fixed rule of four characters a token, so that both ends can be checked. */
const CHARACTERS_PER_TOKEN = 4;
/** What a chat template adds to each message, and once more for the answer to come. */
const TEMPLATE_TOKENS = 5;
const VOCABULARY = 4096;

/** Tokens of a text: one to begin with and one for every four characters begun. */
export const countTokens = (text: string): number => 1 + countPieces(text);

/** The same without the token that begins a text. */
export const countPieces = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN);

/** Tokens of a conversation under the simulated chat template. */
export const countChatTokens = (contents: readonly string[]): number =>
  contents.reduce((sum, content) => sum + countPieces(content) + TEMPLATE_TOKENS, TEMPLATE_TOKENS);

/** A 32-bit number that depends on every character (FNV-1a). */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

const CONSONANTS = 'bcdfghjklmnprstvwz';
const VOWELS = 'aeiouy';

/** The word of a token: a blank and three letters. */
function wordOf(token: number): string {
  const first = CONSONANTS.charAt(token % CONSONANTS.length);
  const middle = VOWELS.charAt(Math.floor(token / CONSONANTS.length) % VOWELS.length);
  const last = CONSONANTS.charAt(Math.floor(token / (CONSONANTS.length * VOWELS.length)) % CONSONANTS.length);
  return ` ${first}${middle}${last}`;
}

/** One fixed babble of which every answer is a piece. */
const IDS = Array.from({ length: VOCABULARY }, (_, index) => 3 + ((index * 1597 + 431) % (VOCABULARY - 3)));
const BABBLE = IDS.map(wordOf).join('');

/** Token ids of an answer; the same seed gives the same answer. */
export function answerIds(tokens: number, seed: number): number[] {
  const start = seed % VOCABULARY;
  const ids: number[] = [];
  for (let index = 0; index < tokens; index++) ids.push(IDS[(start + index) % VOCABULARY] ?? 0);
  return ids;
}

/** The text of the same answer: four characters for each token. */
export function answerText(tokens: number, seed: number): string {
  let text = '';
  let at = (seed % VOCABULARY) * CHARACTERS_PER_TOKEN;
  while (text.length < tokens * CHARACTERS_PER_TOKEN) {
    text += BABBLE.slice(at, at + tokens * CHARACTERS_PER_TOKEN - text.length);
    at = 0;
  }
  return text;
}
