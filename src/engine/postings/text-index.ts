// The text index of a segment: BM25 ranking, term statistics, phrases, and bitmaps of the chunks that have given terms.
// Metadata indexes use it too, with metadata terms. This file checks arguments and copies results; kernel/postings does
// the work. The owner writes; any thread with a kernel of its own may search.
import { assert } from '../../base/assert.js';
import { compareUtf8 } from '../../base/bytes.js';
import { type LexicalStatistics, bm25Of } from '../../ranking/bm25.js';
import { withTies } from '../../ranking/top-k.js';
import type { WrittenTerms } from '../../text/term-writer.js';
import { CHUNK_TERMS_MAX } from '../../text/terms.js';
import type { Bitmap } from '../filter/bitmap.js';
import { type Instance, countOf } from '../memory/bindings.js';
import {
  COUNTS_BYTES,
  COUNTS_TEXTS,
  COUNTS_TEXTS_END,
  LINE_BYTES,
  NOT_THERE,
  ORDINALS_MAX,
  TEXT_BLOCKS,
  TEXT_LENGTHS,
  TEXT_LIVE,
  TEXT_MUTABLE,
  TEXT_POSITIONS,
  TEXT_POSTINGS,
  TEXT_TERMS,
} from '../memory/layout.js';

/** Ranked chunks, best first, equal scores by ordinal. */
export interface RankedTerms {
  readonly count: number;
  readonly ordinals: Uint32Array;
  /** BM25. Chunks that tie have exactly the same number in every shard. */
  readonly scores: Float64Array;
}

/** Which terms are near a word. */
export interface Nearness {
  /** The number of edits from the word: insertions, deletions, replacements, and swaps of neighbours; 0 to 2. */
  readonly edits: number;
  /** The number of leading characters in which they must be equal. */
  readonly fixed: number;
  /** Whether it suffices that a beginning of the term is within the edits. */
  readonly isPrefix: boolean;
}

interface TextIndexBytes {
  readonly lengths: number;
  readonly mutable: number;
  readonly terms: number;
  readonly blocks: number;
  readonly postings: number;
  readonly positions: number;
  readonly live: number;
}

/** The kernel's number of each kind of memory. */
const MEMORY_KINDS: Readonly<Record<keyof TextIndexBytes, number>> = {
  lengths: TEXT_LENGTHS,
  mutable: TEXT_MUTABLE,
  terms: TEXT_TERMS,
  blocks: TEXT_BLOCKS,
  postings: TEXT_POSTINGS,
  positions: TEXT_POSITIONS,
  live: TEXT_LIVE,
};

/** The first `count` hits of a ranking. */
function firstRanked({ ordinals, scores }: RankedTerms, count: number): RankedTerms {
  return { count, ordinals: ordinals.subarray(0, count), scores: scores.subarray(0, count) };
}

/** The first `max` distinct terms in byte order, ascending or descending. */
function firstTerms(terms: readonly string[], max: number, backward = false): string[] {
  const inOrder = [...new Set(terms)].sort(compareUtf8);
  if (backward) inOrder.reverse();
  return inOrder.slice(0, max);
}

/** Postings merged between two checks of the time: about 0.2 ms. */
const MERGE_STEP = 8192;

/** An inverted index in shared memory, from terms to chunks by ordinal. The owner writes, any thread reads. */
export class TextIndex {
  /** `root` is the address of the index in shared memory, by which kernels of other threads attach to it. */
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

  /**
   * Adds a chunk that is not in the index. Tokens must not contain a zero character. Throws ArenaFull and then changes
   * nothing.
   */
  add(ordinal: number, tokens: readonly string[]): void {
    assertOrdinal(ordinal);
    assert(tokens.length <= CHUNK_TERMS_MAX, `a chunk of ${tokens.length} tokens`);
    const bytes = this.setTokens(tokens);
    countOf(this.instance.calls.addTerms(this.instance.scratch, this.root, ordinal, tokens.length, bytes));
  }

  /** Like `add`, with tokens that are already encoded. */
  addWritten(ordinal: number, { bytes, count }: WrittenTerms): void {
    assertOrdinal(ordinal);
    this.setWritten(bytes);
    countOf(this.instance.calls.addTerms(this.instance.scratch, this.root, ordinal, count, bytes.length));
  }

