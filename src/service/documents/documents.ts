// Use cases on documents and chunks that are there: get, delete. A missing collection has none of them.
// Called by the document and chunk endpoints; front thread. Each asks the one shard that has the document.
import { AppError } from '../../api/errors.js';
import { type CollectionName, type Tenant, asDocId, parseChunkId, shardOf } from '../../api/ids.js';
import type { ShardAnswer } from '../../engine/write/commands.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import { refOf } from '../collections/catalog.js';
import type { Context } from '../context.js';

/** As JSON text. Throws 404 `document_not_found`. */
export async function getDocument(...place: Parameters<typeof findDocument>): Promise<string> {
  const found = await findDocument(...place);
  if (!found) throw new AppError('document_not_found');
  return found;
}

/** The same; undefined where there is none. */
export async function findDocument(
  { catalog, shards }: Context,
  tenant: Tenant,
  name: CollectionName,
  docid: string,
): Promise<string | undefined> {
  const collection = catalog.find(tenant, name);
  if (!collection) return undefined;
  return (
    (await shards.ask(shardOf(docid, shards.size), 'getDocument', { collection: collection.id, docid })) ?? undefined
  );
}

/** The number of chunks that went; 0 when there was no such document. */
export async function deleteDocument(
  { catalog, staged, shards, metrics, events, nowMs }: Context,
  tenant: Tenant,
  name: CollectionName,
  docid: string,
): Promise<number> {
  const collection = catalog.find(tenant, name);
  if (!collection) return 0;
  const twins = staged.twinsOf(collection.id, nowMs()).map((twin) => refOf(twin.collection));
  const { chunks } = await shards.ask(shardOf(docid, shards.size), 'deleteDocument', {
    collection: refOf(collection),
    docid: asDocId(docid),
    ...(twins.length > 0 && { twins }),
  });
  if (chunks === 0) return 0;
  metrics.count('documentsDeleted');
  events.publish(logIdOf(collection), 'delete', { docid, chunks });
  return chunks;
}

/** As JSON text. Throws 404 `chunk_not_found`. */
export function getChunk(context: Context, tenant: Tenant, name: CollectionName, rid: string): Promise<string> {
  return ofChunk(context, 'getChunk', tenant, name, rid);
}

/** Throws 404 `chunk_not_found`, or `chunk_content_not_found` for a vector chunk. */
export async function getChunkContent(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
  rid: string,
): Promise<string> {
  const { text } = await ofChunk(context, 'getContent', tenant, name, rid);
  if (text === null) throw new AppError('chunk_content_not_found');
  return text;
}

async function ofChunk<O extends 'getChunk' | 'getContent'>(
  { catalog, shards }: Context,
  op: O,
  tenant: Tenant,
  name: CollectionName,
  rid: string,
): Promise<NonNullable<ShardAnswer<O>>> {
  const collection = catalog.find(tenant, name);
  const docid = parseChunkId(rid)?.docid;
  const found =
    collection &&
    docid !== undefined &&
    (await shards.ask(shardOf(docid, shards.size), op, { collection: collection.id, rid }));
  if (!found) throw new AppError('chunk_not_found');
  return found;
}
