// nDCG@10 of the built-in embedder on three judged collections, beside the figures its tables were published with: exact
// cosine over whole documents, title and text joined by a space, gains linear. node dist/load/embed-quality.js [--tiny];
// reads ../shared/data. --tiny takes samples, whose figures are no quality figures.
import { readFileSync } from 'node:fs';
import { loadBuiltinEmbedder } from '../workers/embed/builtin/builtin-embedder.js';
import { dataFolder } from './kit/data.js';

const DEPTH = 10;
const PUBLISHED = { cranfield: 0.46, scifact: 0.538, 'npl-vaswani': 0.325 };

interface Document {
  _id: string;
  title: string;
  text: string;
}
interface Query {
  _id: string;
  text: string;
}
type Judgements = Map<string, number>;

function linesOf(folder: string, file: string): string[] {
  return readFileSync(`${folder}/${file}`, 'utf8').split('\n').filter(Boolean);
}

/** Query id to its judged documents and their grades. */
function readJudgements(folder: string): Map<string, Judgements> {
  const byQuery = new Map<string, Judgements>();
  for (const line of linesOf(folder, 'qrels.tsv').slice(1)) {
    const [query, document, grade] = line.split('\t') as [string, string, string];
    byQuery.set(query, (byQuery.get(query) ?? new Map()).set(document, Number(grade)));
  }
  return byQuery;
}

/** Discounted cumulative gain: Järvelin and Kekäläinen (2002), the gain being the grade itself. */
function gainOf(grades: readonly number[]): number {
  return grades.slice(0, DEPTH).reduce((sum, grade, rank) => sum + Math.max(grade, 0) / Math.log2(rank + 2), 0);
}

function ndcgOf(ranking: readonly string[], judgements: Judgements): number {
  const ideal = gainOf([...judgements.values()].sort((a, b) => b - a));
  return ideal === 0 ? 0 : gainOf(ranking.map((id) => judgements.get(id) ?? 0)) / ideal;
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

function rowsOf(vectors: Float32Array, dim: number): Float32Array[] {
  return Array.from({ length: vectors.length / dim }, (_, i) => vectors.subarray(i * dim, (i + 1) * dim));
}

function measure(folder: string, documentsMax: number, queriesMax: number): number {
  const embedder = loadBuiltinEmbedder();
  const judgements = readJudgements(folder);
  const documents = linesOf(folder, 'corpus.jsonl').slice(0, documentsMax).map((line) => JSON.parse(line) as Document);
  const queries = linesOf(folder, 'queries.jsonl').map((line) => JSON.parse(line) as Query);
  const judged = queries.filter(({ _id }) => judgements.has(_id)).slice(0, queriesMax);

  const documentRows = rowsOf(embedder.embed(documents.map(({ title, text }) => `${title} ${text}`)), embedder.dim);
  const queryRows = rowsOf(embedder.embed(judged.map(({ text }) => text)), embedder.dim);
  const ndcgs = judged.map(({ _id }, i) => {
    const scored = documents.map((document, j) => ({ id: document._id, score: dot(queryRows[i]!, documentRows[j]!) }));
    const best = scored.sort((a, b) => b.score - a.score).slice(0, DEPTH);
    return ndcgOf(best.map(({ id }) => id), judgements.get(_id)!);
  });
  return ndcgs.reduce((sum, ndcg) => sum + ndcg, 0) / ndcgs.length;
}

const tiny = process.argv.includes('--tiny');
for (const [collection, published] of Object.entries(PUBLISHED)) {
  const folder = dataFolder(collection);
  if (folder && !tiny) console.log(`${collection}: nDCG@10 ${measure(folder, Infinity, Infinity).toFixed(4)}, published ${published.toFixed(3)}`);
  if (folder && tiny) console.log(`${collection}, 300 documents, 20 queries: nDCG@10 ${measure(folder, 300, 20).toFixed(4)}`);
}