  /**
   * Removes a chunk. `tokens` must be those it was added with. With `mayBeAbsent`, nothing happens if the chunk is not
   * in the index. Throws ArenaFull and then changes nothing.
   */
  remove(ordinal: number, tokens: readonly string[], mayBeAbsent = false): void {
    const terms = [...new Set(tokens)];
    this.setTerms(terms);
    const found = countOf(this.instance.calls.removeTerms(this.instance.scratch, this.root, ordinal, terms.length));
    if (mayBeAbsent && found === NOT_THERE) return;
    assert(found !== NOT_THERE, `removing the words of ${ordinal}, which is not there`);
    assert(found === terms.length, `removing ${terms.length} terms of ${ordinal}, which has ${found} of them`);
  }

  /** Chunks and tokens of this index, and the number of chunks that have each of `terms`. */
  statistics(terms: readonly string[]): LexicalStatistics {
    this.setTerms(terms);
    const count = countOf(this.instance.calls.countTerms(this.instance.scratch, this.root, terms.length));
    return {
      chunks: this.chunks,
      tokens: this.tokens,
      frequencies: [...this.instance.copyWords(this.instance.output, count)],
    };
  }

  /**
   * The k best chunks by BM25 (Robertson and Zaragoza 2009) of those in `allowed` that have any of the distinct
   * `terms`. `statistics` cover the whole collection.
   */
  rank(terms: readonly string[], statistics: LexicalStatistics, k: number, allowed?: Bitmap): RankedTerms {
    assert(Number.isInteger(k) && k >= 1, `k ${k}`);
    const { factors, norm, normPerToken, scale } = bm25Of(statistics);
    const { calls, scratch } = this.instance;
    this.setTerms(terms, factors);
    const end = this.instance.setBitmap(allowed);
    const count = countOf(calls.rankTerms(scratch, this.root, terms.length, k, norm, normPerToken, end));
    const scores = Float64Array.from(
      this.instance.copyWords(this.instance.output + 4 * k, count),
      (score) => score / scale,
    );
    return { count, ordinals: this.instance.copyWords(this.instance.output, count), scores };
  }

  /** Like `rank`, with all further chunks whose score equals that of the k-th. */
  rankWithTies(terms: readonly string[], statistics: LexicalStatistics, k: number, allowed?: Bitmap): RankedTerms {
    return withTies(k, (depth) => this.rank(terms, statistics, depth, allowed), firstRanked);
  }

  /**
   * How many of the distinct terms each chunk has. With `weights`, each in whole thousandths, the sum of the weights of
   * its terms; of terms of the same group, which follow each other, the first that a chunk has counts.
   */
  matched(
    ordinals: Uint32Array,
    terms: readonly string[],
    { weights, groups }: { weights?: readonly number[]; groups?: readonly number[] } = {},
  ): Float64Array {
    const factors = Float32Array.from(terms, (_, i) => {
      const thousandths = Math.round(1000 * (weights?.[i] ?? 1));
      return groups && i > 0 && groups[i] === groups[i - 1] ? -thousandths : thousandths;
    });
    this.setTerms(terms, factors);
    const at = this.instance.setOrdinals(ordinals);
    countOf(this.instance.calls.matchTerms(this.instance.scratch, this.root, terms.length, at, ordinals.length));
    return Float64Array.from(this.instance.copyWords(at, ordinals.length), (sum) => sum / 1000);
  }

  /** The first `max` terms that begin with `prefix`, in byte order. */
  prefixTerms(prefix: string, max: number): string[] {
    this.setTerms([prefix]);
    const bytes = countOf(this.instance.calls.listPrefixed(this.instance.scratch, this.root, max));
    return bytes === 0 ? [] : firstTerms(this.instance.readText(this.instance.output, bytes - 1).split('\0'), max);
  }

  /**
   * The first `max` terms from `from` (inclusive) to `to` (exclusive) in byte order; with `backward`, the last ones in
   * descending order.
   */
  rangeTerms(from: string, to: string, max: number, backward = false): string[] {
    this.setTerms([from, to]);
    const bytes = countOf(this.instance.calls.listRange(this.instance.scratch, this.root, max, backward));
    if (bytes === 0) return [];
    const terms = this.instance.readText(this.instance.output, bytes - 1).split('\0');
    return firstTerms(terms, max, backward);
  }

  /**
   * Up to `max` tokens near a word of at most 63 characters, as a map to their edits: fewer edits first, then those of
   * more chunks. Stems and compounds are not looked at.
   */
  nearTerms(word: string, { edits, fixed, isPrefix }: Nearness, max: number): Map<string, number> {
    this.setTerms([word]);
    const { calls, scratch } = this.instance;
    const bytes = countOf(calls.listNear(scratch, this.root, edits, fixed, isPrefix, max));
    const near = new Map<string, number>();
    if (bytes === 0) return near;
    for (const entry of this.instance.readText(this.instance.output, bytes - 1).split('\0')) {
      const term = entry.slice(1);
      if (!near.has(term)) near.set(term, Number(entry[0]));
    }
    return near;
  }

