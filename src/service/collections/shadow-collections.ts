// The shadow collections in memory: collections that are being built beside a live one, and replaced ones that are kept
// for a while. The owner of shard 0 has the original; a change is committed there first and then applied here, by
// CatalogState alone. One thread each.
import type { CollectionId } from '../../api/ids.js';
import type { Collection } from '../../api/collections.js';
import type { ShadowPurpose, ShadowRecord } from '../../storage/catalog-commands.js';
import type { Catalog } from './catalog.js';

/**
 * How a shadow collection takes part in dual writes. `embed`: the document is embedded for its vector space too, and
 * left for the job to copy if that fails. `require`: a write that cannot be made to both collections is rejected.
 * `later`: nothing is embedded for the shadow collection.
 */
export type DualWriteMode = 'embed' | 'require' | 'later';

export interface DualWriteTarget {
  collection: Collection;
  purpose: ShadowPurpose;
  mode: DualWriteMode;
}

const NO_TARGETS: readonly DualWriteTarget[] = [];

export interface Shadow extends Omit<ShadowRecord, 'collection'> {
  collection: Collection;
}

export class MutableShadows {
  private readonly byIds = new Map<CollectionId, Shadow>();
  /** Explicitly set modes; the others follow from the purpose. Known only to the thread that runs the jobs. */
  private readonly modes = new Map<CollectionId, DualWriteMode>();

  constructor(private readonly catalog: Pick<Catalog, 'keep'>) {}

  /** Replaces the content by that of the store. */
  load(records: readonly ShadowRecord[]): void {
    this.byIds.clear();
    for (const record of records) this.put(record);
  }

  find(id: CollectionId): Shadow | undefined {
    return this.byIds.get(id);
  }

  all(): Iterable<Shadow> {
    return this.byIds.values();
  }

  /** The shadow collections of a collection, optionally only those with the given purpose. */
  beside(id: CollectionId, purpose?: ShadowPurpose): Shadow[] {
    return [...this.byIds.values()].filter(
      (shadow) => shadow.replaces === id && (purpose === undefined || shadow.purpose === purpose),
    );
  }

  /** The collection that has taken over the name of this one, which is still kept; undefined if none has. */
  successorOf(id: CollectionId): CollectionId | undefined {
    const shadow = this.byIds.get(id);
    return shadow?.purpose === 'previous' ? (shadow.replaces ?? undefined) : undefined;
  }

  setMode(id: CollectionId, mode: DualWriteMode): void {
    this.modes.set(id, mode);
  }

  /** Whether the mode is `require`, which is set shortly before a switch. */
  isRequired(id: CollectionId): boolean {
    return this.modes.get(id) === 'require';
  }

  /**
   * The shadow collections that take part in the writes of a live collection: those that a reindex builds, and a
   * replaced one that is still kept so that the switch can be undone.
   */
  dualWriteTargets(live: CollectionId, nowMs: number): readonly DualWriteTarget[] {
    if (this.byIds.size === 0) return NO_TARGETS;
    const isShadow = ({ id, purpose, kept_until_ms: keptUntilMs = 0 }: Shadow): boolean =>
      purpose === 'reindex' || (purpose === 'previous' && (keptUntilMs > nowMs || this.isRequired(id)));
    return this.beside(live)
      .filter(isShadow)
      .map((shadow) => ({
        collection: shadow.collection,
        purpose: shadow.purpose,
        mode: this.modes.get(shadow.id) ?? (shadow.purpose === 'previous' ? 'embed' : 'later'),
      }));
  }

  put(record: ShadowRecord): void {
    this.byIds.set(record.id, { ...record, collection: this.catalog.keep(record.collection) });
  }

  /** Applies a renaming of the live collection to its shadow collections, except those of a restore. */
  rename(id: CollectionId, { tenant, name }: Pick<Collection, 'tenant' | 'name'>): void {
    for (const shadow of this.beside(id))
      if (shadow.purpose !== 'restore') shadow.collection = { ...shadow.collection, tenant, name };
  }

  remove(id: CollectionId): void {
    this.modes.delete(id);
    this.byIds.delete(id);
  }
}

/** The shadow collections as all but CatalogState see them. */
export type ShadowCollections = Omit<MutableShadows, 'load' | 'put' | 'rename' | 'remove'>;
