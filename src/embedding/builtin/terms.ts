// What the embedder needs to know of each piece of a text, remembered between texts, because natural text repeats few
// terms often: of a term (what the text can be cut into without looking around) its token pieces and words, of a word
// its weight and hashed slots. Both are records in one pool of cells. One owner: the embedder of one embed worker.
import { createCellPool } from './cell-pool.js';
import { hashWord } from './hash-word.js';
import type { EmbedderTable } from './open-table.js';
import { forEachTerm, plainWords } from './split-words.js';
import { createPieceEncoder } from './word-pieces.js';

/** A term's record: these two counts, then so many piece ids, then so many starts of word records. */
export const TERM = { pieces: 0, words: 1, lists: 2 } as const;

/**
 * A word's record: how often it stands in the text at hand (word-sum.ts counts here, and sets it back to 0 after each
 * text), its rarest piece, whose idf is the word's, the slot of the word, the count of its 4-grams, then their slots.
 */
export const WORD = { count: 0, rarestPiece: 1, slot: 2, grams: 3, list: 4 } as const;
export const NO_PIECE = -1;

export interface Terms {
  /** Calls `visit` with the pool's cells and the start of a term's record in them, for each term of `text` in order. */
  forEach(text: string, visit: (cells: Int32Array, start: number) => void): void;
  /** The pool's cells, valid until the next `forEach`. Of all terms in it, equal words share one record. */
  cells(): Int32Array;
  /** Forgets everything if it takes more than the bound. To be called between texts, when no word has a count. */
  trim(): void;
  /** The estimated size of what is remembered. */
  bytes(): number;
}

/** Three times what the terms of 5,183 scientific abstracts take (scifact). */
const BYTES_MAX = 32 * 1024 * 1024;
/** A map entry and the head of its key, whose characters take up to two bytes each. */
const ENTRY_BYTES = 80;
const CHARACTER_BYTES = 2;

export function createTerms(table: EmbedderTable, bytesMax = BYTES_MAX): Terms {
  const encode = createPieceEncoder(table.vocabulary);
  const pool = createCellPool();
  const termStarts = new Map<string, number>();
  const wordStarts = new Map<string, number>();
  let keyBytes = 0;

  const remember = (starts: Map<string, number>, key: string, record: readonly number[]): number => {
    const start = pool.append(record);
    starts.set(key, start);
    keyBytes += ENTRY_BYTES + CHARACTER_BYTES * key.length;
    return start;
  };
  const learnWord = (text: string): number => {
    const { word, grams } = hashWord(text);
    return remember(wordStarts, text, [0, rarestOf(encode(text), table.idfs), word, grams.length, ...grams]);
  };
  const learnTerm = (text: string): number => {
    const pieces = encode(text);
    const words = plainWords(text).map((word) => wordStarts.get(word) ?? learnWord(word));
    return remember(termStarts, text, [pieces.length, words.length, ...pieces, ...words]);
  };
  const bytes = (): number => keyBytes + Int32Array.BYTES_PER_ELEMENT * pool.length();

  return {
    forEach: (text, visit) =>
      forEachTerm(text, (term) => {
        const start = termStarts.get(term) ?? learnTerm(detach(term));
        visit(pool.cells(), start);
      }),
    cells: pool.cells,
    trim: () => {
      if (bytes() <= bytesMax) return;
      for (const forgotten of [termStarts, wordStarts, pool]) forgotten.clear();
      keyBytes = 0;
    },
    bytes,
  };
}

function rarestOf(pieces: readonly number[], idfs: Float32Array): number {
  return pieces.reduce((rarest, id) => (rarest === NO_PIECE || idfs[id]! > idfs[rarest]! ? id : rarest), NO_PIECE);
}

/** A slice of a string keeps the whole string alive; a copy by way of bytes does not. */
function detach(text: string): string {
  return Buffer.from(text).toString();
}
