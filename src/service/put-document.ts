// Use case: hand one prepared document to the owner of its shard, within what its tenant may store.
// Called by everything that ingests, once for each document; front thread.
import type { DocId } from '../contract/ids.js';
import type { ShardAnswer } from '../contract/messages.js';
import { shardOf } from '../contract/placement.js';
import type { Collection } from '../contract/resources.js';
import { refOf } from './catalog.js';
import type { Context } from './context.js';
import { countCollection } from './count-collections.js';
import { rowsIn, twinWrites, type SpaceRows } from './twin-rows.js';

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
