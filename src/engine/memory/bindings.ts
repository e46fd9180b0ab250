// An instance of the kernel on the memory of an arena: the functions it exports, its scratch, and the views through
// which this thread reads and writes shared memory. Each thread has its own.
import { PAGE_BYTES } from '../../base/huge-pages.js';
import { FULL, HOLDER, NONE, OWNER, SCRATCH_OUTPUT } from './layout.js';

/**
 * A scratch is made with room for this many answers, so that a search does not fail where memory is full; pages never
 * used cost nothing.
 */
const SCRATCH_ANSWERS = 10_001;
const SCRATCH_POOL_ENTRIES = 40_200;

/**
 * The functions of kernel/index.ts. Numbers are u32 unless said otherwise. Addresses come back as signed numbers, and may
 * be given as either; 0 for one means that memory is full. Counts may come back as FULL.
 */
interface KernelCalls {
  // The arena, its readers, the directory of segments and their priorities.
  format(): void;
  restoreArena(end: number): void;
  createScratch(answers: number, poolEntries: number, holder: number): number;
  releaseScratch(scratch: number): void;
  reclaim(max: number): number;
  lockUnused(): number;
  unlockUnused(): void;
  endEpoch(): number;
  haveLeft(epoch: number): number;
  findPart(id: number): number;
  addPart(id: number): number;
  deletePart(id: number): void;
  createPriorities(): number;
  dropPriorities(root: number): void;
  reservePriority(root: number, ordinal: number): number;
  setPriority(root: number, ordinal: number, priority: number): void;
  priorityOf(root: number, ordinal: number): number;
  findPrioritized(scratch: number, root: number): number;

  // An index of vectors.
  ensureInput(scratch: number, dim: number): number;
  createIndex(dim: number, graphMin: number, narrow: boolean): number;
  dropIndex(root: number): void;
  stage(scratch: number, root: number, ordinal: number): number;
  publish(scratch: number, root: number, ordinal: number): void;
  remove(root: number, ordinal: number): void;
  hideRows(scratch: number, root: number, end: number, max: number): number;
  freeRows(root: number, from: number): void;
  linkSome(scratch: number, root: number, max: number): number;
  fillSome(scratch: number, root: number, max: number): void;
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

  // Its quantized vectors. All but `dropCodes` are about those that are being made.
  createCodes(root: number, learned: number, rowBytes: number): number;
  sampleRows(root: number, from: number, count: number, step: number): void;
  finishMean(root: number): void;
  finishCovariance(root: number, from: number, end: number): void;
  beginBasis(root: number, from: number, end: number): void;
  multiplyBasis(root: number, from: number, end: number): void;
  orthogonalize(root: number, from: number, end: number): void;
  measureAxes(root: number, from: number, end: number): void;
  measuredAt(root: number): number;
  planCodes(root: number, plan: number, slots4: number, slots2: number, first4: number, first2: number): number;
  writeAxes(root: number, from: number, end: number): void;
  finishAxes(root: number): void;
  encodeRows(scratch: number, root: number, from: number, end: number): number;
  exchangeCodes(root: number): void;
  dropNext(root: number): void;
  dropCodes(root: number): void;

  // A text index.
  createWords(): number;
  dropWords(root: number): void;
  addWords(scratch: number, root: number, ordinal: number, tokens: number, bytes: number): number;
  removeWords(scratch: number, root: number, ordinal: number, terms: number): number;
  freezeWords(scratch: number, root: number): number;
  mergeWords(root: number, max: number, all: boolean): number;
  countWords(scratch: number, root: number, terms: number): number;
  matchWords(scratch: number, root: number, terms: number, ordinals: number, chunks: number): number;
  rankWords(
    scratch: number,
    root: number,
    terms: number,
    k: number,
    norm: number,
    normPerToken: number,
    allowed: number,
  ): number;
  /** The answers of these five are bitmaps in the output. */
  findPhrase(scratch: number, root: number, terms: number, lastIsPrefix: boolean): number;
  findContaining(scratch: number, root: number, atEnd: boolean): number;
  findAny(scratch: number, root: number, terms: number): number;
  findLive(scratch: number, root: number): number;
  findRange(scratch: number, root: number, atEnd: boolean): number;
  listPrefixed(scratch: number, root: number, max: number): number;
  ensureAllowed(scratch: number, bytes: number): number;
  chunksIn(root: number): number;
  tokensIn(root: number): number;
  wordsLines(root: number, part: number): number;
}

