// An instance of the kernel's code on a shard's memory: its calls, its scratch, and the views through which this thread reads
// and writes shared memory. One per thread; used by Kernel and VectorIndex.
import type { CodeCalls } from './codes/code-calls.js';
import type { WordCalls } from './words/word-calls.js';
import { FULL, NONE, SCRATCH_ANSWERS, SCRATCH_OUTPUT, SCRATCH_POOL_ENTRIES } from './layout.js';

/** The shard's memory cannot grow any further; the call that threw it changed nothing. */
export class ArenaFull extends Error {
  override readonly name = 'ArenaFull';

  constructor() {
    super('the memory of the shard is full');
  }
}

/** The functions of assembly/index.ts. Addresses come back as signed numbers and may be given as either. */
export interface KernelCalls extends WordCalls, CodeCalls {
  format(): void;
  createScratch(answers: number, poolEntries: number): number;
  ensureInput(scratch: number, dim: number): number;
  createIndex(dim: number, graphMin: number): number;
  dropIndex(root: number): void;
  stage(scratch: number, root: number, ordinal: number): number;
  publish(scratch: number, root: number, ordinal: number): void;
  remove(root: number, ordinal: number): void;
  linkSome(scratch: number, root: number, max: number): number;
  search(scratch: number, root: number, k: number, ef: number, allowed: number): number;
  countAllowed(scratch: number, end: number): number;
  scoresOf(scratch: number, root: number, ordinals: number, count: number): number;
}

export class Instance {
  readonly calls: KernelCalls;
  private words = new Uint32Array(0);
  private floats = new Float32Array(0);
  private bytes = Buffer.alloc(0);
  private scratchAt = 0;

  constructor(module: WebAssembly.Module, private readonly memory: WebAssembly.Memory) {
    this.calls = new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as KernelCalls;
  }

  /** The working memory of this instance, made at first use. Throws ArenaFull. */
  get scratch(): number {
    return (this.scratchAt ||= addressOf(this.calls.createScratch(SCRATCH_ANSWERS, SCRATCH_POOL_ENTRIES)));
  }

  /** After a format the scratch is part of the free memory again. */
  forgetScratch(): void {
    this.scratchAt = 0;
  }

  get reservedBytes(): number {
    return this.memory.buffer.byteLength;
  }

  /** Puts a vector where the calls stage, search and scores take it from. Throws ArenaFull. */
  setInput(vector: Float32Array): void {
    const at = addressOf(this.calls.ensureInput(this.scratch, vector.length));
    this.reach(at + vector.byteLength);
    this.floats.set(vector, at >>> 2);
  }

  /** Room for `bytes` where the calls take their input from; its address. Throws ArenaFull. */
  reserveInput(bytes: number): number {
    const at = addressOf(this.calls.ensureInput(this.scratch, (bytes + 3) >>> 2));
    this.reach(at + bytes);
    return at;
  }

  /** Puts ordinals, or a bitmap of them, where the calls that take some find them; answers their address. Throws ArenaFull. */
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

  /** Address of what search and scores answer. */
  get output(): number {
    return this.word(this.scratch + SCRATCH_OUTPUT);
  }

  /** The word at a byte address. */
  word(at: number): number {
    this.reach(at + 4);
    return Atomics.load(this.words, at >>> 2);
  }

  copyWords(at: number, count: number): Uint32Array {
    this.reach(at + 4 * count);
    return new Uint32Array(this.words.subarray(at >>> 2, (at >>> 2) + count));
  }

  copyFloats(at: number, count: number): Float32Array {
    this.reach(at + 4 * count);
    return new Float32Array(this.floats.subarray(at >>> 2, (at >>> 2) + count));
  }

  /** Views do not grow with the memory: renews them where they end before `end`. Growing by 0 makes this thread see what others added. */
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
