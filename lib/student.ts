/** Student's t quantile, for intervals from a handful of servers (no library in the bundle carries it). */

/** The t with P(T <= t) = p for the given degrees of freedom, by bisection on the distribution function; p in (0.5, 1). */
export function studentQuantile(p: number, degreesOfFreedom: number): number {
  let low = 0;
  let high = 1;
  while (studentCdf(high, degreesOfFreedom) < p) high *= 2;
  for (let step = 0; step < 200 && high - low > 1e-12 * high; step += 1) {
    const middle = (low + high) / 2;
    if (studentCdf(middle, degreesOfFreedom) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** P(T <= t) for t >= 0. */
function studentCdf(t: number, degreesOfFreedom: number): number {
  const x = degreesOfFreedom / (degreesOfFreedom + t * t);
  return 1 - incompleteBeta(x, degreesOfFreedom / 2, 0.5) / 2;
}

/** The regularised incomplete beta function I_x(a, b). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // The continued fraction converges fast only on this side of the mean.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(a * Math.log(x) + b * Math.log(1 - x) + logGamma(a + b) - logGamma(a) - logGamma(b)) / a;
  return front * betaFraction(x, a, b);
}

/** Lentz's evaluation of the continued fraction of the incomplete beta function. */
function betaFraction(x: number, a: number, b: number): number {
  const away = (value: number): number => (Math.abs(value) < 1e-300 ? 1e-300 : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= 500; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    result *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return result;
}

/** ln(Gamma(z)) for z > 0: Stirling's series after shifting z above 10. */
function logGamma(z: number): number {
  let shift = 0;
  let x = z;
  while (x < 10) {
    shift += Math.log(x);
    x += 1;
  }
  const square = x * x;
  const series = 1 / (12 * x) - 1 / (360 * x * square) + 1 / (1260 * x * square * square);
  return (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + series - shift;
}
