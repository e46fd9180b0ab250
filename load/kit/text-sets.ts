// Texts for load programs: the judged collections of ../shared/data (corpus.jsonl, queries.jsonl, qrels.tsv), short
// windows and questions made from them, and Cranfield with its ingest over HTTP. The folder is beside the project and
// not part of it; a program reports its absence and measures nothing.
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createPrng } from '../../src/base/prng.js';
import type { SheafClient } from '../../src/client/client.js';
import { tokensOf } from '../../src/text/tokenize.js';
import { type CannonRequest, jsonPost } from './closed-loop.js';
import { dot } from './cosine.js';
import type { Settings } from './server.js';
import { ndcgOf } from '../../src/ranking/evaluation.js';

/** Real corpora with queries and relevance judgements. */
export const JUDGED_COLLECTIONS: readonly string[] = ['cranfield', 'scifact', 'npl-vaswani'];
/** The depth of nDCG. */
const DEPTH = 10;

/** The folder of a data set. Undefined, with one message on standard output, if it is absent. */
export function dataFolder(name: string): string | undefined {
  const folder = `../shared/data/${name}`;
  if (existsSync(folder)) return folder;
  console.log(`skipped: ${folder} is not there`);
  return undefined;
}

function readJsonLines<T>(folder: string, file: string): T[] {
  return readLines(folder, file).map((line) => JSON.parse(line) as T);
}

const readLines = (folder: string, file: string): string[] =>
  readFileSync(`${folder}/${file}`, 'utf8').split('\n').filter(Boolean);

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

/** The first judged documents and queries. */
export function readJudged(
  folder: string,
  documentsMax: number,
  queriesMax: number,
): { documents: JudgedDocument[]; queries: JudgedQuery[] } {
  const judgements = readJudgements(folder);
  const documents = readJsonLines<JudgedDocument>(folder, 'corpus.jsonl').slice(0, documentsMax);
  const queries = readJsonLines<Omit<JudgedQuery, 'grades'>>(folder, 'queries.jsonl').flatMap(({ _id, text }) => {
    const grades = judgements.get(_id);
    return grades ? [{ _id, text, grades }] : [];
  });
  return { documents, queries: queries.slice(0, queriesMax) };
}

function readJudgements(folder: string): Map<string, Map<string, number>> {
  const byQuery = new Map<string, Map<string, number>>();
  for (const line of readLines(folder, 'qrels.tsv').slice(1)) {
    const [query, document, grade] = line.split('\t') as [string, string, string];
    byQuery.set(query, (byQuery.get(query) ?? new Map<string, number>()).set(document, Number(grade)));
  }
  return byQuery;
}

/** Mean nDCG@10 over the queries. */
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

/** Number of words in a window, a short text cut out of a collection. */
export const WINDOW_WORDS = 22;

export interface WordWindows {
  readonly windows: readonly string[];
  /** Distinct tokens of each query of the corpora. */
  readonly questions: readonly (readonly string[])[];
}

/**
 * `count` windows, evenly spread over all corpora; they overlap if there are not enough words. Undefined without the
 * corpora.
 */
export function readWordWindows(count: number): WordWindows | undefined {
  const folders = JUDGED_COLLECTIONS.map(dataFolder);
  if (!folders.every((folder) => folder !== undefined)) return undefined;
  const words = folders
    .flatMap((folder) =>
      readJsonLines<JudgedDocument>(folder, 'corpus.jsonl').map(({ title, text }) =>
        `${title ?? ''} ${text}`.split(/\s+/).filter(Boolean),
      ),
    )
    .flat();
  const stride = (words.length - WINDOW_WORDS) / count;
  const windows = Array.from({ length: count }, (_, i) =>
    words.slice(Math.floor(i * stride), Math.floor(i * stride) + WINDOW_WORDS).join(' '),
  );
  const questions = folders.flatMap((folder) =>
    readJsonLines<JudgedQuery>(folder, 'queries.jsonl').map(({ text }) => [...new Set(tokensOf(text))]),
  );
  return { windows, questions };
}

