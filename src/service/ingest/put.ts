// The rows of a document in other spaces than its collection's: a document that is written while another space is
// built, or kept for the way back, goes to both in one transaction, so it is embedded for both before. Called by
// everything that ingests; front thread.
import type { Collection, IngestTiming } from '../../api/collections.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import { AppError, type Outcome } from '../../api/errors.js';
import { type DocId, shardOf } from '../../api/ids.js';
import { timed } from '../../base/trace.js';
import { IDENTITY_TYPE } from '../../embedding/spaces.js';
import type { ShardAnswer, TwinWrite } from '../../engine/write/commands.js';
import type { PreparedGroup } from '../../extract/messages.js';
import { refOf } from '../collections/catalog.js';
import type { Twin } from '../collections/shadow-collections.js';
import { countCollection } from '../collections/usage.js';
import type { Context } from '../context.js';

/** By the key of the space. */
type OtherRows = ReadonlyMap<string, Float32Array>;

/** Rows of documents, in the space that they were prepared for and in others. */
export interface SpaceRows {
  space: string;
  vectors: Float32Array;
  others?: OtherRows;
}

type Planned = Omit<Collection, 'id'>;

interface Packed {
  documents: Uint8Array;
  ends: number[];
  /** Chunks of all of them. */
  rows: number;
}

/** Rejects with why a twin could not be embedded for that has to be. */
export async function otherRows(
  context: Context,
  planned: Planned,
  packed: Packed,
  signal?: AbortSignal,
): Promise<OtherRows | undefined> {
  const wanted = otherSpaces(context, planned).filter(
    ({ collection, mode }) => mode !== 'later' && collection.embedder_type !== IDENTITY_TYPE,
  );
  if (wanted.length === 0) return undefined;
  const found = await Promise.all(
    wanted.map(async (twin): Promise<[string, Float32Array][]> => {
      const vectors = await rowsFor(context, twin, packed, signal);
      return vectors ? [[twin.collection.vector_space_key, vectors]] : [];
    }),
  );
  return new Map(found.flat());
}

/** undefined where the document is left for later: the embedder fails, or there is a chunk without a text. */
async function rowsFor(
  { embedders }: Context,
  { collection, mode }: Twin,
  { documents, ends, rows }: Packed,
  signal?: AbortSignal,
): Promise<Float32Array | undefined> {
  try {
    // A copy: the bytes move to the worker, and are still to be stored.
    const { vectors, texts, failures } = await embedders.embedDocuments(
      collection,
      { documents: documents.slice(), ends },
      collection.tenant,
      signal,
    );
    if (failures?.[0]) throw AppError.fromWire(failures[0].error);
    return texts === rows ? vectors : undefined;
  } catch (error) {
    if (mode === 'require' || !(error instanceof AppError)) throw error;
    return undefined;
  }
}

function otherSpaces({ catalog, staged, nowMs }: Context, { tenant, name, vector_space_key: own }: Planned): Twin[] {
  const live = catalog.find(tenant, name);
  return live ? staged.twinsOf(live.id, nowMs()).filter(({ collection }) => collection.vector_space_key !== own) : [];
}

/** Whether documents need texts now: their collection is on its way into another space. */
export const wantsTexts = (context: Context, planned: Planned): boolean =>
  otherSpaces(context, planned).some(({ purpose }) => purpose === 'reindex');

export const textWanted = (): AppError =>
  new AppError('reindex_conflict', 'While the collection is reindexed into another space it takes texts only.');

/** The rows for a space. Throws `collection_changed` where it is one that the documents were not prepared for. */
function rowsIn({ space, vectors, others }: SpaceRows, { vector_space_key: key }: Collection): Float32Array {
  const rows = key === space ? vectors : others?.get(key);
  if (!rows) throw new AppError('collection_changed', undefined, { retryAfterS: 1 });
  return rows;
}

/**
 * Where documents go beside their collection, as of now. Throws `collection_changed` where they lack rows that they
 * have to have, and where another space has the name since the collection was looked up. One that is gone altogether is
 * the shard's to refuse.
 */
function twinWrites(
  { catalog, staged, nowMs }: Context,
  collection: Collection,
  { space, vectors, others }: SpaceRows,
): { twins?: TwinWrite[] } {
  const live = catalog.findByLog(logIdOf(collection));
  if (live && live.id !== collection.id) throw new AppError('collection_changed', undefined, { retryAfterS: 1 });
  const twins = staged.twinsOf(collection.id, nowMs());
  if (twins.length === 0) return {};
  const writes = twins.map(({ collection: twin, mode }): TwinWrite => {
    const key = twin.vector_space_key;
    const own = key === collection.vector_space_key ? 'same' : ((key === space ? vectors : others?.get(key)) ?? null);
    if (own === null && mode === 'require') throw new AppError('collection_changed', undefined, { retryAfterS: 1 });
    return { collection: refOf(twin), vectors: own };
  });
  return { twins: writes };
}

// Tells the metrics how long the phases of a batch take, each part of the batch by itself: parts overlap in time.
// Used by the use cases of batches, on the front thread.

export async function inPhase<T>(
  { metrics }: Pick<Context, 'metrics'>,
  phase: keyof IngestTiming,
  work: () => Promise<T>,
): Promise<T> {
  const timing: IngestTiming = {};
  try {
    return await timed(timing, phase, work);
  } finally {
    metrics.ingestedInPhases(timing);
  }
}

// Use case: hand one prepared document to the owner of its shard, within what its tenant may store.
// Called by everything that ingests, once for each document; front thread.

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
  context: Context,
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

// Use case: hand a group of prepared documents to the owner of their shard, within what their tenant may store.
// Called by ingest-batch.ts for each group of a slice; front thread.

/** A group, and in which spaces it has rows. */
export type SpaceGroup = PreparedGroup & SpaceRows;

/** What a shard answered for the documents of a group. */
export type Stored = ShardAnswer<'putMany'>;

/** In the order of the calls, and of the documents. Rejects where none of them could be put. */
export async function putGroup(context: Context, collection: Collection, group: SpaceGroup): Promise<Stored> {
  const { shards, tenants, log } = context;
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
  const outcomes = await inPhase(context, 'store_ms', () => shards.ask(shard, 'putMany', put));
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
