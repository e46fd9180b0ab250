// An instance of the WebAssembly kernel on the memory of an arena: its exported functions, its scratch memory, and the
// typed views through which this thread reads and writes the shared memory. Every thread has instances of its own.
import { PAGE_BYTES } from '../../base/arena-memory.js';
import { FULL, HOLDER, NONE, OWNER, SCRATCH_OUTPUT } from './layout.js';

/**
 * Capacities that a new scratch gets, in answers and in search candidates. They are large enough that a search does not
 * have to allocate when memory is full; pages never touched cost nothing.
 */
const SCRATCH_ANSWERS = 10_001;
const SCRATCH_POOL_ENTRIES = 40_200;

/**
 * The exports of kernel/index.ts. Numbers are u32 unless a comment says otherwise. The engine returns addresses as
 * signed numbers and accepts either form; an address of 0 means that memory is full. A function that returns a count
 * may return FULL instead.
 */
interface KernelCalls {
  // The arena, its readers, the directory of segments, and the columns of their rows.
  format(): void;
  restoreArena(end: number): void;
  createScratch(answers: number, poolEntries: number, holder: number): number;
  releaseScratch(scratch: number): void;
  reclaim(max: number): number;
  lockUnused(): number;
  unlockUnused(): void;
  endEpoch(): number;
  haveLeft(epoch: number): number;
  findSegment(id: number): number;
  addSegment(id: number): number;
  deleteSegment(id: number): void;
  createColumn(): number;
  dropColumn(root: number): void;
  reserveValue(root: number, ordinal: number): number;
  /** The value is a float64. */
  setValue(root: number, ordinal: number, value: number): void;
  valueOf(root: number, ordinal: number): number;
  /** `limit` is a float64. */
  findValued(scratch: number, root: number, limit: number): number;

  // Vector indexes.
  ensureInput(scratch: number, dim: number): number;
  createIndex(dim: number, graphMin: number, narrow: boolean): number;
  dropIndex(root: number): void;
  stage(scratch: number, root: number, ordinal: number): number;
  publish(scratch: number, root: number, ordinal: number): void;
  remove(root: number, ordinal: number): void;
  renew(root: number, ordinal: number): void;
  hideRows(scratch: number, root: number, end: number, max: number): number;
  freeRows(root: number, from: number): void;
  indexSome(scratch: number, root: number, max: number): number;
  densifySome(scratch: number, root: number, max: number): void;
  search(
    scratch: number,
    root: number,
    k: number,
    ef: number,
    rerank: number,
    allowed: number,
    through: boolean,
    broad: number,
    last: number,
  ): number;
  countAllowed(scratch: number, end: number): number;
  readRow(scratch: number, root: number, ordinal: number): number;
  scoresOf(scratch: number, root: number, ordinals: number, count: number): number;

  // The quantized vectors of a vector index. All functions but `exchangeQuantizers` and `dropQuantizer` work on the
  // quantized vectors under construction.
  createQuantizer(root: number, learned: number, rowBytes: number): number;
  sampleRows(root: number, from: number, count: number, step: number): void;
  finishMean(root: number): void;
  finishCovariance(root: number, from: number, end: number): void;
  beginBasis(root: number, from: number, end: number): void;
  multiplyBasis(root: number, from: number, end: number): void;
  orthogonalize(root: number, from: number, end: number): void;
  measureComponents(root: number, from: number, end: number): void;
  measuredAt(root: number): number;
  planQuantizer(root: number, plan: number, slots4: number, slots2: number, first4: number, first2: number): number;
  writeComponents(root: number, from: number, end: number): void;
  finishComponents(root: number): void;
  encodeRows(scratch: number, root: number, from: number, end: number): number;
  exchangeQuantizers(root: number): void;
  dropNext(root: number): void;
  dropQuantizer(root: number): void;

