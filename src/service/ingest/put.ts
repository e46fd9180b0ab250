// Use cases: hand prepared documents to the owner of their shard, one or a group, within what their tenant may store. A
// document that is written while another space of its collection is built, or kept for a rollback, goes to both in one
// transaction. Front thread.
import type { Collection } from '../../api/collections.js';
import { logIdOf, refOf } from '../../storage/catalog-commands.js';
import { AppError, type Outcome } from '../../api/errors.js';
import { type DocId, shardOf } from '../../api/ids.js';
import type { Log } from '../../base/log.js';
import type { ShardAnswer, TwinWrite } from '../../engine/write/commands.js';
import type { Metrics } from '../../observability/metrics.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import type { Catalog } from '../collections/catalog.js';
import { collectionChanged } from '../collections/catalog-changes.js';
import type { ShadowCollections } from '../collections/shadow-collections.js';
import { countCollection } from '../collections/usage.js';
import type { ChunkLedger } from '../tenants/limits.js';
import type { TenantRegistry } from '../tenants/registry.js';
import type { SpaceGroup, SpaceRows } from './embed.js';

export interface PutContext {
  readonly catalog: Pick<Catalog, 'findByLog'>;
  readonly shadows: Pick<ShadowCollections, 'twinsOf'>;
  readonly shards: Pick<ShardPool, 'ask' | 'askAll' | 'size'>;
  readonly tenants: Pick<TenantRegistry, 'limitsOf'>;
  readonly chunkLedger: ChunkLedger;
  readonly metrics: Pick<Metrics, 'inPhase'>;
  readonly log: Log;
  readonly nowMs: () => number;
}

/** The rows for a space. Throws `collection_changed` where it is one that the documents were not prepared for. */
function rowsIn({ space, vectors, others }: SpaceRows, { vector_space_key: key }: Collection): Float32Array {
  const rows = key === space ? vectors : others?.get(key);
  if (!rows) throw collectionChanged();
  return rows;
}

/**
 * Where documents go beside their collection, as of now. Throws `collection_changed` where they lack rows that they
 * have to have, and where another space has the name since the collection was looked up. One that is gone altogether is
 * the shard's to refuse.
 */
function twinWrites(
  { catalog, shadows, nowMs }: PutContext,
  collection: Collection,
  { space, vectors, others }: SpaceRows,
): { twins?: TwinWrite[] } {
  const live = catalog.findByLog(logIdOf(collection));
  if (live && live.id !== collection.id) throw collectionChanged();
  const twins = shadows.twinsOf(collection.id, nowMs());
  if (twins.length === 0) return {};
  const writes = twins.map(({ collection: twin, mode }): TwinWrite => {
    const key = twin.vector_space_key;
    const own = key === collection.vector_space_key ? 'same' : ((key === space ? vectors : others?.get(key)) ?? null);
    if (own === null && mode === 'require') throw collectionChanged();
    return { collection: refOf(twin), vectors: own };
  });
  return { twins: writes };
}

/** A document with its vectors, as `put` takes it. */
export interface ReadyDocument extends SpaceRows {
  docid: DocId;
  chunks: number;
  document: Uint8Array;
}

/**
 * Documents of one collection arrive in the order of the calls. Throws 429 `chunk_limit_reached`, 503
 * `collection_changed`; one that replaces another counts the difference.
 */
export async function putDocument(
  context: PutContext,
  collection: Collection,
  ready: ReadyDocument,
): Promise<ShardAnswer<'put'>> {
  const { shards, tenants, chunkLedger } = context;
  const { docid, chunks, document } = ready;
  const put = { collection: refOf(collection), document, vectors: rowsIn(ready, collection) };
  const shard = shardOf(docid, shards.size);
  const { chunksPerCollectionMax: chunksMax } = tenants.limitsOf(collection.tenant);
  if (chunksMax === Infinity) return shards.ask(shard, 'put', { ...put, ...twinWrites(context, collection, ready) });
  const count = async (): Promise<number> => (await countCollection(context, collection)).chunks;
  return chunkLedger.add(collection.id, {
    chunks,
    chunksMax,
    count,
    send: (room) => shards.ask(shard, 'put', { ...put, room, ...twinWrites(context, collection, ready) }),
  });
}

/** What a shard answered for the documents of a group. */
export type Stored = ShardAnswer<'putMany'>;

/** In the order of the calls, and of the documents. Rejects where none of them could be put. */
export async function putGroup(context: PutContext, collection: Collection, group: SpaceGroup): Promise<Stored> {
  const { shards, tenants, metrics, log } = context;
  const isLimited = tenants.limitsOf(collection.tenant).chunksPerCollectionMax !== Infinity;
  if (isLimited)
    return Promise.all(readyDocuments(group).map((ready) => outcomeOf(putDocument(context, collection, ready))));
  const { shard, documents, ends, chunks } = group;
  const put = {
    collection: refOf(collection),
    documents,
    ends,
    chunks,
    vectors: rowsIn(group, collection),
    ...twinWrites(context, collection, group),
  };
  const outcomes = await metrics.inPhase('store_ms', () => shards.ask(shard, 'putMany', put));
  // One commit: a fault is the same for all.
  const fault = outcomes.find((outcome) => 'fault' in outcome);
  if (fault) log.error({ shard, ...fault }, 'a shard could not store a batch');
  return outcomes;
}

/** Where the chunks are counted, each document is asked for on its own: it may fit where the one before did not. */
function readyDocuments(group: SpaceGroup): ReadyDocument[] {
  const { docids, documents, ends, chunks, space, others } = group;
  const total = chunks.reduce((sum, count) => sum + count, 0);
  let row = 0;
  return docids.map((docid, i) => {
    const from = row;
    const own = chunks[i] as number;
    row += own;
    // Copies: a view would take the whole group along to the other thread.
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
    };
  });
}

/** A fault has been logged where it was met. */
function outcomeOf<T>(answer: Promise<T>): Promise<Outcome<T>> {
  return answer.then(
    (value) => ({ value }),
    (error: unknown) => ({ error: (error instanceof AppError ? error : new AppError('ingest_failed')).toWire() }),
  );
}
