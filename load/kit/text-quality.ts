// Quality of text ranking: nDCG@10 and recall@100 of the text index with differently derived terms.
import type { QueryTerms } from '../../src/text/terms.js';
import { createKernel } from './kernel.js';
import { ndcgOf, recallOf } from '../../src/ranking/evaluation.js';
import { dataFolder, readJudged } from './text-sets.js';

const DEPTH = 100;

export interface JudgedTexts {
  name: string;
  texts: readonly string[];
  /**
   * Grades by index of a text. `itself` is the index of the text that serves as the question and does not count as a
   * hit.
   */
  queries: readonly { text: string; grades: ReadonlyMap<number, number>; itself?: number | undefined }[];
}

/** How terms are derived from chunks and questions. */
export interface Analysis {
  name: string;
  chunk(text: string): string[];
  question(text: string): QueryTerms;
}

interface WordQuality {
  ndcg: number;
  recall: number;
  /** Bytes of the text index for each text. */
  bytes: number;
}

/**
 * A collection of ../shared/data, title and text joined by a space. Undefined, with a message on standard output, if it
 * is absent.
 */
export function readJudgedTexts(name: string, documentsMax: number, queriesMax: number): JudgedTexts | undefined {
  const folder = dataFolder(name);
  if (folder === undefined) return undefined;
  const { documents, queries } = readJudged(folder, documentsMax, queriesMax);
  const places = new Map(documents.map(({ _id }, place) => [_id, place]));
  const graded = queries.map(({ text, grades }) => ({
    text,
    grades: new Map([...grades].map(([id, grade], i) => [places.get(id) ?? -1 - i, grade])),
  }));
  return { name, texts: documents.map(({ title, text }) => `${title ?? ''} ${text}`), queries: graded };
}

export function measureQuality({ texts, queries }: JudgedTexts, { chunk, question }: Analysis): WordQuality {
  const index = createKernel().createTextIndex();
  texts.forEach((text, ordinal) => index.add(ordinal, chunk(text)));
  index.freeze();
  while (index.mergeSome(1000, true));
  const scored = queries.map(({ text, grades, itself }) => {
    const { terms, counts } = question(text);
    const statistics = { ...index.statistics(terms), counts };
    const found = terms.length === 0 ? [] : [...index.rank(terms, statistics, DEPTH).ordinals];
    const others = found.filter((place) => place !== itself);
    return { ndcg: ndcgOf(others, grades), recall: recallOf(others, grades) };
  });
  const bytes = Object.values(index.bytes()).reduce((sum, part) => sum + part, 0) / texts.length;
  return { ndcg: mean(scored.map(({ ndcg }) => ndcg)), recall: mean(scored.map(({ recall }) => recall)), bytes };
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
