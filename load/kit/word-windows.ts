// Short texts in number, from the real corpora of ../shared/data: windows of their words, and questions from their
// query files. Used by load/words.ts, load/long-queries.ts and load/query-lengths.ts.
import { readFileSync } from 'node:fs';
import { createPrng } from '../../src/base/prng.js';
import { tokensOf } from '../../src/text/tokenize.js';
import { dataFolder } from './data.js';

const CORPORA = ['cranfield', 'scifact', 'npl-vaswani'];
export const WINDOW_WORDS = 22;

export interface WordWindows {
  readonly windows: readonly string[];
  /** Distinct tokens of each query of the corpora. */
  readonly questions: readonly (readonly string[])[];
}

/**
 * `count` windows, spread evenly over all corpora; they overlap where there are more of them than words for them.
 * Undefined without the corpora.
 */
export function readWordWindows(count: number): WordWindows | undefined {
  const folders = CORPORA.map(dataFolder);
  if (!folders.every((folder) => folder !== undefined)) return undefined;
  const words = folders
    .flatMap((folder) =>
      readLines(folder, 'corpus.jsonl').map(({ title, text }) => `${title ?? ''} ${text}`.split(/\s+/).filter(Boolean)),
    )
    .flat();
  const stride = (words.length - WINDOW_WORDS) / count;
  const windows = Array.from({ length: count }, (_, i) =>
    words.slice(Math.floor(i * stride), Math.floor(i * stride) + WINDOW_WORDS).join(' '),
  );
  const questions = folders.flatMap((folder) =>
    readLines(folder, 'queries.jsonl').map(({ text }) => [...new Set(tokensOf(text))]),
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

/** Two words that follow each other in a random window. */
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

/** The text up to its word of that number; all of it where it has fewer. */
export const firstWords = (text: string, count: number): string =>
  count === Infinity ? text : text.trim().split(/\s+/).slice(0, count).join(' ');

function readLines(folder: string, name: string): { title?: string; text: string }[] {
  return readFileSync(`${folder}/${name}`, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { title?: string; text: string });
}
