// Fits the constants of `relevance` (src/ranking/scores.ts) and evaluates them.
import { FUSION_WEIGHTS_DEFAULT } from '../../src/api/limits.js';
import type { TextIndex } from '../../src/engine/postings/text-index.js';
import { greatestBm25 } from '../../src/ranking/bm25.js';
import { nearnessOf } from '../../src/ranking/scores.js';
import { chunkTerms, questionTerms } from '../../src/text/terms.js';
import { type LoadOptions, printTable } from '../kit/command.js';
import { dot } from '../kit/cosine.js';
import { CachedEmbedder } from '../kit/embedders.js';
import { createKernel } from '../kit/kernel.js';
import { JUDGED_COLLECTIONS, type JudgedQuery, dataFolder, readJudged } from '../kit/text-sets.js';

const HITS = 20;
const TERMS_MAX = 1024;
const SAMPLE = 256;
const CURVES: Readonly<Record<string, readonly number[]>> = {
  'nearness and coverage': [0, 1],
  'nearness alone': [0],
  'coverage alone': [1],
};

interface ExampleSet {
  collection: string;
  embedder: string;
  examples: Example[];
}

/**
 * Uses the 20 best hits of mode hybrid by scores for each query of the judged collections and two embedders, with equal
 * weight per collection and embedder. Also evaluates each collection with constants fitted on the others. Vectors are
 * those cached by `quality embedders`.
 */
export async function relevance({ tiny }: LoadOptions): Promise<void> {
  const sets: ExampleSet[] = [];
  for (const embedder of dataFolder('model-minilm-l6') ? ['builtin', 'minilm'] : ['builtin']) {
    for (const collection of JUDGED_COLLECTIONS) {
      const folder = dataFolder(collection);
      if (folder) sets.push(await examplesOf(collection, embedder, folder, tiny));
    }
  }
  if (sets.length > 1) for (const [name, columns] of Object.entries(CURVES)) report(name, columns, sets);
}

async function examplesOf(collection: string, embedder: string, folder: string, tiny: boolean): Promise<ExampleSet> {
  const { documents, queries } = readJudged(folder, tiny ? 60 : Infinity, tiny ? 5 : Infinity);
  const texts = documents.map(({ title, text }) => `${title} ${text}`);
  const cached = new CachedEmbedder(embedder);
  const questions = queries.map(({ text }) => text);
  cached.load(texts);
  cached.load(questions);
  const [rows, asked] = [await cached.vectorsOf(texts), await cached.vectorsOf(questions)];
  await cached.close();
  const textIndex = createKernel().createTextIndex();
  texts.forEach((text, i) => textIndex.add(i, chunkTerms(text, 'english')));
  const ids = documents.map(({ _id }) => _id);
  return {
    collection,
    embedder,
    examples: queries.flatMap((query, i) =>
      ofQuery(
        query,
        ids,
        rows.map((row) => dot(row, asked[i]!)),
        textIndex,
      ),
    ),
  };
}

/** The best hits of a query, with their features. */
function ofQuery(
  { text, grades }: JudgedQuery,
  ids: readonly string[],
  cosines: readonly number[],
  textIndex: TextIndex,
): Example[] {
  const terms = questionTerms(text, TERMS_MAX, 'english');
  const statistics = textIndex.statistics(terms);
  const ranked = textIndex.rank(terms, statistics, ids.length);
  const scores = new Float64Array(ids.length);
  ranked.ordinals.forEach((ordinal, i) => (scores[ordinal] = ranked.scores[i]!));
  const { vector, lexical } = FUSION_WEIGHTS_DEFAULT.score;
  const fused = cosines.map((cosine, i) => vector * cosine + (lexical * scores[i]!) / (ranked.scores[0] ?? 1));
  const mean = sampleMean(cosines);
  const best = ids
    .map((_, i) => i)
    .sort((a, b) => fused[b]! - fused[a]!)
    .slice(0, HITS);
  return best.map((i) => ({
    features: [nearnessOf(cosines[i]!, mean), scores[i]! / greatestBm25(statistics)],
    isRelevant: (grades.get(ids[i]!) ?? 0) > 0,
  }));
}

/** The mean cosine of rows that are evenly spread, as a shard samples them. */
function sampleMean(cosines: readonly number[]): number {
  const step = Math.max(1, Math.floor(cosines.length / SAMPLE));
  const sample = cosines.filter((_, i) => i % step === 0);
  return sample.reduce((sum, cosine) => sum + cosine, 0) / sample.length;
}

function report(name: string, columns: readonly number[], sets: readonly ExampleSet[]): void {
  const seen = sets.map(({ examples, ...set }) => ({
    ...set,
    examples: examples.map(({ features, isRelevant }) => ({ features: columns.map((i) => features[i]!), isRelevant })),
  }));
  const weights = fitLogistic(seen.map(({ examples }) => examples));
  const rows = seen.map(({ collection, embedder, examples }) => {
    const others = fitLogistic(seen.filter((set) => set.collection !== collection).map((set) => set.examples));
    const [all, left] = [weights, others].map((of) => calibrationOf(examples, (features) => estimate(of, features)));
    return [
      collection,
      embedder,
      ...[all!.brierOfShare, all!.brier, all!.error, left!.brier, left!.error].map((value) => value.toFixed(3)),
    ];
  });
  printTable(`${name}: bias and weights ${weights.map((weight) => weight.toFixed(2)).join(', ')}`, [
    ['collection', 'embedder', 'Brier of the share', 'Brier', 'ECE', 'Brier, left out', 'ECE, left out'],
    ...rows,
  ]);
  const { bins } = calibrationOf(
    seen.flatMap(({ examples }) => examples),
    (features) => estimate(weights, features),
  );
  printTable('reliability', [
    ['hits', 'estimate', 'relevant'],
    ...bins.map(({ count, estimate: guess, share }) => [String(count), guess.toFixed(2), share.toFixed(2)]),
  ]);
}

interface Example {
  readonly features: readonly number[];
  readonly isRelevant: boolean;
}

interface Calibration {
  /** Mean squared error of the estimates (Brier score). */
  brier: number;
  /** The Brier score of always estimating the share of relevant hits. */
  brierOfShare: number;
  /** Expected calibration error: mean distance between estimates and shares over ten bins. */
  error: number;
  bins: { count: number; estimate: number; share: number }[];
}

const STEPS = 25;
const BINS = 10;

const estimate = (weights: readonly number[], features: readonly number[]): number =>
  1 /
  (1 + Math.exp(-features.reduce((sum, value, i) => sum + value * (weights[i + 1] as number), weights[0] as number)));

/** Logistic regression by Newton's method: bias and weights. Each set of examples has equal weight. */
function fitLogistic(sets: readonly (readonly Example[])[]): number[] {
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

/** Solves a linear system with a positive definite matrix by Gauss-Jordan elimination. */
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

function calibrationOf(examples: readonly Example[], estimateOf: (features: readonly number[]) => number): Calibration {
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
