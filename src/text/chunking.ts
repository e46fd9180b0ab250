// Cuts a text into chunks: overlapping windows of characters (Unicode code points), or whole sentences or paragraphs.
// Puts a text together again from its stored chunks, and computes the digest of a chunk's text. Pure functions.
import { hash } from 'node:crypto';
import type { Chunking } from '../api/collections.js';
import { assert } from '../base/assert.js';
import { AHEAD_UNITS, type Sentence, lastBreak, sentencesOf } from './sentences.js';

export interface TextChunk {
  text: string;
  /** The number of characters of the whole text before this chunk. */
  offset: number;
}

/** The position, in code units, `points` characters after `unit`, or the end of `text` if that comes first. */
type Advance = (text: string, unit: number, points: number) => number;

const SURROGATE = /[\ud800-\udfff]/;
const NOT_BLANK = /\S/;
const WORD = /[\p{L}\p{N}]/u;

/**
 * Cuts `text` into chunks, in their order, by the strategy of the collection. `fixed` makes windows of `size`
 * characters, each starting `size - overlap` characters after the one before. A window that lies wholly inside the
 * previous one is not made, and windows of white space only are left out. `sentence` and `paragraph` are described at
 * `Packer`; `sections` are positions in code units, in ascending order, at which they start a chunk. `none` makes a
 * single chunk. No surrogate pair is split; a lone surrogate counts as one character. The time is linear in the length
 * of the text. `size` and `overlap` must be within the limits of the API.
 */
