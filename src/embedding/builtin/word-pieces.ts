// WordPiece: a word becomes the longest vocabulary entries that cover it from left to right, or [UNK] where none do.
// Source: Schuster and Nakajima, "Japanese and Korean voice search" (2012), in the variant of BERT. Embed workers only.
import { bertWords } from './split-words.js';

const UNKNOWN = '[UNK]';
const CONTINUATION = '##';
/** BERT's limit: a longer word is unknown. */
const WORD_CHARACTERS_MAX = 100;

/** Text to the ids of its pieces, without [CLS] and [SEP]. A text that spells such a marker gets ordinary pieces. */
export type PieceEncoder = (text: string) => readonly number[];

export function createPieceEncoder(vocabulary: readonly string[]): PieceEncoder {
  const heads = new Map<string, number>();
  const tails = new Map<string, number>();
  let pieceLengthMax = 0;
  vocabulary.forEach((entry, id) => {
    if (entry.startsWith(CONTINUATION)) tails.set(entry.slice(CONTINUATION.length), id);
    else heads.set(entry, id);
    pieceLengthMax = Math.max(pieceLengthMax, entry.length);
  });
  const unknown = heads.get(UNKNOWN) ?? 0;

  /** Appends the pieces of `word` to `ids`, or nothing and answers false where the vocabulary cannot cover it. */
  const cover = (word: string, ids: number[]): boolean => {
    const lengthBefore = ids.length;
    for (let start = 0; start < word.length; ) {
      const entries = start === 0 ? heads : tails;
      let end = Math.min(word.length, start + pieceLengthMax);
      let id = entries.get(word.slice(start, end));
      while (id === undefined && --end > start) id = entries.get(word.slice(start, end));
      if (id === undefined) {
        ids.length = lengthBefore;
        return false;
      }
      ids.push(id);
      start = end;
    }
    return true;
  };

  return (text) => {
    const ids: number[] = [];
    for (const word of bertWords(text)) {
      if (isTooLong(word) || !cover(word, ids)) ids.push(unknown);
    }
    return ids;
  };
}

function isTooLong(word: string): boolean {
  // A character takes one or two UTF-16 units: only in between do they have to be counted.
  if (word.length <= WORD_CHARACTERS_MAX) return false;
  return word.length > 2 * WORD_CHARACTERS_MAX || [...word].length > WORD_CHARACTERS_MAX;
}
