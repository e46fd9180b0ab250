// A text index or metadata index of a segment while it is built and maintained. It is filled from the store in slices
// when the first search needs it, kept up to date by every later write, and dropped with the segment. If it does not
// fit in memory, it is lost: dropped, and built again by the next search that needs it. If a record that it needs is
// damaged, it stays lost. Owner only.
import type { Ordinal } from '../../api/ids.js';
import { DamagedRecord } from '../../storage/damage.js';
import { ArenaFull } from '../memory/bindings.js';
import { LOST } from '../memory/layout.js';
import type { TextIndex } from './text-index.js';

/** Yields what is to be indexed of each chunk from an ordinal on, in ascending order. */
export type Stored<S> = (from: Ordinal) => Iterable<{ ordinal: Ordinal; source: S }>;

/** How the terms of a chunk are computed from its source (text or metadata). Pure functions. */
export interface TermMaker<S> {
  add(index: TextIndex, ordinal: Ordinal, source: S): void;
  /** The terms that `add` adds. */
  termsOf(source: S): readonly string[];
}

/** A text or metadata index of one segment. `S` is the type of a chunk's source. Owner only. */
export class SegmentTerms<S> {
  private lost = false;
  private damage: DamagedRecord | undefined;

  /**
   * `announce` publishes the root of the index to readers once it is complete, and LOST before it is dropped.
   * `reclaiming` runs work that may need memory and repeats it after memory was freed. Chunks with an ordinal below
   * `builtTo` are indexed; Infinity means all are.
   */
  constructor(
    private readonly index: TextIndex,
    private readonly maker: TermMaker<S>,
    private readonly announce: (root: number) => void = () => {},
    private readonly reclaiming: (work: () => void) => void = (work) => work(),
    private builtTo = 0,
  ) {}

  get isLost(): boolean {
    return this.lost;
  }

  /** Bytes of memory that it takes so far. */
  get bytes(): number {
    return this.lost ? 0 : Object.values(this.index.bytes()).reduce((sum, bytes) => sum + bytes, 0);
  }

  /** The index, once it has every chunk. */
  get complete(): TextIndex | undefined {
    return this.builtTo === Infinity && !this.lost ? this.index : undefined;
  }

  /**
   * Runs a step that calls `build`. In the background nobody waits for the result, so damage is kept for the next
   * caller.
   */
  proceed(build: () => boolean): boolean {
    try {
      return build();
    } catch (error) {
      if (!(error instanceof DamagedRecord)) throw error;
      this.damage = error;
      this.lose();
      return true;
    }
  }

  /** Throws the DamagedRecord for which the index was lost. */
  assertSound(): void {
    if (this.damage) throw this.damage;
  }

  /** Indexes stored chunks until `untilMs`. Returns true if nothing is left to do. */
  build(stored: Stored<S>, untilMs: number): boolean {
    if (this.builtTo < Infinity) this.orLose(() => this.takeIn(stored, untilMs));
    return this.lost || this.builtTo === Infinity;
  }

  private takeIn(stored: Stored<S>, untilMs: number): void {
    for (const { ordinal, source } of stored(this.builtTo as Ordinal)) {
      this.maker.add(this.index, ordinal, source);
      this.builtTo = ordinal + 1;
      if (performance.now() >= untilMs) return;
    }
    this.builtTo = Infinity;
    this.announce(this.index.root);
  }

  /**
   * Adds a chunk that has just been stored. While the index is being built, a chunk beyond `builtTo` is found in the
   * store later.
   */
  add(ordinal: Ordinal, source: S): void {
    if (ordinal < this.builtTo) this.orLose(() => this.maker.add(this.index, ordinal, source));
  }

  /** Removes a chunk. `source` must be what was added. */
  remove(ordinal: Ordinal, source: S): void {
    if (ordinal < this.builtTo) this.orLose(() => this.index.remove(ordinal, this.maker.termsOf(source)));
  }

  /**
   * Removes a chunk that the index may not have, because its document was already being removed when the index was
   * built.
   */
  removeIfThere(ordinal: Ordinal, source: S): void {
    if (ordinal < this.builtTo) this.orLose(() => this.index.remove(ordinal, this.maker.termsOf(source), true));
  }

  /** Merges small runs. Returns true if there is more to do. */
  mergeSome(budgetMs: number): boolean {
    return !this.lost && this.index.mergeSome(budgetMs);
  }

  /** Frees the memory. The index must not be used afterwards. Requires that readers no longer find it. */
  drop(): void {
    if (!this.lost) this.index.drop();
  }

  /** A commit cannot be undone because an index does not fit in memory, so the index is dropped instead. */
  private orLose(change: () => void): void {
    if (this.lost) return;
    try {
      this.reclaiming(change);
    } catch (error) {
      if (!(error instanceof ArenaFull)) throw error;
      this.lose();
    }
  }

  private lose(): void {
    this.announce(LOST);
    this.drop();
    this.lost = true;
  }
}
