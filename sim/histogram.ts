/** A Prometheus histogram: counts per bucket, a sum and a total. */
export interface Histogram {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum: number;
  count: number;
}

export const newHistogram = (bounds: readonly number[]): Histogram => ({
  bounds,
  counts: bounds.map(() => 0),
  sum: 0,
  count: 0,
});

/** Records a value, `times` over (a step's gap counts once for each token it brought). */
export function observe(histogram: Histogram, value: number, times = 1): void {
  histogram.sum += value * times;
  histogram.count += times;
  const bucket = histogram.bounds.findIndex((bound) => value <= bound);
  if (bucket >= 0) histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + times;
}

const LATENCY = [0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400];
const STEP = [
  0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4,
  6, 8,
];
const TOKENS = [
  100, 300, 500, 700, 1000, 1500, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000, 12500, 15000, 17500, 20000,
  22500, 25000, 27500, 30000, 35000, 40000, 60000, 80000, 100000, 200000, 300000, 400000, 600000, 800000, 1000000,
  1100000,
];
const QUEUE = [
  0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300, 400,
  500, 600, 700, 800, 900, 1000, 1200, 1400, 1600, 1800, 2000, 2500, 3000,
];
/** Thirty bounds from a millisecond, each 1.62 times the one before. */
const STAGE = Array.from({ length: 30 }, (_, index) => 0.001 * 1.62 ** index);

/** The bucket bounds of SGLang's histograms (0.5.23). */
export const BOUNDS = {
  firstToken: LATENCY,
  endToEnd: [...LATENCY, 600, 1200, 1800, 2400],
  step: STEP,
  tokens: TOKENS,
  queue: QUEUE,
  stage: STAGE,
  loads: [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1],
  imbalance: [1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10, 15, 20, 30, 45, 60],
  syncWait: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
} as const;
