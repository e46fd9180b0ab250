// Cuts a text into chunks, which are overlapping windows of characters (Unicode code points), and computes the digest
// of a chunk's text. Pure functions.
import { hash } from 'node:crypto';
import type { Chunking } from '../api/collections.js';
import { assert } from '../base/assert.js';

export interface TextChunk {
  text: string;
  /** The number of characters of the whole text before this chunk. */
  offset: number;
}

/** The position, in code units, `points` characters after `unit`, or the end of `text` if that comes first. */
type Advance = (text: string, unit: number, points: number) => number;

const SURROGATE = /[\ud800-\udfff]/;
const NOT_BLANK = /\S/;

/**
 * Cuts `text` into chunks, in their order. The strategy `fixed` makes windows of `size` characters, each starting `size
 * - overlap` characters after the one before. A window that lies wholly inside the previous one is not made, and
 * windows of white space only are left out. `none` makes a single chunk. No surrogate pair is split; a lone surrogate
 * counts as one character. The time is linear in the length of the text. `size` and `overlap` must be within the limits
 * of the API.
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

/** The SHA-256 digest of the UTF-8 bytes of a text, by which threads recognize equal texts. */
export const textDigest = (text: string | Uint8Array): Uint8Array => hash('sha256', text, 'buffer');
