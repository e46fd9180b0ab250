// One collection's words in a shard's memory: chunks by ordinal, BM25, counts and phrases. A thin door: checks and copies here,
// the work in the kernel (assembly/words/). The owner's thread writes; any thread with a Kernel of its own may search.
import { assert } from '../../../src/base/assert.js';
import type { LexicalStatistics } from '../../../src/contract/ranking.js';
import { bm25Of } from '../../../src/rank/bm25.js';
import { chunkTerms } from '../../../src/text/rank-terms.js';
import { countOf, type Instance } from '../instance.js';
import { LINE_BYTES, NONE, ORDINALS_MAX } from '../layout.js';
import { firstTerms, PARTS, withTies, type Bitmap, type RankedWords, type WordBytes } from './word-answers.js';
import { WordInput } from './word-input.js';

/** Postings between two looks at the clock: about a fifth of a millisecond. */
const MERGE_STEP = 8192;
/** A chunk's length is kept in sixteen bits. Chunks are bounded far below (CHUNK_SIZE_MAX characters). */
const TOKENS_MAX = 0xffff;
const ROOT_TOKENS = 0;
const ROOT_CHUNKS = 8;
const NOT_THERE = -2;
const NOT_PLAIN = -3;

export class WordIndex {
  private readonly input: WordInput;

  /** `root` is the address of the index; another thread's Kernel attaches by it. */
  constructor(
    private readonly instance: Instance,
    readonly root: number,
  ) {
    this.input = new WordInput(instance);
  }

  get chunks(): number {
    return this.instance.word(this.root + ROOT_CHUNKS);
  }

  get tokens(): number {
    return this.instance.word(this.root + ROOT_TOKENS) + this.instance.word(this.root + ROOT_TOKENS + 4) * 2 ** 32;
  }

  /** Adds a chunk that is not in the index. Tokens hold no zero character. Throws ArenaFull with nothing changed. */
  add(ordinal: number, tokens: readonly string[]): void {
    assertOrdinal(ordinal);
    assert(tokens.length <= TOKENS_MAX, `a chunk of ${tokens.length} tokens`);
    const bytes = this.input.setTokens(tokens);
    countOf(this.instance.calls.addWords(this.instance.scratch, this.root, ordinal, tokens.length, bytes));
  }

  /** Adds a chunk with the tokens of chunkTerms, which the kernel finds by itself in plain text. Throws ArenaFull with nothing changed. */
  addText(ordinal: number, text: string): void {
    assertOrdinal(ordinal);
    assert(text.length <= TOKENS_MAX, `a chunk of ${text.length} characters`);
    const bytes = this.input.setText(text);
    const added = countOf(this.instance.calls.addPlain(this.instance.scratch, this.root, ordinal, bytes));
    if (added === NOT_PLAIN) this.add(ordinal, chunkTerms(text));
  }

  /** Takes out a chunk; `tokens` are those it was added with. Throws ArenaFull with nothing changed. */
  remove(ordinal: number, tokens: readonly string[]): void {
    const terms = [...new Set(tokens)];
    this.input.setTerms(terms);
    const found = countOf(this.instance.calls.removeWords(this.instance.scratch, this.root, ordinal, terms.length));
    assert(found !== NOT_THERE, `removing the words of ${ordinal}, which is not there`);
    assert(found === terms.length, `removing ${terms.length} terms of ${ordinal}, which has ${found} of them`);
  }

  statistics(terms: readonly string[]): LexicalStatistics {
    this.input.setTerms(terms);
    const count = countOf(this.instance.calls.countWords(this.instance.scratch, this.root, terms.length));
    return { chunks: this.chunks, tokens: this.tokens, frequencies: [...this.instance.copyWords(this.instance.output, count)] };
  }

