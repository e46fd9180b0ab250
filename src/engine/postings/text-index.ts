// One collection's words in a shard's memory: chunks by ordinal, BM25, counts, phrases, bitmaps of the chunks that have
// terms. Checks and copies are made here, the work in kernel/postings. The owner writes; any thread with a Kernel of
// its own may search.
import { assert } from '../../base/assert.js';
import { type LexicalStatistics, bm25Of } from '../../ranking/bm25.js';
import { withTies } from '../../ranking/top-k.js';
import type { WrittenTerms } from '../../text/term-writer.js';
import { CHUNK_TERMS_MAX } from '../../text/terms.js';
import type { Bitmap } from '../filter/bitmap.js';
import { type Instance, countOf } from '../memory/bindings.js';
import {
  LINE_BYTES,
  NOT_THERE,
  ORDINALS_MAX,
  TEXT_BLOCKS,
  TEXT_HEAD,
  TEXT_LENGTHS,
  TEXT_LIVE,
  TEXT_POSITIONS,
  TEXT_POSTINGS,
  TEXT_TERMS,
} from '../memory/layout.js';

/** Best first, equal scores by ordinal. */
export interface RankedWords {
  readonly count: number;
  readonly ordinals: Uint32Array;
  /** BM25. Chunks that tie have the very same number, in any shard. */
  readonly scores: Float64Array;
}

interface WordBytes {
  readonly lengths: number;
  readonly head: number;
  readonly terms: number;
  readonly blocks: number;
  readonly postings: number;
  readonly positions: number;
  readonly live: number;
}

/** The kernel's number of each. */
const MEMORY_PARTS: Readonly<Record<keyof WordBytes, number>> = {
  lengths: TEXT_LENGTHS,
  head: TEXT_HEAD,
  terms: TEXT_TERMS,
  blocks: TEXT_BLOCKS,
  postings: TEXT_POSTINGS,
  positions: TEXT_POSITIONS,
  live: TEXT_LIVE,
};

/** The first `count` of an answer. */
function firstWords({ ordinals, scores }: RankedWords, count: number): RankedWords {
  return { count, ordinals: ordinals.subarray(0, count), scores: scores.subarray(0, count) };
}

/** The first `max` of some terms, each once, in the order of their bytes. */
function firstTerms(terms: readonly string[], max: number): string[] {
  const inOrder = [...new Set(terms)].map((term) => Buffer.from(term)).sort(Buffer.compare);
  return inOrder.slice(0, max).map((term) => term.toString());
}

/** Postings between two looks at the clock: about a fifth of a millisecond. */
const MERGE_STEP = 8192;

export class WordIndex {
  /** `root` is the address of the index; another thread's Kernel attaches by it. */
  constructor(
    private readonly instance: Instance,
    readonly root: number,
  ) {}

  get chunks(): number {
    return this.instance.calls.chunksIn(this.root) >>> 0;
  }

  get tokens(): number {
    return this.instance.calls.tokensIn(this.root);
  }

  /** Adds a chunk that is not in the index. Tokens hold no zero character. Throws ArenaFull with nothing changed. */
  add(ordinal: number, tokens: readonly string[]): void {
    assertOrdinal(ordinal);
    assert(tokens.length <= CHUNK_TERMS_MAX, `a chunk of ${tokens.length} tokens`);
    const bytes = this.setTokens(tokens);
    countOf(this.instance.calls.addWords(this.instance.scratch, this.root, ordinal, tokens.length, bytes));
  }

  /** As add, with tokens that are written already. */
  addWritten(ordinal: number, { bytes, count }: WrittenTerms): void {
    assertOrdinal(ordinal);
    this.setWritten(bytes);
    countOf(this.instance.calls.addWords(this.instance.scratch, this.root, ordinal, count, bytes.length));
  }

  /**
   * Takes out a chunk; `tokens` are those it was added with. `mayBeAbsent`: where it is not there, nothing is done.
   * Throws ArenaFull with nothing changed.
   */
  remove(ordinal: number, tokens: readonly string[], mayBeAbsent = false): void {
    const terms = [...new Set(tokens)];
    this.setTerms(terms);
    const found = countOf(this.instance.calls.removeWords(this.instance.scratch, this.root, ordinal, terms.length));
    if (mayBeAbsent && found === NOT_THERE) return;
    assert(found !== NOT_THERE, `removing the words of ${ordinal}, which is not there`);
    assert(found === terms.length, `removing ${terms.length} terms of ${ordinal}, which has ${found} of them`);
  }

  statistics(terms: readonly string[]): LexicalStatistics {
    this.setTerms(terms);
    const count = countOf(this.instance.calls.countWords(this.instance.scratch, this.root, terms.length));
    return {
      chunks: this.chunks,
      tokens: this.tokens,
      frequencies: [...this.instance.copyWords(this.instance.output, count)],
    };
  }

  /**
   * The k best chunks that have any of the distinct `terms`, of those in `allowed`. `statistics` are those of the whole
   * collection.
   */
  rank(terms: readonly string[], statistics: LexicalStatistics, k: number, allowed?: Bitmap): RankedWords {
    assert(Number.isInteger(k) && k >= 1, `k ${k}`);
    const { factors, norm, normPerToken, scale } = bm25Of(statistics);
    const { calls, scratch } = this.instance;
    this.setTerms(terms, factors);
    const end = this.instance.setBitmap(allowed);
    const count = countOf(calls.rankWords(scratch, this.root, terms.length, k, norm, normPerToken, end));
    const scores = Float64Array.from(
      this.instance.copyWords(this.instance.output + 4 * k, count),
      (score) => score / scale,
    );
    return { count, ordinals: this.instance.copyWords(this.instance.output, count), scores };
  }

