/** Small stable hashes: the same in k6 and Node, without crypto. */

export interface Hash64 {
  readonly high: number;
  readonly low: number;
}

const TWO_32 = 0x1_0000_0000;
/** The 64-bit FNV prime is 2^40 + 0x1b3. */
const PRIME_LOW = 0x1b3;

/** FNV-1a, 64 bit, over the text's UTF-16 code units (for ASCII: the usual FNV-1a of its bytes). */
export function hash64(text: string, start: Hash64 = { high: 0xcbf29ce4, low: 0x84222325 }): Hash64 {
  let { high, low } = start;
  for (let position = 0; position < text.length; position += 1) {
    low = (low ^ text.charCodeAt(position)) >>> 0;
    // All sums stay below 2^53, so doubles hold them exactly.
    const product = low * PRIME_LOW;
    high = (high * PRIME_LOW + Math.floor(product / TWO_32) + low * 0x100) % TWO_32;
    low = product % TWO_32;
  }
  return { high, low };
}

/** Sixteen hexadecimal digits. */
export function hex64(hash: Hash64): string {
  return hash.high.toString(16).padStart(8, '0') + hash.low.toString(16).padStart(8, '0');
}

/** Spreads 32 bits over all 32, one to one (the finaliser of MurmurHash3). */
export function mix32(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
