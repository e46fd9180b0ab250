// The built-in embedder: text to a 512-d vector with no model run and no download. Half of it is the mean of static
// token rows (meaning), half hashed words and 4-grams (spelling); README.md beside this file says how good that is.
// Built and called on an embed worker; what it learns of terms stays in it, so it has one owner.
import { readFileSync } from 'node:fs';
import { EmbedderFileError } from './format.js';
import { BUCKETS } from './hash-word.js';
import { openEmbedderTable } from './open-table.js';
import { createRowSum } from './row-sum.js';
import { createTerms, TERM } from './terms.js';
import { createWordSum } from './word-sum.js';

export const BUILTIN_DIM = 512;
const TOKEN_DIM = BUILTIN_DIM - BUCKETS;
/** Length of the hashed half in a vector of length 1. */
const HASHED_SHARE = 0.5;
const TOKEN_SHARE = Math.sqrt(1 - HASHED_SHARE ** 2);

export interface BuiltinEmbedder {
  readonly dim: typeof BUILTIN_DIM;
  /**
   * Vectors of `texts`, row by row (texts.length x 512). A row has length 1, or is all zero where its text has neither
   * a token nor a word. The same text gives the same bits, alone or in a batch. Takes time and memory in proportion to
   * the text.
   */
  embed(texts: readonly string[]): Float32Array;
}

/** Throws EmbedderFileError where `bytes` (the packed file beside this module, unless given) are broken. */
export function loadBuiltinEmbedder(
  bytes: Uint8Array = readFileSync(new URL('./embedder.bin', import.meta.url)),
): BuiltinEmbedder {
  const table = openEmbedderTable(bytes);
  if (table.width !== TOKEN_DIM)
    throw new EmbedderFileError('layout', `rows of ${table.width} numbers, not ${TOKEN_DIM}`);
  const terms = createTerms(table);
  const tokenSum = createRowSum(table);
  const wordSum = createWordSum(table.idfs);

  const addTerm = (cells: Int32Array, start: number): void => {
    const piecesStart = start + TERM.lists;
    const wordsStart = piecesStart + cells[start + TERM.pieces]!;
    const end = wordsStart + cells[start + TERM.words]!;
    for (let at = piecesStart; at < wordsStart; at++) tokenSum.add(cells[at]!);
    for (let at = wordsStart; at < end; at++) wordSum.count(cells, cells[at]!);
  };
  const embedInto = (row: Float32Array, text: string): void => {
    tokenSum.reset();
    terms.forEach(text, addTerm);
    writeRow(row, tokenSum.finish(), wordSum.finish(terms.cells()));
    terms.trim();
  };
  const embed = (texts: readonly string[]): Float32Array => {
    const vectors = new Float32Array(texts.length * BUILTIN_DIM);
    texts.forEach((text, i) => embedInto(vectors.subarray(i * BUILTIN_DIM, (i + 1) * BUILTIN_DIM), text));
    return vectors;
  };
  return { dim: BUILTIN_DIM, embed };
}

function writeRow(row: Float32Array, tokens: Float64Array, words: Float64Array): void {
  const tokensLength = lengthOf(tokens);
  const wordsLength = lengthOf(words);
  // A half that is missing leaves its share to the other.
  const length = Math.hypot(tokensLength > 0 ? TOKEN_SHARE : 0, wordsLength > 0 ? HASHED_SHARE : 0);
  if (tokensLength > 0) writeScaled(row, 0, tokens, TOKEN_SHARE / length / tokensLength);
  if (wordsLength > 0) writeScaled(row, TOKEN_DIM, words, HASHED_SHARE / length / wordsLength);
}

function lengthOf(vector: Float64Array): number {
  let squares = 0;
  for (let i = 0; i < vector.length; i++) squares += vector[i]! * vector[i]!;
  return Math.sqrt(squares);
}

function writeScaled(row: Float32Array, start: number, vector: Float64Array, factor: number): void {
  for (let i = 0; i < vector.length; i++) row[start + i] = vector[i]! * factor;
}