export function chunkText(
  text: string,
  { strategy, size, overlap }: Chunking,
  sections: readonly number[] = [],
): TextChunk[] {
  if (strategy === 'none') return NOT_BLANK.test(text) ? [{ text, offset: 0 }] : [];
  assert(
    size !== undefined && overlap !== undefined && overlap >= 0 && overlap < size,
    'a chunking that cuts has a size and a smaller overlap',
  );
  const advance = SURROGATE.test(text) ? advanceByCodePoint : advanceByUnit;
  if (strategy === 'fixed') return windows(text, size, overlap, advance);
  const packer = new Packer(text, size, overlap);
  const pieces = piecesOf(text, size, sections, advance);
  for (const pack of strategy === 'paragraph' ? byParagraph(pieces) : single(pieces)) packer.add(pack);
  return packer.end();
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

/** A sentence, or the largest piece of one that fits into a chunk, without the white space around it. */
interface Piece extends Sentence {
  /** Its position and its end in characters. */
  from: number;
  to: number;
  isSectionStart: boolean;
}

function* piecesOf(text: string, size: number, sections: readonly number[], advance: Advance): Generator<Piece> {
  const charactersTo = characterCounter(text, advance);
  let passed = 0;
  for (const { start, end, isParagraphStart } of sentencesOf(text, sections)) {
    const passedBefore = passed;
    while (passed < sections.length && sections[passed]! <= start) passed++;
    const isSectionStart = passed > passedBefore;
    for (let at = start; at < end; ) {
      const limit = end - at <= size ? end : advance(text, at, size);
      const cut = limit >= end ? end : at + lastBreak(text.slice(at, Math.min(end, limit + AHEAD_UNITS)), limit - at);
      const ended = at + text.slice(at, cut).trimEnd().length;
      const begins = at === start;
      yield {
        start: at,
        end: ended,
        from: charactersTo(at),
        to: charactersTo(ended),
        isParagraphStart: begins && isParagraphStart,
        isSectionStart: begins && isSectionStart,
      };
      for (at = cut; at < end && !NOT_BLANK.test(text[at]!); ) at++;
    }
  }
}

/** Counts the characters before a position; the positions must ascend. */
function characterCounter(text: string, advance: Advance): (unit: number) => number {
  if (advance === advanceByUnit) return (unit) => unit;
  let [at, count] = [0, 0];
  return (unit) => {
    for (; at < unit; count++) at = advance(text, at, 1);
    return count;
  };
}

function* single(pieces: Iterable<Piece>): Generator<Piece[]> {
  for (const piece of pieces) yield [piece];
}

function* byParagraph(pieces: Iterable<Piece>): Generator<Piece[]> {
  let paragraph: Piece[] = [];
  for (const piece of pieces) {
    if (piece.isParagraphStart && paragraph.length > 0) {
      yield paragraph;
      paragraph = [];
    }
    paragraph.push(piece);
  }
  if (paragraph.length > 0) yield paragraph;
}

/**
 * Fills chunks with whole sentences, or with whole paragraphs, as long as they fit. A paragraph that is longer than a
 * chunk is filled in by sentences, a sentence that is longer by words. A chunk begins with the last sentences of the
 * one before that have up to `overlap` characters together and leave room for what follows. A section begins a chunk
 * of its own without an overlap, unless the chunk has nothing but headings yet. Between the first and the last
 * sentence a chunk is the text as it is; only white space lies between chunks.
 */
class Packer {
  private readonly chunks: TextChunk[] = [];
  /** The pieces of the chunk that is being filled; those that the chunk before has too come first. */
  private open: Piece[] = [];
  private shared = 0;
  /** Whether the chunk has more of its own than headings. */
  private hasBody = false;

  constructor(
    private readonly text: string,
    private readonly size: number,
    private readonly overlap: number,
  ) {}

  /** Adds pieces that stay together if they fit into a chunk. */
  add(pieces: readonly Piece[]): void {
    const [first, last] = [pieces[0]!, pieces.at(-1)!];
    if (this.hasBody && first.isSectionStart) this.close(0);
    else if (this.hasBody && !this.fits(last)) this.close(this.overlap);
    this.makeRoom(last.to - first.from <= this.size ? last : first);
    for (const piece of pieces) {
      if (!this.fits(piece)) {
        this.close(this.overlap);
        this.makeRoom(piece);
      }
      this.open.push(piece);
      this.hasBody ||= !piece.isSectionStart && WORD.test(this.text.slice(piece.start, piece.end));
    }
  }

  end(): TextChunk[] {
    this.close(0);
    return this.chunks;
  }

  private fits(piece: Piece): boolean {
    return this.open.length === 0 || piece.to - this.open[0]!.from <= this.size;
  }

  /** Ends the open chunk, and begins the next one with its last pieces, of `overlap` characters at most. */
  private close(overlap: number): void {
    if (this.open.length > this.shared) {
      const [first, last] = [this.open[0]!, this.open.at(-1)!];
      this.chunks.push({ text: this.text.slice(first.start, last.end), offset: first.from });
      this.open = this.open.filter((piece) => piece !== first && last.to - piece.from <= overlap);
    } else this.open = [];
    this.shared = this.open.length;
    this.hasBody = false;
  }

  /** Drops shared pieces at the beginning until `piece` fits. */
  private makeRoom(piece: Piece): void {
    for (; this.shared > 0 && !this.fits(piece); this.shared--) this.open.shift();
  }
}

export const DIGEST_BYTES = 32;

/** The SHA-256 digest of the UTF-8 bytes of a text, by which threads recognize equal texts. */
export const textDigest = (text: string | Uint8Array): Uint8Array => hash('sha256', text, 'buffer');

/** A chunk as it is stored. */
export interface StoredChunk {
  path: string;
  /** Chunk metadata as JSON text. */
  metaJson: string;
  text: string;
}

/** What a chunk was cut from: `page_3.1` is of `page_3`; `chunk_4` is of the one text of its document. */
export const unitOf = (path: string): string => path.replace(/^chunk_\d+$/, '').replace(/\.\d+$/, '');

/**
 * The position of a chunk in its unit, in characters; undefined if it is not known. It stands apart if the document's
 * metadata have the name themselves.
 */
export function offsetOf(metaJson: string): number | undefined {
  const meta = JSON.parse(metaJson) as Record<string, unknown>;
  const apart = Object.entries(meta).find(([name, value]) => /^_*provenance$/.test(name) && typeof value === 'object');
  const { offset } = (apart?.[1] ?? meta) as Record<string, unknown>;
  return typeof offset === 'number' ? offset : undefined;
}

/** White space in place of that between two chunks: a new paragraph if it may have been one. */
const blank = (characters: number): string =>
  characters === 1 ? ' ' : `${NEW_PARAGRAPH}${' '.repeat(characters - NEW_PARAGRAPH.length)}`;

const NEW_PARAGRAPH = '\n\n';
/** Between the texts of two pages or rows. */
const UNITS_APART = NEW_PARAGRAPH;

/**
 * The text of a document from its chunks in order. What no chunk has was white space, and becomes line breaks and spaces:
 * of one text the strategies `fixed` and `none` cut the same chunks again, the others nearly the same. Pages and rows are
 * put one after the other.
 */
export function wholeText(chunks: readonly StoredChunk[]): string {
  const parts: string[] = [];
  let unit: string | undefined;
  let reached = 0;
  for (const { path, metaJson, text } of chunks) {
    const offset = offsetOf(metaJson) ?? 0;
    const isNew = unit !== unitOf(path);
    if (isNew && unit !== undefined) parts.push(UNITS_APART);
    if (isNew) reached = 0;
    unit = unitOf(path);
    if (offset > reached) parts.push(blank(offset - reached));
    const isPlain = !SURROGATE.test(text);
    const known = Math.max(0, reached - offset);
    parts.push(text.slice(isPlain ? known : advanceByCodePoint(text, 0, known)));
    reached = Math.max(reached, offset + (isPlain ? text.length : Array.from(text).length));
  }
  return parts.join('');
}
