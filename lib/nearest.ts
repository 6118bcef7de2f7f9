/** Least number of single-character edits and swaps of neighbours that turn one text into the other. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = from[row - 1] === to[column - 1] ? 0 : 1;
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        Math.min(
          (last[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (last[column - 1] ?? 0) + replaced,
          swapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}

// A known name inside the text ("timeout-seconds") is a better guess than another name of equal length.
const CONTAINED = 0.6;

/** The known name closest to the text, or null where more than half of it would have to change. */
export function nearest(text: string, known: readonly string[]): string | null {
  const wanted = text.toLowerCase();
  let best: string | null = null;
  let bestScore = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const candidate = name.toLowerCase();
    const isContained = candidate !== '' && wanted.includes(candidate);
    const score = editDistance(wanted, candidate) * (isContained ? CONTAINED : 1);
    if (score < bestScore && score <= Math.max(wanted.length, candidate.length) / 2) {
      best = name;
      bestScore = score;
    }
  }
  return best;
}
