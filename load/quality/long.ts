// Ranking by long queries: a judged document, or its first 62 or 22 words, asks for the other documents that answer a
// query with it. NPL is held out: nothing is tuned on it.
import { ndcgOf } from '../../src/ranking/evaluation.js';
import type { SheafClient } from '../../src/client/client.js';
import { chunkTerms, countedTerms } from '../../src/text/terms.js';
import { chooser, type LoadOptions, printTable, whole } from '../kit/command.js';
import { CachedEmbedder } from '../kit/embedders.js';
import { SEARCH_MODES, ingestJudged, passageOf, rankingsOf, withEmbedder } from '../kit/judged-searches.js';
import { createKernel } from '../kit/kernel.js';
import { ownCpuMs } from '../kit/server-usage.js';
import { type Analysis, type JudgedTexts, measureQuality, readJudgedTexts } from '../kit/text-quality.js';
import { JUDGED_COLLECTIONS, type JudgedDocument, dataFolder, firstWords, readJudged } from '../kit/text-sets.js';

const EMBEDDERS = ['builtin', 'minilm'];
const LENGTHS = [22, 62, Infinity];
const MODES = ['words alone', 'vector', 'hybrid', 'hybrid of scores'];
const TERMS_MAX = 1024;
const K = 10;
const ROUNDS = 3;

/** A collection with its questions at one length. */
interface Asked extends JudgedTexts {
  readonly documents: readonly JudgedDocument[];
  readonly queries: readonly { text: string; grades: ReadonlyMap<number, number>; itself: number }[];
}

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

/**
 * nDCG@10 of each mode over HTTP, with the shared model and the built-in embedder, compared with a plain BM25 and with
 * counting each word once; and the time of a text search on one thread. Slow embeddings are cached in the temporary
 * folder.
 */
