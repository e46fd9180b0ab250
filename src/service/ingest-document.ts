// Use case: ingest one document. Prepared by a batch worker, embedded by an embed worker, stored and published by the owner
// of its shard; the answer comes when it is on disk and searchable. A failure anywhere leaves what was there before.
import { AppError } from '../contract/errors.js';
import type { CollectionName, DocId, Tenant } from '../contract/ids.js';
import type { PrepareAnswer, PrepareRequest } from '../contract/messages.js';
import { shardOf } from '../contract/placement.js';
import type { Collection } from '../contract/resources.js';
import { refOf } from './catalog.js';
import { isSameChunking } from './collection-settings.js';
import type { Context } from './context.js';
import { ensureCollection, plannedCollection } from './create-collection.js';

export interface Ingested {
  docid: DocId;
  chunks: number;
}

/**
 * Throws AppError with the code of what is wrong with the body, or why it cannot be stored now. A missing collection is made
 * with the instance's defaults, but only once the document is ready to be stored.
 */
export async function ingestDocument(context: Context, tenant: Tenant, name: CollectionName, body: PrepareRequest['body']): Promise<Ingested> {
  const { catalog, shards } = context;
  const planned = catalog.find(tenant, name) ?? plannedCollection(context, tenant, name, {});
  const prepared = await prepare(context, planned, body);
  const { docid, chunks } = prepared;
  const { document, vectors } = await embedded(context, prepared);
  const put = async (): Promise<void> => {
    const collection = await ensureCollection(context, tenant, name);
    if (!isPreparedFor(planned, collection)) throw new AppError('collection_changed', undefined, { retryAfterS: 1 });
    await shards.ask(shardOf(docid, shards.size), 'put', { collection: refOf(collection), document, vectors });
  };
  await put().catch((error: unknown) => {
    const deletedMeanwhile = error instanceof AppError && error.code === 'collection_not_found';
    return deletedMeanwhile ? put() : Promise.reject(error);
  });
  return { docid, chunks };
}

/** False when the collection has been made anew meanwhile, with settings that a prepared document does not fit. */
function isPreparedFor(planned: Omit<Collection, 'id'>, { chunking, vector_space_key, priority_key }: Collection): boolean {
  return isSameChunking(planned.chunking, chunking) && planned.vector_space_key === vector_space_key && planned.priority_key === priority_key;
}

function prepare(context: Context, collection: Omit<Collection, 'id'>, body: PrepareRequest['body']): Promise<PrepareAnswer> {
  const { nowMs, metadataBytesMax } = context;
  const { chunking, priority_key: priorityKey, dim, embedder_type, embed_model, embedder_config, vector_space_key } = collection;
  const space = { dim, embedder_type, embed_model, embedder_config, vector_space_key };
  return context.batch.prepare({ body, space, chunking, priorityKey, nowMs: nowMs(), metadataBytesMax });
}

async function embedded({ embed }: Context, { document, vectors }: PrepareAnswer): Promise<{ document: Uint8Array; vectors: Float32Array }> {
  if (vectors) return { document, vectors };
  const answer = await embed.embedDocument(document);
  return { document: answer.document as Uint8Array, vectors: answer.vectors };
}
