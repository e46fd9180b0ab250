// Use case that ingests one document. The batch pool prepares it, an embed worker embeds it, and the owner of its shard
// stores and publishes it. The result is returned when the document is on disk and searchable. If any step fails, the
// previous version of the document stays. Runs on the main thread.
import { timed } from '../../base/trace.js';
import { AppError } from '../../api/errors.js';
import type { CollectionName, DocId, Tenant } from '../../api/ids.js';
import { slotOf, spreadOf } from '../../api/placement.js';
import type { PrepareAnswer, PrepareRequest } from '../../extract/messages.js';
import type { Collection } from '../../api/collections.js';
import type { IngestTiming } from '../../api/documents.js';
import { DOCIDS_SHOWN_MAX } from '../../api/limits.js';
import { logIdOf, spaceIn } from '../../storage/catalog-commands.js';
import type { Metrics } from '../../observability/metrics.js';
import type { BatchPool } from '../../pool/batch-pool.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import type { Catalog } from '../collections/catalog.js';
import { collectionChanged } from '../collections/catalog-changes.js';
import { isSameChunking } from '../collections/settings.js';
import { type CollectionsContext, ensureCollection, plannedCollection } from '../collections/collections.js';
import type { ShadowCollections } from '../collections/shadow-collections.js';
import type { Embedders } from '../embedding/embedders.js';
import type { EventHub } from '../events/event-hub.js';
import { findDocument } from '../documents/documents.js';
import type { KeyedRequest, KeyedWrites, ToKeep } from '../documents/keyed-writes.js';
import { type EmbedContext, type SpaceRows, otherRows, reusedVectors, textWanted, wantsTexts } from './embed.js';
import type { FileIds } from './file-ids.js';
import { type PutContext, type ReadyDocument, putDocument } from './put.js';

export interface IngestContext extends EmbedContext, PutContext {
  readonly collections: CollectionsContext;
  readonly catalog: Pick<Catalog, 'find' | 'findById' | 'findByLog' | 'nameOf'>;
  readonly shadows: Pick<ShadowCollections, 'find' | 'beside' | 'dualWriteTargets'>;
  readonly shards: Pick<ShardPool, 'request' | 'requestOf' | 'size'>;
  readonly batch: Pick<BatchPool, 'prepare' | 'prepareLines' | 'splitBatch'>;
  readonly embedders: Pick<Embedders, 'embedDocuments' | 'isCostly'>;
  readonly fileIds: FileIds;
  readonly events: Pick<EventHub, 'publish'>;
  readonly keyed: KeyedWrites;
  readonly metrics: Pick<Metrics, 'ingested' | 'indexed' | 'reused' | 'inPhase'>;
  readonly limits: IngestLimits;
}

interface IngestLimits {
  readonly metadataBytesMax: number;
  /** Bounds of the items of a JSON batch, and of the bytes of an NDJSON line. */
  readonly itemsMax: number;
  readonly lineBytesMax: number;
}

export interface Ingested {
  docid: DocId;
  chunks: number;
  version: number;
  /** The id derived from the file name, if a document of another file already has it. */
  docid_taken?: string;
}

/** The client that waits for the result. `signal` is aborted when it disconnects. */
export interface Asker {
  readonly signal?: AbortSignal;
  readonly trace?: { readonly traceparent: string } | undefined;
}

type Stored = Ingested & { timing?: IngestTiming };

/**
 * Throws AppError if the body is invalid or the document cannot be stored now. A missing collection is created with the
 * default settings, but only once the document is ready to be stored. If the client disconnects before the embedding is
 * complete, nothing is stored. A repetition of a keyed request has no `timing`.
 */
export async function ingestDocument(
  context: IngestContext,
  tenant: Tenant,
  name: CollectionName,
  body: PrepareRequest['body'],
  asker: Asker,
  keyed: KeyedRequest | undefined,
): Promise<Stored> {
  return context.keyed.once(tenant, name, keyed, (keep) => ingestNew(context, tenant, name, body, asker, keep));
}

async function ingestNew(
  context: IngestContext,
  tenant: Tenant,
  name: CollectionName,
  body: PrepareRequest['body'],
  asker: Asker,
  keep: ToKeep | undefined,
): Promise<Stored> {
  if (body.kind !== 'file' || body.docid !== '') return ingestNamed(context, tenant, name, body, asker, keep);
  const { docid, taken, release } = await context.fileIds.acquire({
    tenant,
    collection: context.catalog.nameOf(tenant, name),
    file: body,
    find: (id) => findDocument(context, tenant, name, id),
  });
  try {
    const more = taken === undefined ? {} : { docid_taken: taken };
    const named = { ...body, docid };
    return { ...(await ingestNamed(context, tenant, name, named, asker, keep && { ...keep, more })), ...more };
  } finally {
    release();
  }
}