  /**
   * Freezes the mutable run. `add` does this by itself when the run is full. Throws ArenaFull and then changes nothing.
   */
  freeze(): void {
    countOf(this.instance.calls.freezeTextIndex(this.instance.scratch, this.root));
  }

  /**
   * Merges runs for about `budgetMs`. Returns true if there is more to do. `all`: until a single run is left, for an
   * index that no longer changes.
   */
  mergeSome(budgetMs: number, all = false): boolean {
    const until = performance.now() + budgetMs;
    do {
      if (this.instance.calls.mergeTextIndex(this.root, MERGE_STEP, all) === 0) return false;
    } while (performance.now() < until);
    return true;
  }

  /** Bytes of memory by purpose, without those of a merge under way. */
  bytes(): TextIndexBytes {
    const entries = Object.entries(MEMORY_KINDS).map(([name, kind]) => [
      name,
      this.instance.calls.textIndexLines(this.root, kind) * LINE_BYTES,
    ]);
    return Object.fromEntries(entries) as unknown as TextIndexBytes;
  }

  /** Frees the memory. No thread may use the index afterwards. */
  drop(): void {
    this.instance.calls.dropTextIndex(this.root);
  }

  /**
   * The chunks in which the tokens, at least one, follow each other. With `lastIsPrefix`, the last token only has to
   * begin a token of the chunk.
   */
  phrase(tokens: readonly string[], lastIsPrefix = false): Bitmap {
    assert(tokens.length > 0, 'a phrase without a token');
    this.setTerms(tokens);
    return this.copyBitmap(
      this.instance.calls.findPhrase(this.instance.scratch, this.root, tokens.length, lastIsPrefix),
    );
  }

  /**
   * The chunks that have a token containing `piece`, or with `atEnd` ending with it. Use `phrase` for tokens that begin
   * with it.
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
   * The chunks that have a term from `from` (inclusive) to `to` (exclusive) in byte order. With `piece`, the term must
   * contain it after `from`, or end with it if `atEnd` is set.
   */
  range(from: string, to: string, piece = '', atEnd = false): Bitmap {
    this.setTerms([from, to, piece]);
    return this.copyBitmap(this.instance.calls.findRange(this.instance.scratch, this.root, atEnd));
  }

  /**
   * The terms from `from` (inclusive) to `to` (exclusive) in byte order, each with the number of chunks in `allowed`
   * that have it; terms that none has are left out. Returns undefined if the range has more than `max` terms.
   */
  counts(from: string, to: string, allowed: Bitmap, max: number): Map<string, number> | undefined {
    this.setTerms([from, to]);
    const end = this.instance.setBitmap(allowed);
    const terms = countOf(this.instance.calls.countRange(this.instance.scratch, this.root, end, max));
    if (terms === NOT_THERE) return undefined;
    const { output } = this.instance;
    const found = this.instance.copyWords(output + COUNTS_BYTES, terms);
    const [at, textsEnd] = [this.instance.word(output + COUNTS_TEXTS), this.instance.word(output + COUNTS_TEXTS_END)];
    const texts = this.instance.readText(output + at, textsEnd - at).split('\0');
    const counts = new Map<string, number>();
    for (let i = 0; i < terms; i++) {
      const term = texts[i] as string;
      counts.set(term, (counts.get(term) ?? 0) + found[i]!);
    }
    return counts;
  }

  /** All chunks of the index. */
  every(): Bitmap {
    return this.copyBitmap(this.instance.calls.findLive(this.instance.scratch, this.root));
  }

  // Terms are passed to the kernel as UTF-8, each with a zero byte at its end.

  /** Passes the tokens of a chunk. Returns the number of bytes written. */
  private setTokens(tokens: readonly string[]): number {
    const text = tokens.join('\0');
    const at = this.instance.reserveInput(3 * text.length + 1);
    return this.instance.writeText(at, text);
  }

  /** Passes the tokens of a chunk that are already encoded. */
  private setWritten(bytes: Uint8Array): void {
    this.instance.bytesAt(this.instance.reserveInput(bytes.length), bytes.length).set(bytes);
  }

  /** Passes the terms of a query, after their factors. */
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
