// Which parts of a shard are in memory, and which are away: those have documents in the store and nothing here but an
// entry of the home arena's directory, which tells readers that their owner has to be asked. A collection may have a
// part in each arena; they come and go together. Owner only.
import type { CollectionId, Ordinal } from '../../api/ids.js';
import type { CollectionRef } from '../../api/collections.js';
import type { Arenas } from '../memory/arena.js';
import { Part } from './segment.js';
import type { PartRoots } from './directory.js';
import { LOST } from '../memory/layout.js';
import { nowSeconds } from '../../base/clock.js';

/** The arenas last: see PartRoots. */
const NOWHERE = { vectors: 0, words: 0, fields: 0, priorities: 0, arenas: 0 };

const rootOf = (terms: Part['words'] | Part['fields']): number => (terms?.isLost ? LOST : (terms?.complete?.root ?? 0));
/** Where readers find the indexes of a part. */
const rootsOf = ({ index, priorities, words, fields }: Part): Omit<PartRoots, 'arenas'> => ({
  vectors: index.root,
  priorities: priorities.root,
  words: rootOf(words),
  fields: rootOf(fields),
});

export class PartTable {
  /** Those in memory as a whole, by arena. */
  private readonly parts = new Map<CollectionId, Part[]>();
  /** Parts that background work may have something to do for. */
  readonly restless = new Set<Part>();

  constructor(private readonly arenas: Arenas) {}

  /** None where the collection is away, or has no documents. */
  of(id: CollectionId): readonly Part[] {
    return this.parts.get(id) ?? [];
  }

  find(id: CollectionId, arena: number): Part | undefined {
    return this.of(id).find((part) => part.arena === arena);
  }

  *all(): Generator<Part, undefined> {
    for (const parts of this.parts.values()) yield* parts;
  }

  /**
   * The small ones: in memory again as soon as their rows are read. Large ones have a graph, and that has to be made.
   */
  mayLeave({ ref }: Part): boolean {
    return this.of(ref.id).every((part) => part.isSmall && !part.isChanging);
  }

  isAway(id: CollectionId): boolean {
    const roots = this.arenas.home.directory.get(id);
    return roots?.vectors === 0 && roots.arenas === 0;
  }

  /** There are documents of it in the store, and it was never in this memory. Throws ArenaFull. */
  enterAway(id: CollectionId): void {
    this.arenas.home.directory.set(id, {});
  }

  /** An empty part that nobody finds yet. Throws ArenaFull. */
  create(ref: CollectionRef, arena: number): Part {
    const kernel = this.arenas.at(arena);
    return new Part(ref, kernel.createIndex(ref.dim, { precision: ref.precision }), kernel.createPriorities(), arena);
  }

  /** The parts of a collection that a checkpoint has brought back, still to be entered. */
  restored(ref: CollectionRef): Part[] {
    const mask = this.arenas.home.directory.get(ref.id)?.arenas || 1;
    const arenas = [...this.arenas.numbers()].filter((arena) => (mask >>> arena) & 1);
    return arenas.flatMap((arena) => this.restoredIn(ref, arena) ?? []);
  }

  /** It is away from now on, for readers in all arenas; what it has of memory stays with whoever has its parts. */
  hide(id: CollectionId): void {
    for (const { directory } of this.arenas.used()) if (directory.get(id)) directory.set(id, NOWHERE);
  }

  /** Room for the priorities of rows that are to come. Throws ArenaFull. */
  reservePriorities(part: Part, rows: readonly Ordinal[]): void {
    for (const row of rows) part.priorities.reserve(row);
    if (this.of(part.ref.id).includes(part)) this.announce(part, { priorities: part.priorities.root });
  }

  /** Tells readers where indexes of a part are that they can find already. */
  announce(part: Part, roots: Partial<PartRoots>): void {
    this.arenas.at(part.arena).directory.set(part.ref.id, roots);
  }

  /**
   * From now on everybody finds them, those in other arenas through the home. Throws ArenaFull where a directory has no
   * room: then nobody does.
   */
  enter(id: CollectionId, parts: readonly Part[]): void {
    const { home } = this.arenas;
    home.directory.set(id, {});
    this.arenas.settle();
    for (const part of parts.filter(({ arena }) => arena > 0)) this.announce(part, rootsOf(part));
    const all = [...this.of(id), ...parts];
    const mask = all.reduce((bits, { arena }) => bits | (1 << arena), 0);
    const atHome = parts.find(({ arena }) => arena === 0);
    home.directory.set(id, { arenas: mask === 1 ? 0 : mask, ...(atHome && rootsOf(atHome)) });
    this.parts.set(id, all);
    for (const part of parts) this.wake(part);
  }

  /** A collection gives up its memory: it comes back from the store. */
  leave({ ref: { id } }: Part): void {
    if (this.of(id).some(({ index }) => index.liveCount > 0)) this.arenas.home.directory.set(id, NOWHERE);
    else this.arenas.home.directory.delete(id);
    this.forget(id);
  }

  /** For good. */
  delete(id: CollectionId): void {
    this.arenas.home.directory.delete(id);
    this.forget(id);
  }

  /** The second at which a search or a write used it last. */
  usedAt({ ref }: Part): number {
    return this.arenas.home.directory.usedAt(ref.id);
  }

  use(id: CollectionId): void {
    this.arenas.home.directory.get(id, nowSeconds());
  }

  /** It is in use, and there may be background work for it. */
  wake(part: Part): void {
    this.use(part.ref.id);
    this.restless.add(part);
  }

  private restoredIn(ref: CollectionRef, arena: number): Part | undefined {
    const kernel = this.arenas.at(arena);
    const roots = kernel.directory.get(ref.id);
    if (!roots?.vectors) return undefined;
    const part = new Part(ref, kernel.resumeIndex(roots.vectors), kernel.createPriorities(roots.priorities), arena);
    part.claimRows();
    return part;
  }

  /** Requires that readers do not find it at home any more. */
  private forget(id: CollectionId): void {
    for (const part of this.of(id)) {
      if (part.arena > 0) this.arenas.at(part.arena).directory.delete(id);
      this.restless.delete(part);
      part.drop();
    }
    this.parts.delete(id);
  }
}