  // Text indexes.
  createTextIndex(): number;
  dropTextIndex(root: number): void;
  addTerms(scratch: number, root: number, ordinal: number, tokens: number, bytes: number): number;
  removeTerms(scratch: number, root: number, ordinal: number, terms: number): number;
  freezeTextIndex(scratch: number, root: number): number;
  mergeTextIndex(root: number, max: number, all: boolean): number;
  countTerms(scratch: number, root: number, terms: number): number;
  matchTerms(scratch: number, root: number, terms: number, ordinals: number, chunks: number): number;
  rankTerms(
    scratch: number,
    root: number,
    terms: number,
    k: number,
    norm: number,
    normPerToken: number,
    allowed: number,
  ): number;
  /** These five functions write a bitmap to the output area. */
  findPhrase(scratch: number, root: number, terms: number, lastIsPrefix: boolean): number;
  findContaining(scratch: number, root: number, atEnd: boolean): number;
  findAny(scratch: number, root: number, terms: number): number;
  findLive(scratch: number, root: number): number;
  findRange(scratch: number, root: number, atEnd: boolean): number;
  countRange(scratch: number, root: number, allowed: number, max: number): number;
  listPrefixed(scratch: number, root: number, max: number): number;
  listRange(scratch: number, root: number, max: number, backward: boolean): number;
  listNear(scratch: number, root: number, edits: number, fixed: number, isPrefix: boolean, max: number): number;
  ensureAllowed(scratch: number, bytes: number): number;
  chunksIn(root: number): number;
  tokensIn(root: number): number;
  textIndexLines(root: number, kind: number): number;
}

/** The shard's memory cannot grow any further. The call that threw it has changed nothing. */
export class ArenaFull extends Error {
  override readonly name = 'ArenaFull';

  constructor() {
    super('the memory of the shard is full');
  }
}

/** A kernel instance of one thread on one memory. Addresses are byte offsets in that memory. */
export class Instance {
  readonly calls: KernelCalls;
  // Views of the whole memory. `reach` renews them after this thread or another has grown it.
  private words = new Uint32Array(0);
  private floats = new Float32Array(0);
  private bytes = Buffer.alloc(0);
  private scratchAt = 0;
  /** The number under which this thread takes the allocator's lock. */
  private holder = OWNER;

  constructor(
    module: WebAssembly.Module,
    private readonly memory: WebAssembly.Memory,
  ) {
    this.calls = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as KernelCalls;
  }

  /** Address of this instance's scratch memory, which is allocated at first use. Throws `ArenaFull`. */
  get scratch(): number {
    return (this.scratchAt ||= addressOf(this.calls.createScratch(SCRATCH_ANSWERS, SCRATCH_POOL_ENTRIES, this.holder)));
  }

  /** Address of the scratch memory if it has been allocated, else 0. */
  get heldScratch(): number {
    return this.scratchAt;
  }

  /** Drops the address of the scratch memory, which `format` has returned to the free memory. */
  forgetScratch(): void {
    this.scratchAt = 0;
  }

  /** Makes this thread a reader that takes the allocator's lock as `holder`. */
  becomeReader(holder: number): void {
    this.holder = holder;
    this.scratchAt = 0;
  }

  /** Takes over the scratch memory that a dead reader left behind. */
  adoptScratch(scratch: number): void {
    this.setWord(scratch + HOLDER, this.holder);
    this.scratchAt = scratch;
  }

  /** Writes a vector to the input area of the scratch, where the kernel's functions expect it. Throws `ArenaFull`. */
  setInput(vector: Float32Array): void {
    const at = addressOf(this.calls.ensureInput(this.scratch, vector.length));
    this.writeFloats(at, vector);
  }

  /** Reserves `bytes` in the input area of the scratch and returns its address. Throws `ArenaFull`. */
  reserveInput(bytes: number): number {
    const at = addressOf(this.calls.ensureInput(this.scratch, (bytes + 3) >>> 2));
    this.reach(at + bytes);
    return at;
  }

