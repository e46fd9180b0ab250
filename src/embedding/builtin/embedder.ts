// The built-in embedder: 512-dimensional vectors without a model run or a download. Half of a vector is the mean of
// static token rows (meaning), half hashed words and 4-grams (spelling); docs/internals/embedding.md has its quality.
// Instances cache terms, so each belongs to one thread: a front thread or an embed worker.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Embedded, Embedder, Purpose } from '../embedder.js';
import { BUILTIN_DIM } from '../spaces.js';
import { EmbedderFileError, type EmbedderTable, openEmbedderTable, readEmbedderFile } from './table.js';
import { BUCKETS, NO_PIECE, type Slot, TERM, Terms, WORD } from './terms.js';

const TOKEN_DIM = BUILTIN_DIM - BUCKETS;
/** Length of the hashed half in a unit vector. */
const HASHED_SHARE = 0.5;
const TOKEN_SHARE = Math.sqrt(1 - HASHED_SHARE ** 2);
/** Characters per slice: about 2 ms of work (`load embed builtin`). */
const SLICE_CHARACTERS = 32_768;

export class BuiltinEmbedder implements Embedder {
  readonly dim = BUILTIN_DIM;
  private readonly terms: Terms;
  private readonly tokenSum: RowSum;
  private readonly wordSum: WordSum;

  /**
   * `bytes`: the packed file, which may be shared memory; by default it is read. Throws EmbedderFileError if it is
   * invalid.
   */
  constructor(bytes: Uint8Array = readEmbedderFile()) {
    const table = openEmbedderTable(bytes);
    if (table.width !== TOKEN_DIM)
      throw new EmbedderFileError('layout', `rows of ${table.width} numbers, not ${TOKEN_DIM}`);
    this.terms = new Terms(table);
    this.tokenSum = createRowSum(table);
    this.wordSum = new WordSum(table.idfs);
  }

  /** Embeds long input in slices and yields to the event loop between them. */
  async embed(texts: readonly string[], _purpose: Purpose, isCancelled: () => boolean): Promise<Embedded> {
    const vectors = new Float32Array(texts.length * BUILTIN_DIM);
    for (let from = 0; from < texts.length && !isCancelled(); ) {
      const to = endOfSlice(texts, from);
      vectors.set(this.vectorsOf(texts.slice(from, to)), from * BUILTIN_DIM);
      from = to;
      if (from < texts.length) await nextTurn();
    }
    return { vectors, truncated: new Uint8Array(texts.length) };
  }

  isTruncated(): boolean {
    return false;
  }

  /**
   * Vectors of `texts`, row by row (texts.length x 512). A row has length 1, or is all zero if its text has neither
   * tokens nor words. The same text gives the same bits, alone or in a batch. Time and memory are linear in the length
   * of the text.
   */
  vectorsOf(texts: readonly string[]): Float32Array {
    const vectors = new Float32Array(texts.length * BUILTIN_DIM);
    texts.forEach((text, i) => this.embedInto(vectors.subarray(i * BUILTIN_DIM, (i + 1) * BUILTIN_DIM), text));
    return vectors;
  }

  private embedInto(row: Float32Array, text: string): void {
    this.tokenSum.reset();
    this.terms.forEach(text, this.addTerm);
    writeRow(row, this.tokenSum.finish(), this.wordSum.finish(this.terms.cells));
    this.terms.trim();
  }

  private readonly addTerm = (cells: Int32Array, start: number): void => {
    const piecesStart = start + TERM.lists;
    const wordsStart = piecesStart + cells[start + TERM.pieces]!;
    const end = wordsStart + cells[start + TERM.words]!;
    for (let at = piecesStart; at < wordsStart; at++) this.tokenSum.add(cells[at]!);
    for (let at = wordsStart; at < end; at++) this.wordSum.count(cells, cells[at]!);
  };
}

function endOfSlice(texts: readonly string[], from: number): number {
  let characters = 0;
  let to = from;
  while (to < texts.length && characters < SLICE_CHARACTERS) characters += (texts[to++] as string).length;
  return to;
}

const GROUP = 4;

/**
 * Sums scaled int8 token rows, which takes most of the embedder's time. Four rows are added at a time, so that each
 * component of the sum is read and written once per four rows: 75,000 windows/s on scifact in `load embed builtin`,
 * against 41,000 with single rows. A closure rather than a class, because the compiler treats its arrays as constants;
 * with a class embedding takes an eighth longer.
 */
interface RowSum {
  reset(): void;
  add(id: number): void;
  /** Adds the rows that are still pending. The sum is valid until the next reset. */
  finish(): Float64Array;
}

function createRowSum({ rows, scales, width }: EmbedderTable): RowSum {
  const sum = new Float64Array(width);
  const pending = new Int32Array(GROUP);
  let pendingCount = 0;

  const addGroup = (): void => {
    const [idA, idB, idC, idD] = [pending[0]!, pending[1]!, pending[2]!, pending[3]!];
    const [a, b, c, d] = [idA * width, idB * width, idC * width, idD * width];
    const [scaleA, scaleB, scaleC, scaleD] = [scales[idA]!, scales[idB]!, scales[idC]!, scales[idD]!];
    for (let i = 0; i < width; i++) {
      sum[i]! += scaleA * rows[a + i]! + scaleB * rows[b + i]! + scaleC * rows[c + i]! + scaleD * rows[d + i]!;
    }
  };
  const addOne = (id: number): void => {
    const [start, scale] = [id * width, scales[id]!];
    for (let i = 0; i < width; i++) sum[i]! += scale * rows[start + i]!;
  };

  return {
    reset: () => {
      sum.fill(0);
    },
    add: (id) => {
      pending[pendingCount++] = id;
      if (pendingCount < GROUP) return;
      addGroup();
      pendingCount = 0;
    },
    finish: () => {
      for (let i = 0; i < pendingCount; i++) addOne(pending[i]!);
      pendingCount = 0;
      return sum;
    },
  };
}

/** Weight of a 4-gram relative to its word. */
const GRAM_WEIGHT = 0.3;

/**
 * Sums the hashed words of one text. Each distinct word adds log(1 + count) x idf to the bucket of its own slot, and a
 * share of that to the buckets of its 4-grams. Counts are kept in the word records of the terms' pool.
 */
class WordSum {
  private readonly sum = new Float64Array(BUCKETS);
  private readonly distinct: number[] = [];

  constructor(private readonly idfs: Float32Array) {}

  /** Counts an occurrence of the word whose record starts at `word`. */
  count(cells: Int32Array, word: number): void {
    if (cells[word + WORD.count]!++ === 0) this.distinct.push(word);
  }

  /** The sum over the counted words, whose counts are reset to 0. Valid until the next call. */
  finish(cells: Int32Array): Float64Array {
    this.sum.fill(0);
    for (const word of this.distinct) {
      addWord(this.sum, this.idfs, cells, word);
      cells[word + WORD.count] = 0;
    }
    this.distinct.length = 0;
    return this.sum;
  }
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

function writeRow(row: Float32Array, tokens: Float64Array, words: Float64Array): void {
  const tokensLength = lengthOf(tokens);
  const wordsLength = lengthOf(words);
  // If one half is missing, its share goes to the other.
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
