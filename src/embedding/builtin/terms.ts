// A cache of what the built-in embedder derives from terms, since natural text often repeats few terms. A term is the
// largest unit that can be processed without its context. Its record has its token pieces and words; a word's record
// has its weight and hashed slots. Both kinds are records in one pool of cells. One owner: the embedder of one embed
// worker.
import { ownString } from '../../base/bytes.js';
import type { EmbedderTable } from './table.js';
import { createPieceEncoder, forEachTerm, plainWords } from './word-pieces.js';

export const BUCKETS = 256;
const GRAM_CHARACTERS = 4;
/** Marks a 4-gram, so that it never hashes like a word of the same letters. */
const GRAM_MARK = '#'.charCodeAt(0);
const CONTINUATION_BYTE = 0x80;

/** A bucket and a sign in one number: `slot >> 1` is the bucket, an odd slot adds, an even one subtracts. */
export type Slot = number;

interface WordSlots {
  readonly word: Slot;
  /** One slot per 4-gram of `^word$`, including repeats. */
  readonly grams: readonly Slot[];
}

/**
 * A word and its character 4-grams, each hashed to one of 256 buckets and a sign: the hashed half's features. It keeps
 * names, numbers, code and other languages findable. Source: Weinberger et al., "Feature hashing" (2009).
 */
export function hashWord(word: string): WordSlots {
  const bytes = Buffer.from(`^${word}$`);
  const starts = characterStarts(bytes);
  const grams: Slot[] = [];
  const marked = crcStep(-1, GRAM_MARK);
  for (let first = 0; first + GRAM_CHARACTERS < starts.length; first++) {
    grams.push(slotOf(crcOver(marked, bytes, starts[first]!, starts[first + GRAM_CHARACTERS]!)));
  }
  return { word: slotOf(crcOver(-1, bytes, 1, bytes.length - 1)), grams };
}

/** The byte offset at which each character of UTF-8 `bytes` starts, and the length at the end. */
function characterStarts(bytes: Uint8Array): number[] {
  const starts: number[] = [];
  for (let at = 0; at < bytes.length; at++) {
    if ((bytes[at]! & 0xc0) !== CONTINUATION_BYTE) starts.push(at);
  }
  starts.push(bytes.length);
  return starts;
}

/** The bits (h & 1) and (h >> 1) % 256 of the CRC-32 h, of which `state` is the complement. */
function slotOf(state: number): Slot {
  return ~state & (2 * BUCKETS - 1);
}

// CRC-32 (IEEE 802.3, reflected), as in zlib. `zlib.crc32` itself exists only from Node 20.15.
const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

function crcStep(state: number, byte: number): number {
  return (state >>> 8) ^ CRC_TABLE[(state ^ byte) & 0xff]!;
}

function crcOver(state: number, bytes: Uint8Array, start: number, end: number): number {
  for (let at = start; at < end; at++) state = crcStep(state, bytes[at]!);
  return state;
}

/** A term's record: these two counts, then the piece ids, then the starts of word records. */
export const TERM = { pieces: 0, words: 1, lists: 2 } as const;

/**
 * A word's record: its count in the current text (used by WordSum, and reset to 0 after each text), its rarest piece,
 * whose idf is that of the word, the slot of the word, the number of its 4-grams, then their slots.
 */
export const WORD = { count: 0, rarestPiece: 1, slot: 2, grams: 3, list: 4 } as const;
export const NO_PIECE = -1;

/** Three times the size of the terms of 5,183 scientific abstracts (scifact). */
const BYTES_MAX = 32 * 1024 * 1024;
/** A map entry and the header of its key; each character takes up to two bytes. */
const ENTRY_BYTES = 80;
const CHARACTER_BYTES = 2;

export class Terms {
  private readonly encode: (text: string) => readonly number[];
  private readonly idfs: Float32Array;
  private readonly pool = new CellPool();
  private readonly termStarts = new Map<string, number>();
  private readonly wordStarts = new Map<string, number>();
  private keyBytes = 0;

  constructor(
    { vocabulary, idfs }: EmbedderTable,
    private readonly bytesMax = BYTES_MAX,
  ) {
    this.encode = createPieceEncoder(vocabulary);
    this.idfs = idfs;
  }

  /** The cells of the pool, valid until the next `forEach`. Equal words share one record. */
  get cells(): Int32Array {
    return this.pool.cells;
  }

  /** Estimated size of the cache in bytes. */
  get bytes(): number {
    return this.keyBytes + Int32Array.BYTES_PER_ELEMENT * this.pool.length;
  }

  /** Calls `visit` with the cells and the start of a term's record, for each term of `text` in order. */
  forEach(text: string, visit: (cells: Int32Array, start: number) => void): void {
    forEachTerm(text, (term) => {
      const start = this.termStarts.get(term) ?? this.learnTerm(ownString(term));
      visit(this.pool.cells, start);
    });
  }

  /** Empties the cache if it exceeds its bound. Must be called between texts, when all word counts are 0. */
  trim(): void {
    if (this.bytes <= this.bytesMax) return;
    for (const forgotten of [this.termStarts, this.wordStarts, this.pool]) forgotten.clear();
    this.keyBytes = 0;
  }

  private learnTerm(text: string): number {
    const pieces = this.encode(text);
    const words = plainWords(text).map((word) => this.wordStarts.get(word) ?? this.learnWord(word));
    return this.remember(this.termStarts, text, [pieces.length, words.length, ...pieces, ...words]);
  }

  private learnWord(text: string): number {
    const { word, grams } = hashWord(text);
    const record = [0, rarestOf(this.encode(text), this.idfs), word, grams.length, ...grams];
    return this.remember(this.wordStarts, text, record);
  }

  private remember(starts: Map<string, number>, key: string, record: readonly number[]): number {
    const start = this.pool.append(record);
    starts.set(key, start);
    this.keyBytes += ENTRY_BYTES + CHARACTER_BYTES * key.length;
    return start;
  }
}

function rarestOf(pieces: readonly number[], idfs: Float32Array): number {
  return pieces.reduce((rarest, id) => (rarest === NO_PIECE || idfs[id]! > idfs[rarest]! ? id : rarest), NO_PIECE);
}

const CELLS_INITIAL = 1 << 16;

/**
 * A growing int32 array of small records, addressed by their start. Adjacent records take a fraction of the memory and
 * cache misses of objects.
 */
class CellPool {
  /** The records. Valid until the next append, which may move them. */
  cells = new Int32Array(CELLS_INITIAL);
  /** Cells in use. */
  length = 0;

  /** Appends a record and returns its start. */
  append(record: readonly number[]): number {
    const start = this.length;
    this.length += record.length;
    if (this.length > this.cells.length) this.grow();
    this.cells.set(record, start);
    return start;
  }

  clear(): void {
    this.cells = new Int32Array(CELLS_INITIAL);
    this.length = 0;
  }

  private grow(): void {
    let capacity = this.cells.length;
    while (capacity < this.length) capacity *= 2;
    const larger = new Int32Array(capacity);
    larger.set(this.cells);
    this.cells = larger;
  }
}