export async function long({ tiny, names }: LoadOptions): Promise<void> {
  const chosen = chooser(names, JUDGED_COLLECTIONS, EMBEDDERS);
  const all = chosen(JUDGED_COLLECTIONS).flatMap((name) => readAsked(name, tiny));
  if (all.length === 0) return;
  measureWords(all);
  for (const embedder of chosen(EMBEDDERS))
    if (embedder === 'builtin' || dataFolder('model-minilm-l6')) await measureModes(embedder, all);
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The collection with its questions at each length; empty where it is absent. */
function readAsked(name: string, tiny: boolean): Asked[] {
  const folder = dataFolder(name);
  const judged = folder && readJudgedTexts(name, tiny ? 300 : Infinity, Infinity);
  if (!judged) return [];
  const { documents } = readJudged(folder, judged.texts.length, 0);
  const queries = neighboursOf(judged).slice(0, tiny ? 10 : Infinity);
  if (queries.length === 0) return [];
  return LENGTHS.map((words) => ({
    ...judged,
    documents,
    queries: queries.map((query) => ({ ...query, text: firstWords(query.text, words) })),
  }));
}

/**
 * The questions of a collection. The grade of two documents is the best that they share with any query. Documents
 * without a neighbour or without words are no questions.
 */
function neighboursOf({ texts, queries }: JudgedTexts): Asked['queries'] {
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
  return [...near]
    .map(([place, grades]) => ({ text: texts[place] as string, grades, itself: place }))
    .filter(({ text }) => text.trim() !== '');
}

const wordsOf = ({ queries }: Asked): number => mean(queries.map(({ text }) => text.split(/\s+/).length));

function plainNdcg({ texts, queries }: Asked): number {
  const plain = new PlainBm25(texts);
  return mean(queries.map(({ text, grades, itself }) => ndcgOf(plain.best(text, K, itself), grades)));
}

/** Milliseconds of CPU per search. */
function searchMs({ texts, queries }: JudgedTexts, { chunk, question }: Analysis): number {
  const index = createKernel().createTextIndex();
  texts.forEach((text, ordinal) => index.add(ordinal, chunk(text)));
  index.freeze();
  while (index.mergeSome(1000, true));
  const asked = queries.map(({ text }) => {
    const { terms, counts } = question(text);
    return { terms, statistics: { ...index.statistics(terms), counts } };
  });
  const round = (): number => {
    const startedAt = ownCpuMs();
    for (const { terms, statistics } of asked) if (terms.length > 0) index.rank(terms, statistics, K);
    return (ownCpuMs() - startedAt) / asked.length;
  };
  return Math.min(...Array.from({ length: ROUNDS }, round));
}

function measureWords(all: readonly Asked[]): void {
  const rows = all.map((asked) => [
    asked.name,
    whole(asked.queries.length),
    whole(wordsOf(asked)),
    plainNdcg(asked).toFixed(4),
    ...[ONCE, COUNTED].map((way) => measureQuality(asked, way).ndcg.toFixed(4)),
    ...[ONCE, COUNTED].map((way) => searchMs(asked, way).toFixed(3)),
  ]);
  printTable('BM25 alone, texts of documents as queries: nDCG@10, and milliseconds of CPU a search', [
    [
      'collection',
      'queries',
      'words a query',
      'plain',
      ONCE.name,
      COUNTED.name,
      `ms ${ONCE.name}`,
      `ms ${COUNTED.name}`,
    ],
    ...rows,
  ]);
}

/** nDCG@10 by mode for a collection that has been ingested. */
async function ndcgsOf(client: SheafClient, { name, documents, queries }: Asked): Promise<number[]> {
  const placeOf = new Map(documents.map(({ _id }, place) => [_id, place]));
  const ndcgs: number[] = [];
  for (const mode of MODES) {
    const searches = queries.map(({ text, itself }) => ({
      ...SEARCH_MODES[mode],
      q: text,
      k: K,
      filters: { docid: { $ne: documents[itself]!._id } },
    }));
    const rankings = await rankingsOf(client, name, searches);
    ndcgs.push(
      mean(
        rankings.map((ids, i) =>
          ndcgOf(
            ids.map((id) => placeOf.get(id) as number),
            queries[i]!.grades,
          ),
        ),
      ),
    );
  }
  return ndcgs;
}

async function cachedFor(embedder: string, all: readonly Asked[]): Promise<CachedEmbedder> {
  const cached = new CachedEmbedder(embedder);
  for (const { documents, queries } of all)
    for (const texts of [documents.map(passageOf), queries.map(({ text }) => text)]) await cached.cache(texts);
  return cached;
}

async function measureModes(embedder: string, all: readonly Asked[]): Promise<void> {
  const cached = embedder === 'builtin' ? undefined : await cachedFor(embedder, all);
  const rows = await withEmbedder(cached, async (client) => {
    const filled = new Set<string>();
    const done: string[][] = [];
    for (const asked of all) {
      if (!filled.has(asked.name)) await ingestJudged(client, asked.name, asked.documents);
      filled.add(asked.name);
      const ndcgs = await ndcgsOf(client, asked);
      done.push([asked.name, whole(wordsOf(asked)), ...ndcgs.map((ndcg) => ndcg.toFixed(4))]);
    }
    return done;
  });
  printTable(`nDCG@10 over HTTP with ${embedder}, texts of documents as queries`, [
    ['collection', 'words a query', ...MODES],
    ...rows,
  ]);
}

const K1 = 1.2;
const B = 0.75;

interface Posting {
  readonly place: number;
  readonly count: number;
}

/** Textbook BM25 in float64 with term frequencies of the question, as a reference for text ranking. */
class PlainBm25 {
  private readonly postings = new Map<string, Posting[]>();
  private readonly lengths: number[];
  private readonly meanLength: number;

  constructor(texts: readonly string[]) {
    this.lengths = texts.map((text, place) => this.add(text, place));
    this.meanLength = this.lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, texts.length);
  }

  /** Indexes of the k best texts without `itself`, best first. */
  best(question: string, k: number, itself?: number): number[] {
    const scores = new Map<number, number>();
    const { terms, counts } = termsOf(question);
    terms.forEach((term, i) => {
      const found = this.postings.get(term) ?? [];
      const idf = Math.log(1 + (this.lengths.length - found.length + 0.5) / (found.length + 0.5));
      for (const { place, count } of found)
        scores.set(place, (scores.get(place) ?? 0) + (counts[i] as number) * idf * this.weight(place, count));
    });
    return [...scores]
      .filter(([place]) => place !== itself)
      .sort((a, b) => b[1] - a[1])
      .slice(0, k)
      .map(([place]) => place);
  }

  private weight(place: number, count: number): number {
    const length = (this.lengths[place] as number) / this.meanLength;
    return (count * (K1 + 1)) / (count + K1 * (1 - B + B * length));
  }

  private add(text: string, place: number): number {
    const { terms, counts } = termsOf(text);
    terms.forEach((term, i) => {
      const known = this.postings.get(term) ?? [];
      known.push({ place, count: counts[i] as number });
      this.postings.set(term, known);
    });
    return counts.reduce((sum, count) => sum + count, 0);
  }
}

/** Stems without stop words, for documents and questions alike. */
const termsOf = (text: string) => countedTerms(text, Infinity, 'english');
