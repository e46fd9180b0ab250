// An instance of the kernel's code on a shard's memory: its calls, its scratch, and the views through which this thread
// reads and writes shared memory. One per thread; used by Kernel and VectorIndex.
import type { ArenaCalls } from './arena-calls.js';
import type { CodeCalls } from './codes/code-calls.js';
import type { WordCalls } from './words/word-calls.js';
import { FULL, HOLDER, NONE, SCRATCH_ANSWERS, SCRATCH_OUTPUT, SCRATCH_POOL_ENTRIES } from './layout.js';
import { OWNER } from './reader-layout.js';
import { MemoryViews } from './memory-views.js';

/** The shard's memory cannot grow any further; the call that threw it changed nothing. */
export class ArenaFull extends Error {
  override readonly name = 'ArenaFull';

  constructor() {
    super('the memory of the shard is full');
  }
}

/** The functions of assembly/index.ts. Addresses come back as signed numbers and may be given as either. */
export interface KernelCalls extends ArenaCalls, WordCalls, CodeCalls {
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
}

export class Instance extends MemoryViews {
  readonly calls: KernelCalls;
  private scratchAt = 0;
  /** How the allocator's lock knows this thread. */
  private holder = OWNER;

  constructor(module: WebAssembly.Module, memory: WebAssembly.Memory) {
    super(memory);
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