  /** The k best chunks that have any of the distinct `terms`, of those in `allowed`. `statistics` are those of the whole collection. */
  rank(terms: readonly string[], statistics: LexicalStatistics, k: number, allowed?: Bitmap): RankedWords {
    assert(Number.isInteger(k) && k >= 1, `k ${k}`);
    const { factors, norm, normPerToken, scale } = bm25Of(statistics);
    const { calls, scratch } = this.instance;
    this.input.setTerms(terms, factors);
    const end = allowed ? this.input.setBitmap(allowed) : NONE;
    const count = countOf(calls.rankWords(scratch, this.root, terms.length, k, norm, normPerToken, end));
    const { output } = this.instance;
    const scores = Float64Array.from(this.instance.copyWords(output + 4 * k, count), (score) => score / scale);
    return { count, ordinals: this.instance.copyWords(output, count), scores };
  }

  /** As rank, with all further chunks whose score equals the k-th. */
  rankWithTies(terms: readonly string[], statistics: LexicalStatistics, k: number, allowed?: Bitmap): RankedWords {
    return withTies(k, (depth) => this.rank(terms, statistics, depth, allowed));
  }

  /** How many of the distinct terms each chunk has. */
  matched(ordinals: Uint32Array, terms: readonly string[]): Uint32Array {
    this.input.setTerms(terms);
    const at = this.input.setOrdinals(ordinals);
    countOf(this.instance.calls.matchWords(this.instance.scratch, this.root, terms.length, at, ordinals.length));
    return this.instance.copyWords(at, ordinals.length);
  }

  /** The chunks in which the tokens, at least one, follow each other; of the last, with `lastIsPrefix`, perhaps only the beginning. */
  phrase(tokens: readonly string[], lastIsPrefix = false): Bitmap {
    assert(tokens.length > 0, 'a phrase without a token');
    this.input.setTerms(tokens);
    return this.copyBitmap(this.instance.calls.findPhrase(this.instance.scratch, this.root, tokens.length, lastIsPrefix));
  }

  /** The chunks that have a token with `piece` in it; with `atEnd`, one that ends with it. For those that begin with it: `phrase`. */
  containing(piece: string, atEnd = false): Bitmap {
    this.input.setTerms([piece]);
    return this.copyBitmap(this.instance.calls.findContaining(this.instance.scratch, this.root, atEnd));
  }

  /** The first `max` terms that begin with `prefix`, in the order of their bytes. */
  prefixTerms(prefix: string, max: number): string[] {
    this.input.setTerms([prefix]);
    const bytes = countOf(this.instance.calls.listPrefixed(this.instance.scratch, this.root, max));
    return bytes === 0 ? [] : firstTerms(this.instance.readText(this.instance.output, bytes - 1).split('\0'), max);
  }

  /** Makes a segment of what has been added since the last time; adds do so by themselves. Throws ArenaFull with nothing changed. */
  freeze(): void {
    countOf(this.instance.calls.freezeWords(this.instance.scratch, this.root));
  }

  /** Merges segments for about as long as given; true when there is more to do. `all`: until one is left, for an index that rests. */
  mergeSome(budgetMs: number, all = false): boolean {
    const until = performance.now() + budgetMs;
    do {
      if (this.instance.calls.mergeWords(this.root, MERGE_STEP, all) === 0) return false;
    } while (performance.now() < until);
    return true;
  }

  /** Memory by what it holds. A merge under way is not counted. */
  bytes(): WordBytes {
    const entries = PARTS.map((part, i) => [part, this.instance.calls.wordsLines(this.root, i) * LINE_BYTES]);
    return Object.fromEntries(entries) as unknown as WordBytes;
  }

  /** Gives the memory back. The index must not be used after it, on any thread. */
  drop(): void {
    this.instance.calls.dropWords(this.root);
  }

  private copyBitmap(words: number): Bitmap {
    return this.instance.copyWords(this.instance.output, countOf(words));
  }
}

function assertOrdinal(ordinal: number): void {
  assert(Number.isInteger(ordinal) && ordinal >= 0 && ordinal < ORDINALS_MAX, `ordinal ${ordinal}`);
}
