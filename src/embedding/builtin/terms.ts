// What the built-in embedder needs to know of each piece of a text, remembered between texts, because natural text
// repeats few terms often: of a term (what the text can be cut into without looking around) its token pieces and words,
// of a word its weight and hashed slots. Both are records in one pool of cells. One owner: the embedder of one embed
// worker.
import { ownString } from '../../base/bytes.js';
import type { EmbedderTable } from './table.js';
import { createPieceEncoder, forEachTerm, plainWords } from './word-pieces.js';

export const BUCKETS = 256;
const GRAM_CHARACTERS = 4;
/** Marks a 4-gram, so that it never hashes as the word of the same letters. */
const GRAM_MARK = '#'.charCodeAt(0);
const CONTINUATION_BYTE = 0x80;

/** A bucket and a sign in one number: `slot >> 1` is the bucket, an odd slot adds, an even one subtracts. */
export type Slot = number;

interface WordSlots {
  readonly word: Slot;
  /** One for each 4-gram of `^word$`, repeats kept. */
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

/** Takes the bits (h & 1) and (h >> 1) % 256 of the CRC-32 h that `state`, its complement, stands for. */
function slotOf(state: number): Slot {
  return ~state & (2 * BUCKETS - 1);
}

// CRC-32 (IEEE 802.3, reflected), as zlib computes it; zlib.crc32 itself came to Node only with 20.15.
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

/** A term's record: these two counts, then so many piece ids, then so many starts of word records. */
export const TERM = { pieces: 0, words: 1, lists: 2 } as const;

/**
 * A word's record: how often it stands in the text at hand (WordSum counts here, and sets it back to 0 after each
 * text), its rarest piece, whose idf is the word's, the slot of the word, the count of its 4-grams, then their slots.
 */
export const WORD = { count: 0, rarestPiece: 1, slot: 2, grams: 3, list: 4 } as const;
export const NO_PIECE = -1;

/** Three times what the terms of 5,183 scientific abstracts take (scifact). */
const BYTES_MAX = 32 * 1024 * 1024;
/** A map entry and the head of its key, whose characters take up to two bytes each. */
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

  /** The pool's cells, valid until the next `forEach`. Of all terms in it, equal words share one record. */
  get cells(): Int32Array {
    return this.pool.cells;
  }

  /** The estimated size of what is remembered. */
  get bytes(): number {
    return this.keyBytes + Int32Array.BYTES_PER_ELEMENT * this.pool.length;
  }

  /** Calls `visit` with the pool's cells and the start of a term's record in them, for each term of `text` in order. */
  forEach(text: string, visit: (cells: Int32Array, start: number) => void): void {
    forEachTerm(text, (term) => {
      const start = this.termStarts.get(term) ?? this.learnTerm(ownString(term));
      visit(this.pool.cells, start);
    });
  }

  /** Forgets everything if it takes more than the bound. To be called between texts, when no word has a count. */
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
 * One growing array of int32 that small records are appended to, addressed by where they start. Records beside each
 * other in one array take a fraction of the memory, and of the cache misses, of objects.
 */
class CellPool {
  /** The records. Valid until the next append, which may move them. */
  cells = new Int32Array(CELLS_INITIAL);
  /** Cells in use. */
  length = 0;

  /** Appends a record and returns where it starts. */
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
