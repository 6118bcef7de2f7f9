/** The built-in prompts: four families of generation work, each unique from its first token on. */
import { hash64, hex64, mix32 } from './prompts-hash.ts';

/** What makes a prompt: its number is unique per server and run. */
export interface PromptRequest {
  readonly server: string;
  readonly index: number;
  /** The run's id. */
  readonly nonce: string;
}

type NonEmpty<T> = readonly [T, ...T[]];

interface Family {
  readonly task: string;
  readonly subjects: NonEmpty<string>;
}

const FAMILIES: NonEmpty<Family> = [
  {
    task: 'Summarise the notes below in one paragraph, then list the open questions about',
    subjects: ['the harbour extension', 'the new night train', 'the seed library', 'the bridge repair'],
  },
  {
    task: 'Explain step by step, for a curious newcomer and with one everyday comparison,',
    subjects: [
      'why bread rises',
      'how a heat pump warms a house',
      'how ships stay on course without stars',
      'why old paper turns yellow',
    ],
  },
  {
    task: 'Write a well-tested function, with comments and an analysis of its running time, that',
    subjects: [
      'merges overlapping time ranges in Python',
      'keeps the hundred largest values of a stream in Rust',
      'finds the shortest route through a grid in TypeScript',
      'parses nested arithmetic in Go',
    ],
  },
  {
    task: 'Classify each sentence below as fact, opinion or instruction, then translate it into',
    subjects: ['German', 'Spanish', 'Portuguese', 'Polish'],
  },
];

const MATERIAL: NonEmpty<string> = [
  'The survey boat found soft clay under the eastern pier, twice as deep as the old charts say.',
  'Volunteers counted forty-one nesting pairs this spring, nine more than in the wet year before.',
  'Please close the upper valve first and wait until the needle stands still.',
  'The council prefers the cheaper bid although its delivery date has already moved three times.',
  'Most visitors come on foot, so a wider path matters more to them than another car park.',
  'The night shift reported a low hum from the second turbine whenever the wind turned north.',
  'Nobody has yet explained why the older seeds sprouted faster than the fresh ones.',
  'In my view the red sketch is the stronger one, but it needs a calmer background.',
  'Tickets bought before June stay valid on the replacement buses until the tunnel opens again.',
  'Write down the pressure every ten minutes and call the office if it falls below two bar.',
  'The mill burned twice in its history and was rebuilt both times with stone from the river.',
  'A second reading of the sensor gave a value so high that the team suspects a broken cable.',
];

/** Prompts of one length keep the limit and the mean of a run from resting on which family comes next. */
const DEFAULT_INPUT_TOKENS = 100;
/** English text has about four tokens to three words, and a word takes six characters with its blank. */
const CHARACTERS_PER_TOKEN = 4.4;
/** Any number: it keeps what a prompt is about apart from its id. */
const DRAW = 0x5f3759df;
/** What the unique id in front of the text takes, more or less, in tokens. */
const ID_TOKENS = 12;

/** Vocabularies begin with special tokens, and the smallest we test on ends at 4,096. */
const LOWEST_ID = 10;
const ID_SPAN = 4096 - LOWEST_ID;

/** Tells built-in prompts of different versions of this file apart. */
export function builtInHash(): string {
  return hex64(hash64(JSON.stringify([FAMILIES, MATERIAL])));
}

/** A text of about `inputTokens` tokens. */
export function builtInText(request: PromptRequest, inputTokens: number | null): string {
  const family = inTurn(FAMILIES, request.index);
  // Drawn and not in turn: with a period of their own, a small sample of prompts would not have the mean length of all.
  const drawn = mix32(request.index ^ DRAW);
  const subject = inTurn(family.subjects, drawn);
  // The id comes first: a shared beginning would be served from the prefix cache.
  const id = `${mix32(request.index ^ runHash(request))
    .toString(16)
    .padStart(8, '0')}-${request.index.toString(36)}`;
  const characters =
    id.length + 1 + Math.max(4, Math.round(((inputTokens ?? DEFAULT_INPUT_TOKENS) - ID_TOKENS) * CHARACTERS_PER_TOKEN));
  let text = `${id} ${family.task} ${subject}.`;
  for (let step = drawn >>> 8; text.length < characters; step += 1) text += ` ${inTurn(MATERIAL, step)}`;
  return text.slice(0, characters);
}

/** Exactly `count` token ids, unlike those of any other request from the first or second id on. */
export function builtInIds(request: PromptRequest, count: number): readonly number[] {
  const run = hash64(`${request.server}|${request.nonce}`);
  // The first two ids are the index itself, shifted: unique for 16.7 million requests, where random ids would soon repeat.
  const ids = [
    LOWEST_ID + ((request.index + run.low) % ID_SPAN),
    LOWEST_ID + ((Math.floor(request.index / ID_SPAN) + run.high) % ID_SPAN),
  ];
  let state = mix32(request.index ^ run.low);
  // k6 interprets this for every id: a linear congruence, of which only the upper bits are random enough, costs least.
  while (ids.length < count) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    ids.push(LOWEST_ID + ((state >>> 8) % ID_SPAN));
  }
  return ids.slice(0, count);
}

/** One hash for each server and run: a VU asks for it at every request, and hashing the run's id is what costs. */
function runHash({ server, nonce }: PromptRequest): number {
  const key = `${server}|${nonce}`;
  if (lastRun.key !== key) lastRun = { key, hash: hash64(key).low };
  return lastRun.hash;
}

let lastRun = { key: '', hash: 0 };

function inTurn<T>(list: NonEmpty<T>, turn: number): T {
  return list[Math.abs(turn) % list.length] ?? list[0];
}
