// Judged collections of ../shared/data (corpus.jsonl, queries.jsonl, qrels.tsv), and how good a ranking by exact cosine
// is. Used by load/embed-quality.ts and, through word-quality.ts, by load/languages.ts.
import { readFileSync } from 'node:fs';
import { dot } from './cosine.js';

const DEPTH = 10;

export interface JudgedDocument {
  _id: string;
  title?: string;
  text: string;
}

export interface JudgedQuery {
  _id: string;
  text: string;
  /** Grades by document. */
  grades: Map<string, number>;
}

/** The first documents and queries, of those that are judged. */
export function readJudged(
  folder: string,
  documentsMax: number,
  queriesMax: number,
): { documents: JudgedDocument[]; queries: JudgedQuery[] } {
  const judgements = readJudgements(folder);
  const documents = linesOf(folder, 'corpus.jsonl')
    .slice(0, documentsMax)
    .map((line) => JSON.parse(line) as JudgedDocument);
  const queries = linesOf(folder, 'queries.jsonl').flatMap((line) => {
    const { _id, text } = JSON.parse(line) as { _id: string; text: string };
    const grades = judgements.get(_id);
    return grades ? [{ _id, text, grades }] : [];
  });
  return { documents, queries: queries.slice(0, queriesMax) };
}

function linesOf(folder: string, file: string): string[] {
  return readFileSync(`${folder}/${file}`, 'utf8').split('\n').filter(Boolean);
}

function readJudgements(folder: string): Map<string, Map<string, number>> {
  const byQuery = new Map<string, Map<string, number>>();
  for (const line of linesOf(folder, 'qrels.tsv').slice(1)) {
    const [query, document, grade] = line.split('\t') as [string, string, string];
    byQuery.set(query, (byQuery.get(query) ?? new Map<string, number>()).set(document, Number(grade)));
  }
  return byQuery;
}

/** The mean nDCG@10 over the queries. */
export function meanNdcg(
  documents: readonly JudgedDocument[],
  documentRows: readonly Float32Array[],
  queries: readonly JudgedQuery[],
  queryRows: readonly Float32Array[],
): number {
  const ndcgs = queries.map(({ grades }, i) => {
    const scored = documents.map(({ _id }, j) => ({ _id, score: dot(queryRows[i]!, documentRows[j]!) }));
    const best = scored.sort((a, b) => b.score - a.score).slice(0, DEPTH);
    return ndcgOf(
      best.map(({ _id }) => _id),
      grades,
    );
  });
  return ndcgs.reduce((sum, ndcg) => sum + ndcg, 0) / ndcgs.length;
}

/** `ranking`: the best first, at least 10 of them where there are so many. */
export function ndcgOf<Id>(ranking: readonly Id[], grades: ReadonlyMap<Id, number>): number {
  const ideal = gainOf([...grades.values()].sort((a, b) => b - a));
  return ideal === 0 ? 0 : gainOf(ranking.map((id) => grades.get(id) ?? 0)) / ideal;
}

/** The share of the relevant documents that the ranking has. */
export function recallOf<Id>(ranking: readonly Id[], grades: ReadonlyMap<Id, number>): number {
  const wanted = [...grades].filter(([, grade]) => grade > 0);
  const found = new Set(ranking);
  return wanted.length === 0 ? 0 : wanted.filter(([id]) => found.has(id)).length / wanted.length;
}

/** Discounted cumulative gain: Järvelin and Kekäläinen (2002), the gain being the grade itself. */
function gainOf(grades: readonly number[]): number {
  return grades.slice(0, DEPTH).reduce((sum, grade, rank) => sum + Math.max(grade, 0) / Math.log2(rank + 2), 0);
}
