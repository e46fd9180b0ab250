// Cuts a text into chunks: overlapping windows of characters, where a character is a Unicode code point. And the digest
// of a chunk's text, by which two threads know of two texts that they are the same. Pure.
import { hash } from 'node:crypto';
import type { Chunking } from '../api/collections.js';
import { assert } from '../base/assert.js';

export interface TextChunk {
  text: string;
  /** Characters of the whole text before this chunk. */
  offset: number;
}

/** The position in code units `points` characters after `unit`, or the end of `text` where that comes first. */
type Advance = (text: string, unit: number, points: number) => number;

const SURROGATE = /[\ud800-\udfff]/;
const NOT_BLANK = /\S/;

/**
 * The chunks of `text` in its order. `fixed` makes windows of `size` characters, each starting `size - overlap` after
 * the one before; a last window wholly inside the one before is not made, and windows of white space alone are left
 * out. `none` makes one chunk. No surrogate pair is split; a lone surrogate counts as one character. Takes time in
 * proportion to the text. Requires: `size` and `overlap` within the bounds of the contract (fixed), which the caller
 * has checked.
 */
export function chunkText(text: string, { strategy, size, overlap }: Chunking): TextChunk[] {
  if (strategy === 'none') return NOT_BLANK.test(text) ? [{ text, offset: 0 }] : [];
  assert(
    size !== undefined && overlap !== undefined && overlap >= 0 && overlap < size,
    'fixed chunking has a size and a smaller overlap',
  );
  return windows(text, size, overlap, SURROGATE.test(text) ? advanceByCodePoint : advanceByUnit);
}

function windows(text: string, size: number, overlap: number, advance: Advance): TextChunk[] {
  const step = size - overlap;
  const chunks: TextChunk[] = [];
  let offset = 0;
  let start = 0;
  let end = advance(text, 0, size);
  for (;;) {
    const window = text.slice(start, end);
    if (NOT_BLANK.test(window)) chunks.push({ text: window, offset });
    if (end === text.length) return chunks;
    offset += step;
    start = advance(text, start, step);
    end = advance(text, end, step);
  }
}

const advanceByUnit: Advance = (text, unit, points) => Math.min(unit + points, text.length);

const advanceByCodePoint: Advance = (text, unit, points) => {
  for (; points > 0 && unit < text.length; points--) unit += text.codePointAt(unit)! > 0xffff ? 2 : 1;
  return unit;
};

export const DIGEST_BYTES = 32;

/** SHA-256 of the UTF-8 bytes: nobody can make two texts that have the same. */
export const textDigest = (text: string | Uint8Array): Uint8Array => hash('sha256', text, 'buffer');