/** `count` questions of `terms` distinct tokens of one query each, in random order; the same for every peer. */
export function drawQuestions(questions: readonly (readonly string[])[], terms: number, count: number): string[][] {
  const prng = createPrng(terms);
  const long = questions.filter((question) => question.length >= terms);
  return Array.from({ length: count }, () => {
    const rest = [...(long[prng.int(long.length)] as readonly string[])];
    return Array.from({ length: terms }, () => rest.splice(prng.int(rest.length), 1)[0] as string);
  });
}

/** Two consecutive words of a random window. */
export function drawPhrases(windows: readonly string[], count: number): string[][] {
  const prng = createPrng(count);
  return Array.from({ length: count }, () => {
    const tokens = tokensOf(windows[prng.int(windows.length)] as string);
    const at = prng.int(Math.max(1, tokens.length - 1));
    return tokens.slice(at, at + 2);
  }).filter((phrase) => phrase.length === 2);
}

/** The first four letters of a random word of a query. */
export function drawPrefixes(questions: readonly (readonly string[])[], count: number): string[][] {
  const prng = createPrng(count);
  const words = questions.flat().filter((word) => /^[a-z]{5,}$/.test(word));
  return Array.from({ length: count }, () => [(words[prng.int(words.length)] as string).slice(0, 4)]);
}

/** The first `count` words of a text. */
export const firstWords = (text: string, count: number): string =>
  count === Infinity ? text : text.trim().split(/\s+/).slice(0, count).join(' ');

/** The folder of Cranfield: 1,400 abstracts, two of them empty, and 225 queries. */
const CRANFIELD = '../shared/data/cranfield';
export const CRANFIELD_TARGET = { tenant: 'load', collection: 'cranfield' };

export interface CranfieldDocument {
  docid: string;
  text: string;
}

/** Whether the collection is present; reports its absence otherwise. */
export const hasCranfield = (): boolean => dataFolder('cranfield') !== undefined;

/** Title and text of the first `count` documents. */
export function readCranfieldDocuments(count = Infinity): CranfieldDocument[] {
  const lines = readJsonLines<JudgedDocument>(CRANFIELD, 'corpus.jsonl');
  return lines
    .slice(0, count)
    .map(({ _id, title, text }) => ({ docid: _id, text: `${title}\n${text}` }))
    .filter(({ text }) => text.trim() !== '');
}

export function readCranfieldQueries(): string[] {
  return readJsonLines<JudgedQuery>(CRANFIELD, 'queries.jsonl').map(({ text }) => text);
}

/**
 * One document per request, `concurrency` at a time. Resolves to the number of chunks; rejects with the first error.
 */
export async function ingestCranfield(
  client: SheafClient,
  documents: readonly CranfieldDocument[],
  concurrency: number,
): Promise<number> {
  const { tenant, collection } = CRANFIELD_TARGET;
  const queue = documents.values();
  let chunks = 0;
  const work = async (): Promise<void> => {
    for (const document of queue) {
      const answer = await client.ingestText(tenant, collection, document);
      chunks += answer.chunks;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return chunks;
}

/** A search request for the collection. */
export const searchCranfield = (body: object): CannonRequest =>
  jsonPost(`/v1/collections/${CRANFIELD_TARGET.tenant}/${CRANFIELD_TARGET.collection}/search`, body);

/** Settings of a server with the shared model, all-MiniLM-L6-v2. Undefined, with one message, if it is absent. */
export function modelSettings(): Settings | undefined {
  const folder = dataFolder('model-minilm-l6');
  return folder === undefined ? undefined : { SHEAF_EMBEDDER__MODEL: resolve(folder) };
}

/** An endless series of distinct texts as long as the queries: each is a query with one word of another. */
export function* variantsOf(queries: readonly string[]): Generator<string, never> {
  const words = [...new Set(queries.flatMap((query) => query.split(' ')))];
  const seen = new Set<string>(queries);
  for (let n = 0; ; n++) {
    const own = (queries[n % queries.length] as string).split(' ');
    const round = Math.floor(n / queries.length);
    own[round % own.length] = words[(round * 31 + n) % words.length] as string;
    const text = own.join(' ');
    // After some thousand rounds a text may repeat.
    const told = seen.has(text) ? `${text} ${round}` : text;
    seen.add(told);
    yield told;
  }
}