async function ingestNamed(
  context: IngestContext,
  tenant: Tenant,
  name: CollectionName,
  body: PrepareRequest['body'],
  asker: Asker,
  keep: ToKeep | undefined,
): Promise<Stored> {
  const { catalog, metrics } = context;
  const startedAtMs = performance.now();
  const timing: IngestTiming = {};
  const planned = catalog.find(tenant, name) ?? plannedCollection(context.collections, tenant, name, {});
  const prepared = await timed(timing, 'prepare_ms', () =>
    context.batch.prepare({ body, ...prepareSettings(context, planned) }, tenant, asker.signal),
  );
  const { docid, chunks } = prepared;
  const kept = keep && { ...keep, more: { docid, ...keep.more } };
  const embed = (space: Omit<Collection, 'id'>, from: PrepareAnswer): ReturnType<typeof embedded> =>
    timed(timing, 'embed_ms', () => embedded(context, space, from, asker));
  let ready = await embed(planned, prepared);
  const put = async (): Promise<{ version: number; docid?: DocId }> => {
    const collection = await collectionFor(context, planned);
    return timed(timing, 'store_ms', () => putDocument(context, collection, { docid, chunks, keep: kept, ...ready }));
  };
  const stored = await put().catch(async (error: unknown) => {
    const code = error instanceof AppError ? error.code : undefined;
    if (code !== 'collection_not_found' && code !== 'collection_changed') throw error;
    // The collection was switched to another vector space meanwhile, so the document needs new vectors.
    const now = catalog.find(tenant, name) ?? planned;
    if (code === 'collection_changed' && !prepared.vectors && now.vector_space_key !== ready.space)
      ready = await embed(now, { ...prepared, document: ready.document });
    return put();
  });
  metrics.ingested(chunks, performance.now() - startedAtMs, timing);
  tellIngested(context, tenant, name, [{ docid, chunks }]);
  return { docid, chunks, ...stored, timing };
}

/** Publishes an ingest event to the readers of the collection's events. */
export function tellIngested(
  { catalog, events }: IngestContext,
  tenant: Tenant,
  name: CollectionName,
  ingested: readonly Pick<Ingested, 'docid' | 'chunks'>[],
): void {
  const collection = catalog.find(tenant, name);
  if (!collection || ingested.length === 0) return;
  const docids = ingested.slice(0, DOCIDS_SHOWN_MAX).map(({ docid }) => docid);
  events.publish(logIdOf(collection), 'ingest', {
    documents: ingested.length,
    chunks: ingested.reduce((sum, { chunks }) => sum + chunks, 0),
    docids,
  });
}

/**
 * The collection that receives prepared documents; creates it if it is missing. Throws `collection_changed` if the
 * collection was replaced meanwhile by one whose settings do not fit the documents. The vector space is checked when
 * the documents are stored.
 */
export async function collectionFor(context: IngestContext, planned: Omit<Collection, 'id'>): Promise<Collection> {
  const { tenant, name, chunking, priority_key: priorityKey } = planned;
  const collection = await ensureCollection(context.collections, tenant, name);
  if (!isSameChunking(chunking, collection.chunking) || priorityKey !== collection.priority_key)
    throw collectionChanged();
  return collection;
}

/** The current settings for preparing documents of a collection. */
export function prepareSettings(
  { nowMs, limits: { metadataBytesMax }, embedders }: IngestContext,
  collection: Omit<Collection, 'id'>,
): Omit<PrepareRequest, 'body'> {
  const { chunking, priority_key: priorityKey, ttl } = collection;
  const space = spaceIn(collection);
  return {
    space,
    chunking,
    priorityKey,
    ...(ttl && { ttlS: ttl }),
    nowMs: nowMs(),
    metadataBytesMax,
    withDigests: embedders.isCostly(space),
  };
}

async function embedded(
  context: IngestContext,
  planned: Omit<Collection, 'id'>,
  prepared: PrepareAnswer,
  asker: Asker,
): Promise<SpaceRows & Pick<ReadyDocument, 'document'>> {
  const { vectors, chunks: rows } = prepared;
  if (vectors && wantsTexts(context, planned)) throw textWanted();
  const space = planned.vector_space_key;
  if (vectors) return { space, document: prepared.document, vectors };
  const own = await embeddedTexts(context, planned, prepared, asker);
  const others = await otherRows(
    context,
    planned,
    { documents: own.document, ends: [own.document.length], rows },
    asker.signal,
  );
  return { space, ...own, ...(others && { others }) };
}

async function embeddedTexts(
  context: IngestContext,
  planned: Omit<Collection, 'id'>,
  { docid, document, digests }: PrepareAnswer,
  { signal, trace }: Asker,
): Promise<Pick<ReadyDocument, 'document' | 'vectors'>> {
  const spread = spreadOf(planned, context.shards.size);
  const reused = await reusedVectors(
    context,
    planned,
    { slot: slotOf(docid, spread), spread, docids: [docid], digests },
    signal,
  );
  const texts = {
    documents: document,
    ends: [document.length],
    ...reused,
    ...(trace && { traceparent: trace.traceparent }),
  };
  const { documents, vectors, failures } = await context.embedders.embedDocuments(
    planned,
    texts,
    planned.tenant,
    signal,
  );
  if (failures?.[0]) throw AppError.fromWire(failures[0].error);
  return { document: documents, vectors };
}
