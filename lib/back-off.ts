const FIRST_SECONDS = 0.5;
const LONGEST_SECONDS = 15;

/** How long a VU waits after its n-th failure in a row (n >= 1): a dead server must not become a hot loop. */
export function backOffSeconds(failuresInARow: number): number {
  return Math.min(LONGEST_SECONDS, FIRST_SECONDS * 2 ** (failuresInARow - 1));
}
