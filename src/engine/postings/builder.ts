// An index of terms that a part has beside its vectors: of its words, or of its metadata. Filled from the store in
// slices when the first search needs it, kept up by every write from then on, and gone with the part. Where memory has
// no room for it, it is lost: dropped, and made anew by the next search that needs it; where a record that it is made
// of is damaged it is lost for good. Owner only.
import type { Ordinal } from '../../api/ids.js';
import { DamagedRecord } from '../../storage/damage.js';
import { ArenaFull } from '../memory/bindings.js';
import { LOST } from '../memory/layout.js';
import type { WordIndex } from './text-index.js';

/** What is indexed of each chunk from an ordinal on, in the order of ordinals. */
export type Stored<S> = (from: Ordinal) => Iterable<{ ordinal: Ordinal; source: S }>;

/** How the terms of a chunk come about: pure functions of its source. */
export interface TermMaker<S> {
  add(index: WordIndex, ordinal: Ordinal, source: S): void;
  /** What `add` added. */
  termsOf(source: S): readonly string[];
}

export class PartTerms<S> {
  private lost = false;
  private damage: DamagedRecord | undefined;

  /**
   * `announce` tells readers where the index is: once it is complete, and that it is LOST before it goes. `withRoom`
   * runs what may want memory, again where it has found some. Chunks with an ordinal below `builtTo` are in; Infinity
   * once all are.
   */
  constructor(
    private readonly index: WordIndex,
    private readonly maker: TermMaker<S>,
    private readonly announce: (root: number) => void = () => {},
    private readonly withRoom: (work: () => void) => void = (work) => work(),
    private builtTo = 0,
  ) {}

  get isLost(): boolean {
    return this.lost;
  }

  /** Memory that it takes, as far as it has been made. */
  get bytes(): number {
    return this.lost ? 0 : Object.values(this.index.bytes()).reduce((sum, bytes) => sum + bytes, 0);
  }

  /** The index once it has every chunk. */
  get complete(): WordIndex | undefined {
    return this.builtTo === Infinity && !this.lost ? this.index : undefined;
  }

  /**
   * Runs what calls `build`. Nobody waits for that while it goes on in the background: the damage that it meets is kept
   * for who asks next.
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

  /** Throws the DamagedRecord that it was lost for. */
  assertSound(): void {
    if (this.damage) throw this.damage;
  }

  /** Takes in what is stored until there is nothing more to do, which it then says, or until the time is over. */
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

  /** A chunk that has just been stored. While the index is being built, those ahead are found in the store. */
  add(ordinal: Ordinal, source: S): void {
    if (ordinal < this.builtTo) this.orLose(() => this.maker.add(this.index, ordinal, source));
  }

  /** `source` is what was added. */
  remove(ordinal: Ordinal, source: S): void {
    if (ordinal < this.builtTo) this.orLose(() => this.index.remove(ordinal, this.maker.termsOf(source)));
  }

  /** The same of a chunk that the index may not have: of a document that was leaving when it was made. */
  removeIfThere(ordinal: Ordinal, source: S): void {
    if (ordinal < this.builtTo) this.orLose(() => this.index.remove(ordinal, this.maker.termsOf(source), true));
  }

  /** Merges what was added in small pieces; true when there is more to do. */
  mergeSome(budgetMs: number): boolean {
    return !this.lost && this.index.mergeSome(budgetMs);
  }

  /** It must not be used after it. Requires that readers do not find it any more. */
  drop(): void {
    if (!this.lost) this.index.drop();
  }

  /** A commit cannot be taken back because an index has no room: the index goes instead. */
  private orLose(change: () => void): void {
    if (this.lost) return;
    try {
      this.withRoom(change);
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
