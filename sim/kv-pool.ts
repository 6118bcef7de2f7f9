import { floorPage } from './admission.ts';

interface CachedPrompt {
  readonly tokens: number;
  users: number;
}

/** What a request got from the prefix cache: how many prompt tokens, and whether it holds the cached prompt. */
export interface PoolShare {
  cachedTokens: number;
  holdsCached: boolean;
}

/**
 * The prompts in the KV pool. A prompt sent again is found in the cache up to its last token; its tokens are held once,
 * however many requests use them. Only whole prompts match: shared beginnings of different prompts are not looked for.
 */
export class KvPool {
  private readonly prompts = new Map<string, CachedPrompt>();
  private heldTokens = 0;
  private idleTokens = 0;

  private readonly pageSize: number;

  constructor(pageSize: number) {
    this.pageSize = pageSize;
  }

  /** Tokens of cached prompts that a running request uses. */
  get sharedTokens(): number {
    return this.heldTokens;
  }

  /** Tokens of cached prompts that nobody uses: they make room when it is needed. */
  get evictableTokens(): number {
    return this.idleTokens;
  }

  /** Tokens of this prompt that a request admitted now would not have to compute. */
  peek(key: string, promptTokens: number): number {
    if (!this.prompts.has(key)) return 0;
    return floorPage(promptTokens - 1, this.pageSize);
  }

  /** Takes a prompt's cached tokens, if any, into use. */
  claim(key: string, promptTokens: number): PoolShare {
    const found = this.prompts.get(key);
    if (found === undefined) return { cachedTokens: 0, holdsCached: false };
    this.hold(found);
    // Re-inserted so that the map's order is the order of last use.
    this.prompts.delete(key);
    this.prompts.set(key, found);
    return { cachedTokens: floorPage(promptTokens - 1, this.pageSize), holdsCached: true };
  }

  /** Enters a prompt that was just computed; false if it is there already and the request keeps its own copy. */
  enter(key: string, promptTokens: number): boolean {
    if (this.prompts.has(key)) return false;
    this.prompts.set(key, { tokens: promptTokens, users: 1 });
    this.heldTokens += promptTokens;
    return true;
  }

  /** Gives a prompt's tokens back; they stay cached until the room is needed. */
  release(key: string): void {
    const found = this.prompts.get(key);
    if (found === undefined) return;
    found.users -= 1;
    if (found.users > 0) return;
    this.heldTokens -= found.tokens;
    this.idleTokens += found.tokens;
  }

  /** Drops unused prompts, the longest unused first, until at most this many tokens are evictable. */
  evictTo(tokens: number): void {
    for (const [key, prompt] of this.prompts) {
      if (this.idleTokens <= tokens) return;
      if (prompt.users > 0) continue;
      this.prompts.delete(key);
      this.idleTokens -= prompt.tokens;
    }
  }

  private hold(prompt: CachedPrompt): void {
    prompt.users += 1;
    if (prompt.users > 1) return;
    this.idleTokens -= prompt.tokens;
    this.heldTokens += prompt.tokens;
  }
}
