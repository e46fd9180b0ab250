// Use cases that send prepared documents, one or a group, to the owner of their shard, within the chunk limit of the
// tenant. A document that is written during a reindex, or while a replaced collection is kept for a rollback, is
// written to both collections in one transaction. Runs on the main thread.
import type { Collection } from '../../api/collections.js';
import { logIdOf, refOf } from '../../storage/catalog-commands.js';
import { AppError, type Result } from '../../api/errors.js';
import type { DocId } from '../../api/ids.js';
import { shardAt, shardOf, spreadOf } from '../../api/placement.js';
import type { Log } from '../../base/log.js';
import type { DualWrite, ShardAnswer } from '../../engine/write/commands.js';
import type { Metrics } from '../../observability/metrics.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import type { Catalog } from '../collections/catalog.js';
import { asOfNow, collectionChanged } from '../collections/catalog-changes.js';
import type { ShadowCollections } from '../collections/shadow-collections.js';
import { type ToKeep, keptIn } from '../documents/keyed-writes.js';
import { countCollection } from '../collections/usage.js';
import type { ChunkLedger } from '../tenants/limits.js';
import type { WrittenDocuments } from '../reindex/written-documents.js';
import type { TenantRegistry } from '../tenants/registry.js';
import type { SpaceGroup, SpaceRows } from './embed.js';

export interface PutContext {
  readonly catalog: Pick<Catalog, 'findByLog'>;
  readonly shadows: Pick<ShadowCollections, 'beside' | 'dualWriteTargets'>;
  readonly shards: Pick<ShardPool, 'request' | 'requestOf' | 'size'>;
  readonly tenants: Pick<TenantRegistry, 'limitsOf'>;
  readonly chunkLedger: ChunkLedger;
  readonly written: Pick<WrittenDocuments, 'note'>;
  readonly metrics: Pick<Metrics, 'inPhase'>;
  readonly log: Log;
  readonly nowMs: () => number;
}

/** The vectors in the vector space of the collection. Throws `collection_changed` if the documents have none for it. */
function rowsIn({ space, vectors, others }: SpaceRows, { vector_space_key: key }: Collection): Float32Array {
  const rows = key === space ? vectors : others?.get(key);
  if (!rows) throw collectionChanged();
  return rows;
}

/**
 * The dual writes that are required now. Throws `collection_changed` if vectors are missing that a shadow collection
 * requires, or if the collection was switched since it was looked up. A deleted collection is left to the shard to
 * reject.
 */
function dualWritesOf(
  { catalog, shadows, nowMs }: PutContext,
  collection: Collection,
  { space, vectors, others }: SpaceRows,
): { dualWrites?: DualWrite[] } {
  const live = catalog.findByLog(logIdOf(collection));
  if (live && live.id !== collection.id) throw collectionChanged();
  const targets = shadows.dualWriteTargets(collection.id, nowMs());
  if (targets.length === 0) return {};
  const writes = targets.map(({ collection: shadow, mode }): DualWrite => {
    const key = shadow.vector_space_key;
    const own = key === collection.vector_space_key ? 'same' : ((key === space ? vectors : others?.get(key)) ?? null);
    if (own === null && mode === 'require') throw collectionChanged();
    return { collection: refOf(shadow), vectors: own };
  });
  return { dualWrites: writes };
}

/** A document with its vectors, as `put` takes it. */
export interface ReadyDocument extends SpaceRows {
  docid: DocId;
  /** How its answer is kept, if the request has a key. */
  keep?: ToKeep | undefined;
  chunks: number;
  document: Uint8Array;
}

/**
 * Stores a document. Documents of one collection reach the shard in the order of the calls. If another collection of the
 * same vector space takes the name over meanwhile, the document goes there. Throws 429 `chunk_limit_reached` and 503
 * `collection_changed`. When a document is replaced, only the difference in chunks counts.
 */
export const putDocument = (
  context: PutContext,
  collection: Collection,
  ready: ReadyDocument,
): Promise<ShardAnswer<'put'>> => asOfNow(context, collection, (now) => putNow(context, now, ready));