  /** As rank, with all further chunks whose score equals the k-th. */
  rankWithTies(terms: readonly string[], statistics: LexicalStatistics, k: number, allowed?: Bitmap): RankedWords {
    return withTies(k, (depth) => this.rank(terms, statistics, depth, allowed), firstWords);
  }

  /** How many of the distinct terms each chunk has. */
  matched(ordinals: Uint32Array, terms: readonly string[]): Uint32Array {
    this.setTerms(terms);
    const at = this.instance.setOrdinals(ordinals);
    countOf(this.instance.calls.matchWords(this.instance.scratch, this.root, terms.length, at, ordinals.length));
    return this.instance.copyWords(at, ordinals.length);
  }

  /** The first `max` terms that begin with `prefix`, in the order of their bytes. */
  prefixTerms(prefix: string, max: number): string[] {
    this.setTerms([prefix]);
    const bytes = countOf(this.instance.calls.listPrefixed(this.instance.scratch, this.root, max));
    return bytes === 0 ? [] : firstTerms(this.instance.readText(this.instance.output, bytes - 1).split('\0'), max);
  }

  /**
   * Makes a segment of what has been added since the last time; adds do so by themselves. Throws ArenaFull with nothing
   * changed.
   */
  freeze(): void {
    countOf(this.instance.calls.freezeWords(this.instance.scratch, this.root));
  }

  /**
   * Merges segments for about as long as given; true when there is more to do. `all`: until one is left, for an index
   * that rests.
   */
  mergeSome(budgetMs: number, all = false): boolean {
    const until = performance.now() + budgetMs;
    do {
      if (this.instance.calls.mergeWords(this.root, MERGE_STEP, all) === 0) return false;
    } while (performance.now() < until);
    return true;
  }

  /** Memory by what it holds. A merge under way is not counted. */
  bytes(): WordBytes {
    const entries = Object.entries(MEMORY_PARTS).map(([name, part]) => [
      name,
      this.instance.calls.wordsLines(this.root, part) * LINE_BYTES,
    ]);
    return Object.fromEntries(entries) as unknown as WordBytes;
  }

  /** Gives the memory back. The index must not be used after it, on any thread. */
  drop(): void {
    this.instance.calls.dropWords(this.root);
  }

  /**
   * The chunks in which the tokens, at least one, follow each other; of the last, with `lastIsPrefix`, perhaps only the
   * beginning.
   */
  phrase(tokens: readonly string[], lastIsPrefix = false): Bitmap {
    assert(tokens.length > 0, 'a phrase without a token');
    this.setTerms(tokens);
    return this.copyBitmap(
      this.instance.calls.findPhrase(this.instance.scratch, this.root, tokens.length, lastIsPrefix),
    );
  }

  /**
   * The chunks that have a token with `piece` in it; with `atEnd`, one that ends with it. For those that begin with it:
   * `phrase`.
   */
  containing(piece: string, atEnd = false): Bitmap {
    this.setTerms([piece]);
    return this.copyBitmap(this.instance.calls.findContaining(this.instance.scratch, this.root, atEnd));
  }

  /** The chunks that have any of the terms. */
  any(terms: readonly string[]): Bitmap {
    this.setTerms(terms);
    return this.copyBitmap(this.instance.calls.findAny(this.instance.scratch, this.root, terms.length));
  }

  /**
   * The chunks that have a term from `from` on to before `to`, in the order of bytes; with a `piece`, one that has it
   * behind `from`, or ends with it.
   */
  range(from: string, to: string, piece = '', atEnd = false): Bitmap {
    this.setTerms([from, to, piece]);
    return this.copyBitmap(this.instance.calls.findRange(this.instance.scratch, this.root, atEnd));
  }

  /** All chunks. */
  every(): Bitmap {
    return this.copyBitmap(this.instance.calls.findLive(this.instance.scratch, this.root));
  }

  // Terms go to the kernel as UTF-8, each with a zero byte.

  /** The tokens of a chunk; answers the bytes written. */
  private setTokens(tokens: readonly string[]): number {
    const text = tokens.join('\0');
    const at = this.instance.reserveInput(3 * text.length + 1);
    return this.instance.writeText(at, text);
  }

  /** The tokens of a chunk as they are written. */
  private setWritten(bytes: Uint8Array): void {
    this.instance.bytesAt(this.instance.reserveInput(bytes.length), bytes.length).set(bytes);
  }

  /** The terms of a question, behind their factors. */
  private setTerms(terms: readonly string[], factors?: Float32Array): void {
    const text = terms.join('\0');
    const at = this.instance.reserveInput(4 * terms.length + 3 * text.length + 1);
    if (factors) this.instance.writeFloats(at, factors);
    this.instance.writeText(at + 4 * terms.length, text);
  }

  private copyBitmap(words: number): Bitmap {
    return this.instance.copyWords(this.instance.output, countOf(words));
  }
}

function assertOrdinal(ordinal: number): void {
  assert(Number.isInteger(ordinal) && ordinal >= 0 && ordinal < ORDINALS_MAX, `ordinal ${ordinal}`);
}