/** The shard's memory cannot grow any further; the call that threw it changed nothing. */
export class ArenaFull extends Error {
  override readonly name = 'ArenaFull';

  constructor() {
    super('the memory of the shard is full');
  }
}

export class Instance {
  readonly calls: KernelCalls;
  // Views of the whole memory, renewed as it grows, by this thread or another.
  private words = new Uint32Array(0);
  private floats = new Float32Array(0);
  private bytes = Buffer.alloc(0);
  private scratchAt = 0;
  /** How the allocator's lock knows this thread. */
  private holder = OWNER;

  constructor(
    module: WebAssembly.Module,
    private readonly memory: WebAssembly.Memory,
  ) {
    this.calls = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as KernelCalls;
  }

  /** The working memory of this instance, made at first use. Throws ArenaFull. */
  get scratch(): number {
    return (this.scratchAt ||= addressOf(this.calls.createScratch(SCRATCH_ANSWERS, SCRATCH_POOL_ENTRIES, this.holder)));
  }

  /** The same where it has been made, else 0. */
  get heldScratch(): number {
    return this.scratchAt;
  }

  /** After a format the scratch is part of the free memory again. */
  forgetScratch(): void {
    this.scratchAt = 0;
  }

  /** From now on this thread is a reader. */
  becomeReader(holder: number): void {
    this.holder = holder;
    this.scratchAt = 0;
  }

  /** Takes over what a reader that is gone has left. */
  adoptScratch(scratch: number): void {
    this.setWord(scratch + HOLDER, this.holder);
    this.scratchAt = scratch;
  }

  /** Puts a vector where the calls stage, search and scores take it from. Throws ArenaFull. */
  setInput(vector: Float32Array): void {
    const at = addressOf(this.calls.ensureInput(this.scratch, vector.length));
    this.writeFloats(at, vector);
  }

  /** Room for `bytes` where the calls take their input from; its address. Throws ArenaFull. */
  reserveInput(bytes: number): number {
    const at = addressOf(this.calls.ensureInput(this.scratch, (bytes + 3) >>> 2));
    this.reach(at + bytes);
    return at;
  }

  /**
   * Puts ordinals, or a bitmap of them, where the calls that take some find them; answers their address. Throws
   * ArenaFull.
   */
  setOrdinals(ordinals: Uint32Array): number {
    const at = addressOf(this.calls.ensureAllowed(this.scratch, ordinals.byteLength + 8));
    this.writeWords(at, ordinals);
    return at;
  }

  /** The same of a bitmap, if there is one; answers how many ordinals it has, or NONE. */
  setBitmap(bitmap: Uint32Array | undefined): number {
    if (bitmap) this.setOrdinals(bitmap);
    return bitmap ? 32 * bitmap.length : NONE;
  }

  /** Address of what search and scores answer. */
  get output(): number {
    return this.word(this.scratch + SCRATCH_OUTPUT);
  }

  get reservedBytes(): number {
    return this.memory.buffer.byteLength;
  }

  /** Writes a text as UTF-8 with a zero byte and answers the bytes. Requires room for three a character, and one. */
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

  /** The word at a byte address. */
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

  copyFloats(at: number, count: number): Float32Array {
    this.reach(at + 4 * count);
    return this.floats.slice(at >>> 2, (at >>> 2) + count);
  }

  /** A view of bytes, of no use once the memory has grown. */
  bytesAt(at: number, count: number): Buffer {
    this.reach(at + count);
    return this.bytes.subarray(at, at + count);
  }

  /** Sees to it that the memory has so many bytes; false where it cannot grow to them. */
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
   * Views do not grow with the memory: renews them where they end before `end`. Growing by 0 makes this thread see what
   * others added.
   */
  private reach(end: number): void {
    if (end <= this.words.byteLength) return;
    this.memory.grow(0);
    this.words = new Uint32Array(this.memory.buffer);
    this.floats = new Float32Array(this.memory.buffer);
    this.bytes = Buffer.from(this.memory.buffer);
  }
}

/** A result that is an address, as an unsigned number; 0 means that memory is full. */
export function addressOf(result: number): number {
  if (result === 0) throw new ArenaFull();
  return result >>> 0;
}

/** A result that is a count or FULL. */
export function countOf(result: number): number {
  if (result === FULL) throw new ArenaFull();
  return result;
}