async function putNow(context: PutContext, collection: Collection, ready: ReadyDocument): Promise<ShardAnswer<'put'>> {
  const { shards, tenants, chunkLedger, written } = context;
  const { docid, chunks, document, keep } = ready;
  const rows = rowsIn(ready, collection);
  const put = { collection: refOf(collection), document, vectors: rows, ...keptIn(keep, collection) };
  const shard = shardOf(docid, collection, shards.size);
  const { chunksPerCollectionMax: chunksMax } = tenants.limitsOf(collection.tenant);
  const send = (chunksLeft?: number): Promise<ShardAnswer<'put'>> =>
    shards.request(
      shard,
      'put',
      { ...put, ...(chunksLeft !== undefined && { chunksLeft }), ...dualWritesOf(context, collection, ready) },
      { ended: () => written.note(collection.id, [docid]) },
    );
  if (chunksMax === Infinity) return send();
  const count = async (): Promise<number> => (await countCollection(context, collection)).chunks;
  return chunkLedger.add(collection.id, { chunks, chunksMax, count, send });
}

/** A group; of a batch with a key, how the answer of each document is kept. */
export type KeyedGroup = SpaceGroup & { keep?: ToKeep[] | undefined };

/** The results of a shard for the documents of a group. */
export type Stored = ShardAnswer<'putMany'>;

/**
 * Stores a group and returns the results in the order of its documents. Groups reach the shard in the order of the
 * calls. Rejects if no document could be stored.
 */
export const putGroup = (context: PutContext, collection: Collection, group: KeyedGroup): Promise<Stored> =>
  asOfNow(context, collection, (now) => putGroupNow(context, now, group));

async function putGroupNow(context: PutContext, collection: Collection, group: KeyedGroup): Promise<Stored> {
  const { shards, tenants, metrics, log, written } = context;
  const isLimited = tenants.limitsOf(collection.tenant).chunksPerCollectionMax !== Infinity;
  if (isLimited || group.spread !== spreadOf(collection, shards.size))
    return Promise.all(readyDocuments(group).map((ready) => resultOf(putDocument(context, collection, ready))));
  const { documents, ends, chunks, keep } = group;
  const shard = shardAt(collection, group.slot, shards.size);
  const put = {
    collection: refOf(collection),
    documents,
    ends,
    chunks,
    vectors: rowsIn(group, collection),
    ...dualWritesOf(context, collection, group),
    ...(keep && { keep: keep.map((each) => ({ ...each, log: logIdOf(collection) })) }),
  };
  const ended = (): void => written.note(collection.id, group.docids);
  const results = await metrics.inPhase('store_ms', () => shards.request(shard, 'putMany', put, { ended }));
  // The group is one command, so it is refused as a whole.
  if (results.some((result) => 'error' in result && result.error.code === 'collection_changed'))
    throw collectionChanged();
  // The group is one commit, so an internal error is the same for all documents.
  const internalError = results.find((result) => 'internalError' in result);
  if (internalError) log.error({ shard, ...internalError }, 'a shard could not store a batch');
  return results;
}

/**
 * Splits a group into documents. With a chunk limit each document is sent by itself: it may fit even if the one before
 * did not. So is each document of a group that was made for another spread of the collection.
 */
function readyDocuments(group: KeyedGroup): ReadyDocument[] {
  const { docids, documents, ends, chunks, space, others, keep } = group;
  const total = chunks.reduce((sum, count) => sum + count, 0);
  let row = 0;
  return docids.map((docid, i) => {
    const from = row;
    const own = chunks[i] as number;
    row += own;
    // The vectors are copied because transferring a view would transfer the buffer of the whole group.
    const rowsOf = (all: Float32Array): Float32Array =>
      all.slice((from * all.length) / total, ((from + own) * all.length) / total);
    const ownOthers = others && new Map(Array.from(others, ([key, rows]) => [key, rowsOf(rows)]));
    return {
      docid,
      chunks: own,
      document: documents.slice(ends[i - 1] ?? 0, ends[i]),
      space,
      vectors: rowsOf(group.vectors),
      ...(ownOthers && { others: ownOthers }),
      ...(keep && { keep: keep[i] }),
    };
  });
}

/** Converts rejections to results. An internal error has been logged where it occurred. */
function resultOf<T>(answer: Promise<T>): Promise<Result<T>> {
  return answer.then(
    (value) => ({ value }),
    (error: unknown) => ({ error: (error instanceof AppError ? error : new AppError('ingest_failed')).toWire() }),
  );
}
