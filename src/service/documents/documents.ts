// Use cases that get stored documents and chunks. Each one asks the single shard that holds the document. A
// missing collection counts as empty. Runs on front threads and on the main thread.
import { AppError } from '../../api/errors.js';
import type { Collection } from '../../api/collections.js';
import { type CollectionName, type Tenant, parseChunkId } from '../../api/ids.js';
import { shardOf } from '../../api/placement.js';
import type { DocumentRead } from '../../engine/stored-documents.js';
import type { ShardAnswer, ShardCommands } from '../../engine/write/commands.js';
import type { Quarantine } from '../../pool/quarantine.js';
import type { Catalog } from '../collections/catalog.js';
import type { ShadowCollections } from '../collections/shadow-collections.js';

/** The stores of all shards, for reading. */
interface StoredDocuments {
  readonly size: number;
  /** Rejects as ShardPool.request does. */
  request<O extends DocumentRead>(shard: number, op: O, request: ShardCommands[O]['request']): Promise<ShardAnswer<O>>;
}

/** What reads of single documents and chunks need. */
interface ReadContext {
  readonly catalog: Pick<Catalog, 'find' | 'findById'>;
  readonly shadows: Pick<ShadowCollections, 'find'>;
  readonly shards: StoredDocuments;
}

/** What reads and listings need. */
export interface RecordsContext extends ReadContext {
  readonly catalog: Pick<Catalog, 'find' | 'findById' | 'pageOfTenant'>;
  readonly quarantine: Pick<Quarantine, 'has'>;
}

/** Returns the document as JSON text. Throws 404 `document_not_found`. */
export async function getDocument(...place: Parameters<typeof findDocument>): Promise<string> {
  const found = await findDocument(...place);
  if (!found) throw new AppError('document_not_found');
  return found;
}

/** Returns the document as JSON text, or undefined if there is none. */
export async function findDocument(
  context: ReadContext,
  tenant: Tenant,
  name: CollectionName,
  docid: string,
): Promise<string | undefined> {
  const { catalog, shards } = context;
  const found = await readCollection(context, catalog.find(tenant, name), (collection) =>
    shards.request(shardOf(docid, collection, shards.size), 'getDocument', { collection: collection.id, docid }),
  );
  return found ?? undefined;
}

/**
 * Runs `read` for a collection; undefined if there is none. The records of a collection that is dropped meanwhile may go
 * while they are read, so `read` then runs again for the collection that has the name by now, if there is one.
 */
export async function readCollection<T>(
  { catalog, shadows }: ReadContext,
  first: Collection | undefined,
  read: (collection: Collection) => Promise<T>,
): Promise<T | undefined> {
  for (let collection = first; collection; collection = catalog.find(collection.tenant, collection.name)) {
    const answer = await read(collection);
    if (catalog.findById(collection.id) || shadows.find(collection.id)) return answer;
  }
  return undefined;
}

/** Returns the chunk as JSON text. Throws 404 `chunk_not_found`. */
export function getChunk(context: RecordsContext, tenant: Tenant, name: CollectionName, rid: string): Promise<string> {
  return ofChunk(context, 'getChunk', tenant, name, rid);
}

/**
 * Returns the text of the chunk. Throws 404 `chunk_not_found`, and `chunk_content_not_found` for a chunk that was
 * ingested as a vector.
 */
export async function getChunkContent(
  context: RecordsContext,
  tenant: Tenant,
  name: CollectionName,
  rid: string,
): Promise<string> {
  const { text } = await ofChunk(context, 'getContent', tenant, name, rid);
  if (text === null) throw new AppError('chunk_content_not_found');
  return text;
}

async function ofChunk<O extends 'getChunk' | 'getContent'>(
  context: RecordsContext,
  op: O,
  tenant: Tenant,
  name: CollectionName,
  rid: string,
): Promise<NonNullable<ShardAnswer<O>>> {
  const { catalog, shards } = context;
  const collection = catalog.find(tenant, name);
  const docid = parseChunkId(rid)?.docid;
  const found =
    docid !== undefined &&
    (await readCollection(context, collection, (now) =>
      shards.request(shardOf(docid, now, shards.size), op, { collection: now.id, rid }),
    ));
  if (!found) throw new AppError('chunk_not_found');
  return found;
}
