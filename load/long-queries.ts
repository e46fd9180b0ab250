// Ranking by words alone where a query is a whole abstract: each judged document of a collection asks for those that
// answer a query with it, itself left out. nDCG@10 with each word counted once and as often as it stands there, and
// what a search takes on one thread. NPL is kept aside: nothing is tuned on it. node dist/load/long-queries.js [--tiny]
import { chunkTerms, countedTerms } from '../src/text/rank-terms.js';
import { readArguments } from './kit/arguments.js';
import { printTable, whole } from './kit/report.js';
import { createWordIndex } from './kit/word-kernel.js';
import { cpuMs } from './kit/word-peers.js';
import { measureQuality, readJudgedTexts, type Analysis, type JudgedTexts } from './kit/word-quality.js';

const COLLECTIONS = ['cranfield', 'scifact', 'npl-vaswani'];
const TERMS_MAX = 1024;
const K = 10;
const ROUNDS = 3;

const analysis = (name: string, counted: boolean): Analysis => ({
  name,
  chunk: (text) => chunkTerms(text, 'english'),
  question: (text) => {
    const { terms, counts } = countedTerms(text, TERMS_MAX, 'english');
    return { terms, counts: counted ? counts : counts.map(() => 1) };
  },
});
const ONCE = analysis('once', false);
const COUNTED = analysis('as often as they stand', true);

/** A grade is the best that two documents share. Those without a neighbour ask nothing. */
function neighboursOf({ name, texts, queries }: JudgedTexts, queriesMax: number): JudgedTexts {
  const near = new Map<number, Map<number, number>>();
  for (const { grades } of queries) {
    const relevant = [...grades].filter(([place, grade]) => place >= 0 && grade > 0);
    for (const [from] of relevant)
      for (const [to, grade] of relevant) {
        if (from === to) continue;
        const known = near.get(from) ?? new Map<number, number>();
        near.set(from, known.set(to, Math.max(grade, known.get(to) ?? 0)));
      }
  }
  const long = [...near].map(([place, grades]) => ({ text: texts[place] as string, grades, itself: place }));
  return { name, texts, queries: long.slice(0, queriesMax) };
}

/** Milliseconds of CPU a search. */
function searchMs({ texts, queries }: JudgedTexts, { chunk, question }: Analysis): number {
  const index = createWordIndex();
  texts.forEach((text, ordinal) => index.add(ordinal, chunk(text)));
  index.freeze();
  while (index.mergeSome(1000, true));
  const asked = queries.map(({ text }) => {
    const { terms, counts } = question(text);
    return { terms, statistics: { ...index.statistics(terms), counts } };
  });
  const round = (): number => {
    const startedAt = cpuMs();
    for (const { terms, statistics } of asked) if (terms.length > 0) index.rank(terms, statistics, K);
    return (cpuMs() - startedAt) / asked.length;
  };
  return Math.min(...Array.from({ length: ROUNDS }, round));
}

const { tiny } = readArguments();
const rows = COLLECTIONS.flatMap((collection) => {
  const judged = readJudgedTexts(collection, tiny ? 300 : Infinity, Infinity);
  if (!judged) return [];
  const given = neighboursOf(judged, tiny ? 30 : Infinity);
  if (given.queries.length === 0) return [];
  const words = given.queries.reduce((sum, { text }) => sum + text.split(/\s+/).length, 0) / given.queries.length;
  return [ONCE, COUNTED].map((way) => [
    collection,
    whole(given.queries.length),
    whole(words),
    way.name,
    measureQuality(given, way).ndcg.toFixed(4),
    searchMs(given, way).toFixed(3),
  ]);
});
if (rows.length > 0)
  printTable('BM25 alone, texts of documents as queries', [
    ['collection', 'queries', 'words a query', 'words count', 'nDCG@10', 'ms a search'],
    ...rows,
  ]);
