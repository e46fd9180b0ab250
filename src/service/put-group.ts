// Use case: hand a group of prepared documents to the owner of their shard, within what their tenant may store.
// Called by ingest-batch.ts for each group of a slice; front thread.
import type { PreparedGroup } from '../contract/batch-messages.js';
import { AppError } from '../contract/errors.js';
import type { ShardAnswer } from '../contract/messages.js';
import type { Outcome } from '../contract/errors.js';
import type { Collection } from '../contract/resources.js';
import { refOf } from './catalog.js';
import type { Context } from './context.js';
import { inPhase } from './ingest-phases.js';
import { putDocument, type ReadyDocument } from './put-document.js';
import { rowsIn, twinWrites, type SpaceRows } from './twin-rows.js';

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
