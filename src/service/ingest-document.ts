// Use case: ingest one document. Prepared by a batch worker, embedded by an embed worker, stored and published by the owner
// of its shard; the answer comes when it is on disk and searchable. A failure anywhere leaves what was there before.
import { AppError } from '../contract/errors.js';
import type { CollectionName, DocId, Tenant } from '../contract/ids.js';
import type { PrepareAnswer, PrepareRequest } from '../contract/prepare-messages.js';
import { shardOf } from '../contract/placement.js';
import type { Collection } from '../contract/resources.js';
import { isSameChunking } from './collection-settings.js';
import type { Context } from './context.js';
import { ensureCollection, plannedCollection } from './create-collection.js';
import { putDocument, type ReadyDocument } from './put-document.js';
import { reusedVectors } from './reused-vectors.js';

export interface Ingested {
  docid: DocId;
  chunks: number;
}

/**
 * Throws AppError with the code of what is wrong with the body, or why it cannot be stored now. A missing collection is made
 * with the instance's defaults, but only once the document is ready to be stored. Once `signal` is aborted, since
 * the client has gone, nothing is stored that is not embedded yet.
 */
export async function ingestDocument(context: Context, tenant: Tenant, name: CollectionName, body: PrepareRequest['body'], signal?: AbortSignal): Promise<Ingested> {
  const { catalog, metrics } = context;
  const startedAtMs = performance.now();
  const planned = catalog.find(tenant, name) ?? plannedCollection(context, tenant, name, {});
  const prepared = await context.batch.prepare({ body, ...prepareSettings(context, planned) }, tenant, signal);
  const { docid, chunks } = prepared;
  const { document, vectors } = await embedded(context, planned, prepared, signal);
  const put = async (): Promise<void> => {
    const collection = await ensureCollection(context, tenant, name);
    if (!isPreparedFor(planned, collection)) throw new AppError('collection_changed', undefined, { retryAfterS: 1 });
    await putDocument(context, collection, { docid, chunks, document, vectors });
  };
  await put().catch((error: unknown) => {
    const deletedMeanwhile = error instanceof AppError && error.code === 'collection_not_found';
    return deletedMeanwhile ? put() : Promise.reject(error);
  });
  metrics.ingested(chunks, performance.now() - startedAtMs);
  return { docid, chunks };
}

/** False when the collection has been made anew meanwhile, with settings that a prepared document does not fit. */
export function isPreparedFor(planned: Omit<Collection, 'id'>, { chunking, vector_space_key, priority_key }: Collection): boolean {
  return isSameChunking(planned.chunking, chunking) && planned.vector_space_key === vector_space_key && planned.priority_key === priority_key;
}

/** How documents are prepared for a collection, now. */
export function prepareSettings({ nowMs, metadataBytesMax, embedders }: Context, collection: Omit<Collection, 'id'>): Omit<PrepareRequest, 'body'> {
  const { chunking, priority_key: priorityKey, dim, embedder_type, embed_model, embedder_config, vector_space_key } = collection;
  const space = { dim, embedder_type, embed_model, embedder_config, vector_space_key };
  return { space, chunking, priorityKey, nowMs: nowMs(), metadataBytesMax, withDigests: embedders.isCostly(space) };
}

async function embedded(context: Context, planned: Omit<Collection, 'id'>, { docid, document, vectors, digests }: PrepareAnswer, signal?: AbortSignal): Promise<Pick<ReadyDocument, 'document' | 'vectors'>> {
  if (vectors) return { document, vectors };
  const reused = await reusedVectors(context, planned, { shard: shardOf(docid, context.shards.size), docids: [docid], digests }, signal);
  const texts = { documents: document, ends: [document.length], ...reused };
  const { documents, vectors: embedded, failures } = await context.embedders.embedDocuments(planned, texts, planned.tenant, signal);
  if (failures?.[0]) throw AppError.fromWire(failures[0].error);
  return { document: documents, vectors: embedded };
}
