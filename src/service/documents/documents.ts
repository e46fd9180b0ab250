// Use cases that get and delete stored documents and chunks. Each one asks the single shard that holds the document. A
// missing collection counts as empty. Runs on front threads, which only read, and on the main thread.
import type { DOCUMENT_ROUTES } from '../../api/documents.js';
import { AppError } from '../../api/errors.js';
import type { Collection } from '../../api/collections.js';
import { type CollectionName, type Tenant, asDocId, parseChunkId } from '../../api/ids.js';
import { shardOf } from '../../api/placement.js';
import type { DocumentRead } from '../../engine/stored-documents.js';
import type { ShardAnswer, ShardCommands } from '../../engine/write/commands.js';
import { logIdOf, refOf } from '../../storage/catalog-commands.js';
import type { Metrics } from '../../observability/metrics.js';
import type { Quarantine } from '../../pool/quarantine.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import type { Catalog } from '../collections/catalog.js';
import type { ShadowCollections } from '../collections/shadow-collections.js';
import type { EventHub } from '../events/event-hub.js';
import type { UseCases } from '../use-case.js';

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

export interface DocumentsContext extends RecordsContext {
  readonly shadows: Pick<ShadowCollections, 'find' | 'dualWriteTargets'>;
  readonly shards: Pick<ShardPool, 'request' | 'size'>;
  readonly metrics: Pick<Metrics, 'count'>;
  readonly events: Pick<EventHub, 'publish'>;
  readonly nowMs: () => number;
}

export const documentUseCases = (context: DocumentsContext): UseCases<typeof DOCUMENT_ROUTES> => ({
  deleteDocument: async ({ tenant, collection, docid }) => ({
    tenant,
    collection,
    docid,
    chunks_deleted: await deleteDocument(context, tenant, collection, docid),
  }),
});

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

/** Returns the number of deleted chunks; 0 if there was no such document. */
async function deleteDocument(
  { catalog, shadows, shards, metrics, events, nowMs }: DocumentsContext,
  tenant: Tenant,
  name: CollectionName,
  docid: string,
): Promise<number> {
  const collection = catalog.find(tenant, name);
  if (!collection) return 0;
  const targets = shadows.dualWriteTargets(collection.id, nowMs()).map((shadow) => refOf(shadow.collection));
  const { chunks } = await shards.request(shardOf(docid, collection, shards.size), 'deleteDocument', {
    collection: refOf(collection),
    docid: asDocId(docid),
    ...(targets.length > 0 && { dualWrites: targets }),
  });
  if (chunks === 0) return 0;
  metrics.count('documentsDeleted');
  events.publish(logIdOf(collection), 'delete', { docid, chunks });
  return chunks;
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
