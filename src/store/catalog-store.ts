// The catalog in LMDB: every collection of every tenant, and the counter that gives each its storage id.
// Owned by the worker of shard 0; the front thread works on a copy in memory.
import { Packr } from 'msgpackr';
import typia from 'typia';
import { AppError } from '../contract/errors.js';
import type { CollectionId } from '../contract/ids.js';
import type { Collection, CollectionChange } from '../contract/resources.js';
import { catalogKey, settingKey } from './keys.js';
import { Environment, type Table } from './lmdb.js';
import { DamagedRecord, RECORD_VERSION } from './records.js';

const TABLES = ['collections', 'settings'] as const;
const NEXT_ID = settingKey('next_collection_id');
const packr = new Packr({ useRecords: false });
const isCollection = typia.createIs<Omit<Collection, 'id' | 'tenant' | 'name'> & { id: number; tenant: string; name: string }>();

export class CatalogStore {
  private constructor(private readonly env: Environment<(typeof TABLES)[number]>) {}

  static open(directory: string, takeOver: boolean): CatalogStore {
    return new CatalogStore(Environment.open(directory, TABLES, takeOver));
  }

  all(): Collection[] {
    return this.env.read(({ collections }) => [...collections.entries(Buffer.alloc(0))].map(({ value }) => decode(value)));
  }

  /** Adds a collection and gives it an id; when its name is taken, changes nothing and answers the one that is there. */
  create(collection: Omit<Collection, 'id'>): Collection {
    return this.env.write(({ collections, settings }) => {
      const key = catalogKey(collection.tenant, collection.name);
      const present = collections.get(key);
      if (present) return decode(present);
      const made = { ...collection, id: nextId(settings) };
      collections.put(key, encode(made));
      return made;
    });
  }

  /** Changes a collection, a new name included: its documents go by the id. Throws `collection_not_found`, `collection_conflict`. */
  update(id: CollectionId, change: CollectionChange): Collection {
    const found = this.find(id);
    if (!found) throw new AppError('collection_not_found');
    const changed = { ...found, ...change };
    const [before, after] = [found, changed].map(({ tenant, name }) => catalogKey(tenant, name)) as [Buffer, Buffer];
    return this.env.write(({ collections }) => {
      if (!after.equals(before) && collections.has(after)) throw new AppError('collection_conflict');
      collections.delete(before);
      collections.put(after, encode(changed));
      return changed;
    });
  }

  /** Removes the collection with this id; nothing happens when it is gone already. */
  delete(id: CollectionId): void {
    const found = this.find(id);
    if (found) this.env.write(({ collections }) => collections.delete(catalogKey(found.tenant, found.name)));
  }

  close(): void {
    this.env.close();
  }

  private find(id: CollectionId): Collection | undefined {
    return this.all().find((collection) => collection.id === id);
  }
}

/** Ids start at 1, are never reused, and so a dropped collection's leftovers can never show in a new one. */
function nextId(settings: Table): CollectionId {
  const id = settings.get(NEXT_ID)?.readUInt32BE() ?? 1;
  const next = Buffer.alloc(4);
  next.writeUInt32BE(id + 1);
  settings.put(NEXT_ID, next);
  return id as CollectionId;
}

const encode = (collection: Collection): Buffer => Buffer.concat([Buffer.from([RECORD_VERSION]), packr.pack(collection)]);

function decode(bytes: Buffer): Collection {
  const value: unknown = bytes[0] === RECORD_VERSION ? packr.unpack(bytes.subarray(1)) : undefined;
  if (!isCollection(value)) throw new DamagedRecord('catalog: a collection record does not decode');
  return value as Collection;
}