  /**
   * Writes ordinals, or the words of a bitmap, to the scratch area for them and returns its address. Throws
   * `ArenaFull`.
   */
  setOrdinals(ordinals: Uint32Array): number {
    const at = addressOf(this.calls.ensureAllowed(this.scratch, ordinals.byteLength + 8));
    this.writeWords(at, ordinals);
    return at;
  }

  /**
   * Writes a bitmap, if there is one, to the scratch area for filters. Returns the number of ordinals that it covers,
   * or NONE.
   */
  setBitmap(bitmap: Uint32Array | undefined): number {
    if (bitmap) this.setOrdinals(bitmap);
    return bitmap ? 32 * bitmap.length : NONE;
  }

  /** Address of the output area, to which searches and other functions write their results. */
  get output(): number {
    return this.word(this.scratch + SCRATCH_OUTPUT);
  }

  get reservedBytes(): number {
    return this.memory.buffer.byteLength;
  }

  /**
   * Writes a text as UTF-8 with a terminating zero byte and returns the number of bytes written. Requires room for
   * three bytes for each UTF-16 code unit, and one more.
   */
  writeText(at: number, text: string): number {
    const bytes = this.bytes.write(text, at, 'utf8');
    this.bytes[at + bytes] = 0;
    return bytes + 1;
  }

  readText(at: number, bytes: number): string {
    this.reach(at + bytes);
    return this.bytes.toString('utf8', at, at + bytes);
  }

  writeWords(at: number, words: Uint32Array): void {
    this.reach(at + words.byteLength);
    this.words.set(words, at >>> 2);
  }

  writeFloats(at: number, floats: Float32Array): void {
    this.reach(at + floats.byteLength);
    this.floats.set(floats, at >>> 2);
  }

  /** The u32 at a byte address, which is a multiple of 4. */
  word(at: number): number {
    this.reach(at + 4);
    return Atomics.load(this.words, at >>> 2);
  }

  setWord(at: number, value: number): void {
    this.reach(at + 4);
    Atomics.store(this.words, at >>> 2, value);
  }

  copyWords(at: number, count: number): Uint32Array {
    this.reach(at + 4 * count);
    return this.words.slice(at >>> 2, (at >>> 2) + count);
  }

  /** A view of `count` words, which becomes invalid when the memory grows. */
  wordsAt(at: number, count: number): Uint32Array {
    this.reach(at + 4 * count);
    return this.words.subarray(at >>> 2, (at >>> 2) + count);
  }

  copyFloats(at: number, count: number): Float32Array {
    this.reach(at + 4 * count);
    return this.floats.slice(at >>> 2, (at >>> 2) + count);
  }

  /** A view of `count` bytes, which becomes invalid when the memory grows. */
  bytesAt(at: number, count: number): Buffer {
    this.reach(at + count);
    return this.bytes.subarray(at, at + count);
  }

  /** Grows the memory to at least `bytes`. False when it cannot grow that far. */
  growTo(bytes: number): boolean {
    const pages = Math.ceil((bytes - this.memory.buffer.byteLength) / PAGE_BYTES);
    try {
      if (pages > 0) this.memory.grow(pages);
      return true;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  }

  /**
   * Renews the views if they end before `end`, since views do not grow with the memory. Growing by 0 pages makes growth
   * by other threads visible to this one.
   */
  private reach(end: number): void {
    if (end <= this.words.byteLength) return;
    this.memory.grow(0);
    this.words = new Uint32Array(this.memory.buffer);
    this.floats = new Float32Array(this.memory.buffer);
    this.bytes = Buffer.from(this.memory.buffer);
  }
}

/** Converts a returned address to an unsigned number. Throws `ArenaFull` for 0. */
export function addressOf(result: number): number {
  if (result === 0) throw new ArenaFull();
  return result >>> 0;
}

/** Returns a count. Throws `ArenaFull` for FULL. */
export function countOf(result: number): number {
  if (result === FULL) throw new ArenaFull();
  return result;
}
