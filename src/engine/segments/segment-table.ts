// The segments of a shard that are in memory, and which collections are evicted. An evicted collection has documents in
// the store and only an entry in the home arena's directory, which tells readers to ask the owner to load it. A
// collection may have a segment in each arena; its segments are loaded and evicted together. Owner only.
import type { CollectionId, Ordinal } from '../../api/ids.js';
import type { CollectionRef } from '../../api/collections.js';
import type { DocumentRecord } from '../../storage/records.js';
import type { Arenas } from '../memory/arena.js';
import { Segment, type StoredRows } from './segment.js';
import type { SegmentRoots } from './directory.js';
import { LOST } from '../memory/layout.js';
import { nowSeconds } from '../../base/clock.js';

/** `arenas` is last, because it must be cleared after `vectors` (see SegmentRoots). */
const NOWHERE = { vectors: 0, textIndex: 0, fields: 0, priorities: 0, arenas: 0 };

const rootOf = (terms: Segment['textIndex'] | Segment['fields']): number =>
  terms?.isLost ? LOST : (terms?.complete?.root ?? 0);
/** The roots under which readers find the indexes of a segment. */
const rootsOf = ({ index, priorities, textIndex, fields }: Segment): Omit<SegmentRoots, 'arenas'> => ({
  vectors: index.root,
  priorities: priorities.root,
  textIndex: rootOf(textIndex),
  fields: rootOf(fields),
});

/** The segment table of one shard. Owner only. */
export class SegmentTable {
  /** The segments of each collection that is in memory as a whole. */
  private readonly segments = new Map<CollectionId, Segment[]>();
  /** The rows of collections that are written to and not in memory; for readers these are evicted. */
  private readonly storedRows = new Map<CollectionId, StoredRows[]>();
  /** Dirty segments: those for which background work may have something to do. */
  readonly unmaintained = new Set<Segment>();

  constructor(private readonly arenas: Arenas) {}

  /** The segments of a collection; empty if the collection is evicted or has no documents. */
  of(id: CollectionId): readonly Segment[] {
    return this.segments.get(id) ?? [];
  }

  /** The segments of a collection, or its rows if it is on disk alone. */
  rowsOf(id: CollectionId): readonly StoredRows[] {
    return this.segments.get(id) ?? this.storedRows.get(id) ?? [];
  }

  findRows(id: CollectionId, arena: number): StoredRows | undefined {
    return this.rowsOf(id).find((rows) => rows.arena === arena);
  }

  /** Whether a collection is on disk alone, and its rows are known. */
  isOnDisk(id: CollectionId): boolean {
    return this.storedRows.has(id);
  }

  /** The collections that are on disk alone and whose rows are known. */
  onDisk(): CollectionRef[] {
    return [...this.storedRows.values()].flatMap(([rows]) => rows?.ref ?? []);
  }

  /** Takes the rows of a collection that is not in memory, so that it can be written to. Throws ArenaFull. */
  enterRows(id: CollectionId, rows: readonly StoredRows[]): void {
    this.enterEvicted(id);
    this.storedRows.set(id, [...this.rowsOf(id), ...rows]);
  }

  /** Forgets the rows of a collection that is on disk alone. */
  forgetRows(id: CollectionId): void {
    this.storedRows.delete(id);
  }

  *all(): Generator<Segment, undefined> {
    for (const segments of this.segments.values()) yield* segments;
  }

  /**
   * Whether a collection may be evicted: all its segments are small and none is being written. A small segment is in
   * memory again as soon as its rows are read; a large one needs its graph built.
   */
  mayEvict({ ref }: Segment): boolean {
    return this.of(ref.id).every((segment) => segment.isSmall && !segment.isChanging);
  }

  isEvicted(id: CollectionId): boolean {
    const roots = this.arenas.home.directory.get(id);
    return roots?.vectors === 0 && roots.arenas === 0;
  }

  /**
   * Marks a collection as evicted that has documents in the store and has never been in this memory. Throws ArenaFull.
   */
  enterEvicted(id: CollectionId): void {
    this.arenas.home.directory.set(id, {});
  }

  /** Creates an empty segment that no reader finds yet. Throws ArenaFull. */
  create(ref: CollectionRef, arena: number): Segment {
    const kernel = this.arenas.at(arena);
    return new Segment(
      ref,
      kernel.createIndex(ref.dim, { precision: ref.precision }),
      kernel.createPriorities(),
      arena,
    );
  }

