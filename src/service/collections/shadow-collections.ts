// The shadow collections in the memory of the front thread: spaces beside the collections that have the names. The owner
// of shard 0 has the original; a change is committed there first and shown here after. Front thread.
import type { CollectionId } from '../../api/ids.js';
import type { Collection } from '../../api/collections.js';
import type { StagedPurpose, StagedRecord, StoredJob } from '../../storage/catalog-commands.js';
import type { Catalog } from './catalog.js';

/**
 * How a twin takes part in the writes of the collection that it stands beside. `embed`: in its own space too, and where
 * that fails the document is left for later. `require`: a write that cannot be in both is refused. `later`: nothing is
 * embedded for it.
 */
export type TwinMode = 'embed' | 'require' | 'later';

export interface Twin {
  collection: Collection;
  purpose: StagedPurpose;
  mode: TwinMode;
}

const NO_TWINS: readonly Twin[] = [];

export interface Staged extends Omit<StagedRecord, 'collection'> {
  collection: Collection;
}

export class ShadowCollections {
  private readonly byIds = new Map<CollectionId, Staged>();
  /** Of those that somebody has set. */
  private readonly modes = new Map<CollectionId, TwinMode>();
  private isLoaded = false;
  /** Still in the store, and to be removed there. */
  readonly orphans: CollectionId[] = [];

  constructor(private readonly catalog: Pick<Catalog, 'keep'>) {}

  /**
   * Takes over what the store holds, when shard 0 opens. At the start of a server nobody is left who restores: what was
   * staged for that is an orphan, and so is what no job builds.
   */
  load(records: readonly StagedRecord[], jobs: readonly Pick<StoredJob, 'staged_id'>[]): void {
    const built = new Set(jobs.map(({ staged_id: id }) => id));
    const isOwned = ({ id, purpose }: StagedRecord): boolean =>
      this.isLoaded || purpose === 'previous' || built.has(id);
    if (!this.isLoaded) this.orphans.push(...records.filter((record) => !isOwned(record)).map(({ id }) => id));
    this.byIds.clear();
    for (const record of records.filter(isOwned)) this.put(record);
    this.isLoaded = true;
  }

  find(id: CollectionId): Staged | undefined {
    return this.byIds.get(id);
  }

  all(): Iterable<Staged> {
    return this.byIds.values();
  }

  /** What stands beside a collection; the purpose, where given, tells which. */
  beside(id: CollectionId, purpose?: StagedPurpose): Staged[] {
    return [...this.byIds.values()].filter(
      (staged) => staged.replaces === id && (purpose === undefined || staged.purpose === purpose),
    );
  }

  setMode(id: CollectionId, mode: TwinMode): void {
    this.modes.set(id, mode);
  }

  /** It is about to take over. */
  isRequired(id: CollectionId): boolean {
    return this.modes.get(id) === 'require';
  }

  /**
   * The spaces that are written to together with a collection: those that are built, and one that is kept for the way
   * back.
   */
  twinsOf(live: CollectionId, nowMs: number): readonly Twin[] {
    if (this.byIds.size === 0) return NO_TWINS;
    const isTwin = ({ id, purpose, kept_until_ms: keptUntilMs = 0 }: Staged): boolean =>
      purpose === 'reindex' || (purpose === 'previous' && (keptUntilMs > nowMs || this.isRequired(id)));
    return this.beside(live)
      .filter(isTwin)
      .map((staged) => ({
        collection: staged.collection,
        purpose: staged.purpose,
        mode: this.modes.get(staged.id) ?? (staged.purpose === 'previous' ? 'embed' : 'later'),
      }));
  }

  put(record: StagedRecord): Staged {
    const staged = { ...record, collection: this.catalog.keep(record.collection) };
    this.byIds.set(record.id, staged);
    return staged;
  }

  /** A collection has another name. */
  rename(id: CollectionId, { tenant, name }: Pick<Collection, 'tenant' | 'name'>): void {
    for (const staged of this.beside(id))
      if (staged.purpose !== 'restore') staged.collection = { ...staged.collection, tenant, name };
  }

  remove(id: CollectionId): void {
    this.modes.delete(id);
    this.byIds.delete(id);
  }
}
