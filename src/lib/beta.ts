/**
 * Draws from the beta distribution: a plausible share of good results if `a` were good and `b` were bad. `random`: 0
 * to 1.
 */
export function drawBeta(a: number, b: number, random: () => number): number {
  const x = drawGamma(a, random);
  return x / (x + drawGamma(b, random));
}

/** Draws a gamma variate (Marsaglia and Tsang, 2000); two of them make a beta variate. */
function drawGamma(shape: number, random: () => number): number {
  if (shape < 1) return drawGamma(shape + 1, random) * random() ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = Math.sqrt(-2 * Math.log(random() || Number.MIN_VALUE)) * Math.cos(2 * Math.PI * random());
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(random() || Number.MIN_VALUE) < 0.5 * x * x + d - d * v + d * Math.log(v))
      return d * v;
  }
}