  /** The segments of a collection that a checkpoint has restored. They still have to be passed to `enter`. */
  restored(ref: CollectionRef): Segment[] {
    const mask = this.arenas.home.directory.get(ref.id)?.arenas || 1;
    const arenas = [...this.arenas.numbers()].filter((arena) => (mask >>> arena) & 1);
    return arenas.flatMap((arena) => this.restoredIn(ref, arena) ?? []);
  }

  /** Marks a collection as evicted for readers in all arenas. The memory of its segments stays with the caller. */
  hide(id: CollectionId): void {
    for (const { directory } of this.arenas.used()) if (directory.get(id)) directory.set(id, NOWHERE);
  }

  /** Reserves memory for the priority and the expiry of rows that will be written. Throws ArenaFull. */
  reserveValues(
    segment: Segment,
    rows: readonly Ordinal[],
    { priority, expiresAtS }: Pick<DocumentRecord, 'priority' | 'expiresAtS'>,
  ): void {
    if (priority === 0 && expiresAtS === 0) return;
    for (const row of rows) {
      if (priority !== 0) segment.priorities.reserve(row);
      if (expiresAtS !== 0) segment.expiries.reserve(row);
    }
    if (this.of(segment.ref.id).includes(segment)) this.announce(segment, { priorities: segment.priorities.root });
  }

  /** Replaces roots of a segment that readers can already find. */
  announce(segment: Segment, roots: Partial<SegmentRoots>): void {
    this.arenas.at(segment.arena).directory.set(segment.ref.id, roots);
  }

  /**
   * Makes segments visible to all readers; those in other arenas are found through the home arena. Throws ArenaFull if
   * a directory has no memory left, and then no segment becomes visible.
   */
  enter(id: CollectionId, segments: readonly Segment[]): void {
    const { home } = this.arenas;
    home.directory.set(id, {});
    this.arenas.publishBatch();
    for (const segment of segments.filter(({ arena }) => arena > 0)) this.announce(segment, rootsOf(segment));
    const all = [...this.of(id), ...segments];
    const mask = all.reduce((bits, { arena }) => bits | (1 << arena), 0);
    const atHome = segments.find(({ arena }) => arena === 0);
    home.directory.set(id, { arenas: mask === 1 ? 0 : mask, ...(atHome && rootsOf(atHome)) });
    this.segments.set(id, all);
    for (const segment of segments) this.wake(segment);
  }

  /** Evicts a collection: its memory is freed, and its next use loads it from the store. */
  evict({ ref: { id } }: Segment): void {
    if (this.of(id).some(({ index }) => index.liveCount > 0)) this.arenas.home.directory.set(id, NOWHERE);
    else this.arenas.home.directory.delete(id);
    this.forget(id);
  }

  /** Removes a deleted collection. */
  delete(id: CollectionId): void {
    this.forgetRows(id);
    this.arenas.home.directory.delete(id);
    this.forget(id);
  }

  /** The second in which a search or a write last used it. */
  usedAt({ ref }: Segment): number {
    return this.arenas.home.directory.usedAt(ref.id);
  }

  use(id: CollectionId): void {
    this.arenas.home.directory.get(id, nowSeconds());
  }

  /** Marks a segment as used and as dirty, since there may be background work for it. */
  wake(segment: Segment): void {
    this.use(segment.ref.id);
    this.unmaintained.add(segment);
  }

  private restoredIn(ref: CollectionRef, arena: number): Segment | undefined {
    const kernel = this.arenas.at(arena);
    const roots = kernel.directory.get(ref.id);
    if (!roots?.vectors) return undefined;
    const segment = new Segment(
      ref,
      kernel.resumeIndex(roots.vectors),
      kernel.createPriorities(roots.priorities),
      arena,
    );
    segment.markLiveRows();
    return segment;
  }

  /** Requires that readers no longer find the collection through the home arena. */
  private forget(id: CollectionId): void {
    for (const segment of this.of(id)) {
      if (segment.arena > 0) this.arenas.at(segment.arena).directory.delete(id);
      this.unmaintained.delete(segment);
      segment.drop();
    }
    this.segments.delete(id);
  }
}
