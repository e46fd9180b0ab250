// Fits the constants of `relevance` (src/rank/relevance.ts) and tells how good they are: over the judged collections of
// ../shared/data and two embedders, the 20 best of mode hybrid by scores for each query, each collection and embedder
// counting the same. Beside the figures of all together those of each collection with constants fitted on the others.
// Vectors: those that load/embed-quality.ts keeps. node dist/load/relevance.js [--tiny]: samples, whose figures mean
// nothing.
import { FUSION_WEIGHTS_DEFAULT } from '../src/contract/limits.js';
import { greatestBm25 } from '../src/rank/bm25.js';
import { nearnessOf } from '../src/rank/relevance.js';
import { chunkTerms, questionTerms } from '../src/text/rank-terms.js';
import type { WordIndex } from '../workers/shard/words/word-index.js';
import { readArguments } from './kit/arguments.js';
import { dot } from './kit/cosine.js';
import { dataFolder } from './kit/data.js';
import { readJudged, type JudgedQuery } from './kit/judged.js';
import { KeptEmbedder } from './kit/kept-embedder.js';
import { calibrationOf, estimate, fitLogistic, type Example } from './kit/logistic.js';
import { printTable } from './kit/report.js';
import { createWordIndex } from './kit/word-kernel.js';

const COLLECTIONS = ['cranfield', 'scifact', 'npl-vaswani'];
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

const { tiny } = readArguments();

async function examplesOf(collection: string, embedder: string, folder: string): Promise<ExampleSet> {
  const { documents, queries } = readJudged(folder, tiny ? 60 : Infinity, tiny ? 5 : Infinity);
  const texts = documents.map(({ title, text }) => `${title} ${text}`);
  const kept = new KeptEmbedder(embedder);
  const questions = queries.map(({ text }) => text);
  kept.load(texts);
  kept.load(questions);
  const [rows, asked] = [await kept.vectorsOf(texts), await kept.vectorsOf(questions)];
  await kept.close();
  const words = createWordIndex();
  texts.forEach((text, i) => words.add(i, chunkTerms(text, 'english')));
  const ids = documents.map(({ _id }) => _id);
  return {
    collection,
    embedder,
    examples: queries.flatMap((query, i) =>
      ofQuery(
        query,
        ids,
        rows.map((row) => dot(row, asked[i]!)),
        words,
      ),
    ),
  };
}

/** The best of a question, with their features. */
function ofQuery(
  { text, grades }: JudgedQuery,
  ids: readonly string[],
  cosines: readonly number[],
  words: WordIndex,
): Example[] {
  const terms = questionTerms(text, TERMS_MAX, 'english');
  const statistics = words.statistics(terms);
  const ranked = words.rank(terms, statistics, ids.length);
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

/** Of rows evenly spread, as a shard takes them. */
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

const sets: ExampleSet[] = [];
for (const embedder of dataFolder('model-minilm-l6') ? ['builtin', 'minilm'] : ['builtin']) {
  for (const collection of COLLECTIONS) {
    const folder = dataFolder(collection);
    if (folder) sets.push(await examplesOf(collection, embedder, folder));
  }
}
if (sets.length > 1) for (const [name, columns] of Object.entries(CURVES)) report(name, columns, sets);
