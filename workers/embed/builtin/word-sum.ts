// The sum of the hashed words of one text: each distinct word adds log(1 + count) x idf to the bucket of its own slot,
// and a share of that to those of its 4-grams. Counts stand in the word records of the terms' pool. Owner: one
// embedder.
import { BUCKETS } from './hash-word.js';
import type { Slot } from './hash-word.js';
import { NO_PIECE, WORD } from './terms.js';

/** Weight of a 4-gram beside its word. */
const GRAM_WEIGHT = 0.3;

export interface WordSum {
  /** Notes one more occurrence of the word whose record starts at `word`. */
  count(cells: Int32Array, word: number): void;
  /** The sum over the words counted, whose counts go back to 0. Valid until the next call. */
  finish(cells: Int32Array): Float64Array;
}

export function createWordSum(idfs: Float32Array): WordSum {
  const sum = new Float64Array(BUCKETS);
  const distinct: number[] = [];

  return {
    count: (cells, word) => {
      if (cells[word + WORD.count]!++ === 0) distinct.push(word);
    },
    finish: (cells) => {
      sum.fill(0);
      for (const word of distinct) {
        addWord(sum, idfs, cells, word);
        cells[word + WORD.count] = 0;
      }
      distinct.length = 0;
      return sum;
    },
  };
}

function addWord(sum: Float64Array, idfs: Float32Array, cells: Int32Array, word: number): void {
  const rarest = cells[word + WORD.rarestPiece]!;
  if (rarest === NO_PIECE) return;
  const weight = Math.log1p(cells[word + WORD.count]!) * idfs[rarest]!;
  addSigned(sum, cells[word + WORD.slot]!, weight);
  const gramsStart = word + WORD.list;
  const end = gramsStart + cells[word + WORD.grams]!;
  for (let at = gramsStart; at < end; at++) addSigned(sum, cells[at]!, GRAM_WEIGHT * weight);
}

function addSigned(sum: Float64Array, slot: Slot, weight: number): void {
  sum[slot >> 1]! += (2 * (slot & 1) - 1) * weight;
}
