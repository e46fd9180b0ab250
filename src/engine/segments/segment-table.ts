// The segments of a shard that are in memory, and which collections are evicted. An evicted collection has documents in
// the store and only an entry in the home arena's directory, which tells readers to ask the owner to load it. A
// collection may have a segment in each arena; its segments are loaded and evicted together. Owner only.
import type { CollectionId, Ordinal } from '../../api/ids.js';
import type { CollectionRef } from '../../api/collections.js';
import type { Arenas } from '../memory/arena.js';
import { Part } from './segment.js';
import type { PartRoots } from './directory.js';
import { LOST } from '../memory/layout.js';
import { nowSeconds } from '../../base/clock.js';

/** `arenas` is last, because it must be cleared after `vectors` (see PartRoots). */
const NOWHERE = { vectors: 0, words: 0, fields: 0, priorities: 0, arenas: 0 };

const rootOf = (terms: Part['words'] | Part['fields']): number => (terms?.isLost ? LOST : (terms?.complete?.root ?? 0));
/** The roots under which readers find the indexes of a segment. */
const rootsOf = ({ index, priorities, words, fields }: Part): Omit<PartRoots, 'arenas'> => ({
  vectors: index.root,
  priorities: priorities.root,
  words: rootOf(words),
  fields: rootOf(fields),
});

/** The segment table of one shard. Owner only. */
export class PartTable {
  /** The segments of each collection that is in memory as a whole. */
  private readonly parts = new Map<CollectionId, Part[]>();
  /** Dirty segments: those for which background work may have something to do. */
  readonly restless = new Set<Part>();

  constructor(private readonly arenas: Arenas) {}

  /** The segments of a collection; empty if the collection is evicted or has no documents. */
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
   * Whether a collection may be evicted: all its segments are small and none is being written. A small segment is in
   * memory again as soon as its rows are read; a large one needs its graph built.
   */
  mayLeave({ ref }: Part): boolean {
    return this.of(ref.id).every((part) => part.isSmall && !part.isChanging);
  }

  isAway(id: CollectionId): boolean {
    const roots = this.arenas.home.directory.get(id);
    return roots?.vectors === 0 && roots.arenas === 0;
  }

  /**
   * Marks a collection as evicted that has documents in the store and has never been in this memory. Throws ArenaFull.
   */
  enterAway(id: CollectionId): void {
    this.arenas.home.directory.set(id, {});
  }

  /** Creates an empty segment that no reader finds yet. Throws ArenaFull. */
  create(ref: CollectionRef, arena: number): Part {
    const kernel = this.arenas.at(arena);
    return new Part(ref, kernel.createIndex(ref.dim, { precision: ref.precision }), kernel.createPriorities(), arena);
  }

  /** The segments of a collection that a checkpoint has restored. They still have to be passed to `enter`. */
  restored(ref: CollectionRef): Part[] {
    const mask = this.arenas.home.directory.get(ref.id)?.arenas || 1;
    const arenas = [...this.arenas.numbers()].filter((arena) => (mask >>> arena) & 1);
    return arenas.flatMap((arena) => this.restoredIn(ref, arena) ?? []);
  }

  /** Marks a collection as evicted for readers in all arenas. The memory of its segments stays with the caller. */
  hide(id: CollectionId): void {
    for (const { directory } of this.arenas.used()) if (directory.get(id)) directory.set(id, NOWHERE);
  }

  /** Reserves memory for the priorities of rows that will be written. Throws ArenaFull. */
  reservePriorities(part: Part, rows: readonly Ordinal[]): void {
    for (const row of rows) part.priorities.reserve(row);
    if (this.of(part.ref.id).includes(part)) this.announce(part, { priorities: part.priorities.root });
  }

  /** Replaces roots of a segment that readers can already find. */
  announce(part: Part, roots: Partial<PartRoots>): void {
    this.arenas.at(part.arena).directory.set(part.ref.id, roots);
  }

  /**
   * Makes segments visible to all readers; those in other arenas are found through the home arena. Throws ArenaFull if
   * a directory has no memory left, and then no segment becomes visible.
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

  /** Evicts a collection: its memory is freed, and its next use loads it from the store. */
  leave({ ref: { id } }: Part): void {
    if (this.of(id).some(({ index }) => index.liveCount > 0)) this.arenas.home.directory.set(id, NOWHERE);
    else this.arenas.home.directory.delete(id);
    this.forget(id);
  }

  /** Removes a deleted collection. */
  delete(id: CollectionId): void {
    this.arenas.home.directory.delete(id);
    this.forget(id);
  }

  /** The second in which a search or a write last used it. */
  usedAt({ ref }: Part): number {
    return this.arenas.home.directory.usedAt(ref.id);
  }

  use(id: CollectionId): void {
    this.arenas.home.directory.get(id, nowSeconds());
  }

  /** Marks a segment as used and as dirty, since there may be background work for it. */
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

  /** Requires that readers no longer find the collection through the home arena. */
  private forget(id: CollectionId): void {
    for (const part of this.of(id)) {
      if (part.arena > 0) this.arenas.at(part.arena).directory.delete(id);
      this.restless.delete(part);
      part.drop();
    }
    this.parts.delete(id);
  }
}
