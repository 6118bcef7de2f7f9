/** Width of one bucket of the truth. */
export const BUCKET_MS = 100;

/**
 * An amount over time in buckets of epoch milliseconds.
 *
 * What happened during a step is spread over that step: a window edge inside a step has no other right answer, and
 * a sum over any interval is then exact to the change of rate within the two buckets at its edges.
 */
export class Buckets {
  private readonly origin: number;
  private readonly amounts: number[] = [];
  private sum = 0;

  constructor(startMs: number) {
    this.origin = Math.floor(startMs / BUCKET_MS);
  }

  get total(): number {
    return this.sum;
  }

  /** Epoch milliseconds at which the first bucket begins. */
  get firstMs(): number {
    return this.origin * BUCKET_MS;
  }

  toArray(): number[] {
    return [...this.amounts];
  }

  /** Adds an amount at one moment. */
  add(atMs: number, amount: number): void {
    this.sum += amount;
    this.put(Math.floor(atMs / BUCKET_MS) - this.origin, amount);
  }

  /** Adds an amount evenly over an interval. */
  spread(interval: { readonly fromMs: number; readonly toMs: number }, amount: number): void {
    const { fromMs, toMs } = interval;
    const first = Math.floor(fromMs / BUCKET_MS);
    const last = Math.floor(toMs / BUCKET_MS);
    if (first === last || toMs <= fromMs) {
      this.add(toMs, amount);
      return;
    }
    this.sum += amount;
    const perMs = amount / (toMs - fromMs);
    for (let bucket = first; bucket <= last; bucket++) {
      const covered = Math.min(toMs, (bucket + 1) * BUCKET_MS) - Math.max(fromMs, bucket * BUCKET_MS);
      this.put(bucket - this.origin, perMs * covered);
    }
  }

  /** The amount between two moments; a bucket cut by an edge counts by the part inside. */
  between(fromMs: number, toMs: number): number {
    const first = Math.max(0, Math.floor(fromMs / BUCKET_MS) - this.origin);
    const last = Math.min(this.amounts.length - 1, Math.floor(toMs / BUCKET_MS) - this.origin);
    let sum = 0;
    for (let index = first; index <= last; index++) {
      const startMs = (this.origin + index) * BUCKET_MS;
      const covered = Math.min(toMs, startMs + BUCKET_MS) - Math.max(fromMs, startMs);
      sum += (this.amounts[index] ?? 0) * (Math.max(0, covered) / BUCKET_MS);
    }
    return sum;
  }

  private put(index: number, amount: number): void {
    while (this.amounts.length <= index) this.amounts.push(0);
    this.amounts[index] = (this.amounts[index] ?? 0) + amount;
  }
}
