// What the stores of the catalog's environment do with its tables inside a transaction: the next collection id, a
// collection that is still what the caller found, what is staged beside one. Owned by the worker of shard 0, as all of
// the catalog.
import { AppError } from '../contract/errors.js';
import type { CollectionId } from '../contract/ids.js';
import type { CollectionKey, StoredCollection } from '../contract/resources.js';
import type { NewStaged, StagedRecord } from '../contract/staged.js';
import { decodeCollection, decodeStaged, encodeCatalogRecord as encode, type CatalogTable } from './catalog-records.js';
import { catalogKey, collectionPrefix, settingKey } from './keys.js';
import type { Table, Tables } from './tables.js';
import { wholeValues } from './whole-table.js';

export type CatalogTables = Tables<CatalogTable>;

const NEXT_ID = settingKey('next_collection_id');

/** Ids start at 1, are never reused, and so a dropped collection's leftovers can never show in a new one. */
export function nextId(settings: Table): CollectionId {
  const id = readNextId(settings);
  writeNextId(settings, id + 1);
  return id as CollectionId;
}

/** No id below `least` is given from now on. */
export function raiseNextId(settings: Table, least: number): void {
  writeNextId(settings, Math.max(least, readNextId(settings)));
}

const readNextId = (settings: Table): number => settings.get(NEXT_ID)?.readUInt32BE() ?? 1;

function writeNextId(settings: Table, id: number): void {
  const next = Buffer.alloc(4);
  next.writeUInt32BE(id);
  settings.put(NEXT_ID, next);
}

/**
 * The collection that still has this name and id: another request may have renamed or deleted it since the caller
 * looked.
 */
export function present(collections: Table, { tenant, name, id }: CollectionKey): StoredCollection {
  const bytes = collections.get(catalogKey(tenant, name));
  const collection = bytes && decodeCollection(bytes);
  if (collection?.id !== id) throw new AppError('collection_not_found');
  return collection;
}

/** Gives what is to be staged its id. */
export function stageIn({ staged, settings }: CatalogTables, wanted: NewStaged): StagedRecord {
  const id = nextId(settings);
  const record: StagedRecord = { ...wanted, id, collection: { ...wanted.collection, id } };
  putStaged(staged, record);
  return record;
}

/** Without those that are damaged: what is staged is never all there is of anything, so it is given up. */
export const allStaged = (staged: Table): StagedRecord[] => Array.from(wholeValues(staged), decodeStaged);
export const putStaged = (staged: Table, record: StagedRecord): void =>
  staged.put(collectionPrefix(record.id), encode(record));
export const removeStaged = (staged: Table, id: CollectionId): boolean => staged.delete(collectionPrefix(id));

/** What is staged beside collections and is nothing without them. What is restored stands for itself. */
export const besides = (staged: Table, ids: ReadonlySet<CollectionId>): StagedRecord[] =>
  allStaged(staged).filter(({ replaces, purpose }) => replaces !== null && ids.has(replaces) && purpose !== 'restore');
