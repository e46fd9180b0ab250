// Logistic regression of a few features by Newton's method, and how well calibrated its estimates are.
// Used by load/relevance.ts.

export interface Example {
  readonly features: readonly number[];
  readonly isRelevant: boolean;
}

export interface Calibration {
  /** Mean squared error of the estimates. */
  brier: number;
  /** That of always telling the share of relevant ones. */
  brierOfShare: number;
  /** Expected calibration error: how far estimates are from shares, over ten bins. */
  error: number;
  bins: { count: number; estimate: number; share: number }[];
}

const STEPS = 25;
const BINS = 10;

export const estimate = (weights: readonly number[], features: readonly number[]): number =>
  1 /
  (1 + Math.exp(-features.reduce((sum, value, i) => sum + value * (weights[i + 1] as number), weights[0] as number)));

/** Bias and weights. Each set of examples counts the same, however large. */
export function fitLogistic(sets: readonly (readonly Example[])[]): number[] {
  const size = (sets[0]?.[0]?.features.length ?? 0) + 1;
  let weights = new Array<number>(size).fill(0);
  for (let step = 0; step < STEPS; step++) {
    const gradient = new Array<number>(size).fill(0);
    const curvature = Array.from({ length: size }, (_, i) => new Array<number>(size).fill(0).fill(1e-9, i, i + 1));
    for (const set of sets)
      for (const example of set) addExample(example, 1 / set.length, weights, gradient, curvature);
    const change = solve(curvature, gradient);
    weights = weights.map((weight, i) => weight + (change[i] as number));
  }
  return weights;
}

function addExample(
  { features, isRelevant }: Example,
  share: number,
  weights: readonly number[],
  gradient: number[],
  curvature: number[][],
): void {
  const row = [1, ...features];
  const guess = estimate(weights, features);
  row.forEach((a, i) => {
    gradient[i]! += share * (Number(isRelevant) - guess) * a;
    row.forEach((b, j) => (curvature[i]![j]! += share * guess * (1 - guess) * a * b));
  });
}

/** Gauss and Jordan, the matrix being positive definite. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const rows = matrix.map((row, i) => [...row, right[i]!]);
  rows.forEach((pivot, i) => {
    for (const [j, row] of rows.entries()) {
      if (j === i) continue;
      const factor = row[i]! / pivot[i]!;
      for (let k = i; k < row.length; k++) row[k]! -= factor * pivot[k]!;
    }
  });
  return rows.map((row, i) => row.at(-1)! / row[i]!);
}

export function calibrationOf(
  examples: readonly Example[],
  estimateOf: (features: readonly number[]) => number,
): Calibration {
  const told = examples.map(({ features, isRelevant }) => ({ guess: estimateOf(features), truth: Number(isRelevant) }));
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const bins = Array.from({ length: BINS }, (_, bin) => {
    const inBin = told.filter(({ guess }) => Math.min(BINS - 1, Math.floor(guess * BINS)) === bin);
    return {
      count: inBin.length,
      estimate: mean(inBin.map(({ guess }) => guess)),
      share: mean(inBin.map(({ truth }) => truth)),
    };
  });
  const share = mean(told.map(({ truth }) => truth));
  return {
    brier: mean(told.map(({ guess, truth }) => (guess - truth) ** 2)),
    brierOfShare: share * (1 - share),
    error:
      bins.reduce((sum, { count, estimate: guess, share: truth }) => sum + count * Math.abs(guess - truth), 0) /
      told.length,
    bins,
  };
}
