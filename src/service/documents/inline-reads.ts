// Reads documents and chunks on the thread that has received the request, on the stores of all shards, beside their
// owners. A snapshot has every write that was acknowledged before it was taken, on any thread. Reads of documents with many
// chunks, and those that fail, are left to the owner, who reports what is wrong. Front threads only.
import type { Collection } from '../../api/collections.js';
import { AppError } from '../../api/errors.js';
import { type CollectionId, parseChunkId } from '../../api/ids.js';
import { AssertionFailed } from '../../base/assert.js';
import { endThread } from '../../base/thread.js';
import type { ShardSet } from '../../engine/search/snapshot.js';
import { type DocumentRead, readStored } from '../../engine/stored-documents.js';
import type { ShardAnswer, ShardCommands } from '../../engine/write/commands.js';
import type { ShardTxn } from '../../storage/shard-reader.js';
import type { FairTurns } from '../fair-turns.js';
import type { RecordsContext } from './documents.js';

/** The ids of this many chunks are read in less than a millisecond. */
const CHUNKS_MAX = 2048;

interface InlineReadsOptions {
  readonly shards: Pick<ShardSet, 'all' | 'read'>;
  readonly turns: FairTurns;
  /** The owners of the shards. */
  readonly owners: Pick<RecordsContext['shards'], 'request'>;
  readonly find: (collection: CollectionId) => Collection | undefined;
  /** Whether a damaged record has been found in the collection. */
  readonly isDamaged: (collection: CollectionId) => boolean;
}

export class InlineReads {
  constructor(private readonly options: InlineReadsOptions) {}

  /** The number of shards. */
  get size(): number {
    return this.options.shards.all.length;
  }

  /** Rejects as ShardPool.request does. */
  request<O extends DocumentRead>(shard: number, op: O, request: ShardCommands[O]['request']): Promise<ShardAnswer<O>> {
    const { turns, find } = this.options;
    const tenant = find(request.collection)?.tenant ?? '';
    return turns.run(tenant, () => this.now(shard, op, request));
  }

  private async now<O extends DocumentRead>(
    shard: number,
    op: O,
    request: ShardCommands[O]['request'],
  ): Promise<ShardAnswer<O>> {
    const { shards, owners, isDamaged } = this.options;
    if (isDamaged(request.collection)) throw new AppError('collection_damaged');
    try {
      const read = shards.read(shard, (txn) =>
        isShort(txn, request) ? { answer: readStored(txn, op, request) } : undefined,
      );
      if (read) return read.answer;
    } catch (error) {
      if (error instanceof AssertionFailed) return endThread(error);
    }
    return owners.request(shard, op, request);
  }
}

function isShort(txn: ShardTxn, request: ShardCommands[DocumentRead]['request']): boolean {
  const docid = 'rid' in request ? parseChunkId(request.rid)?.docid : 'docid' in request ? request.docid : undefined;
  if (docid === undefined) return true;
  return (txn.document(request.collection, docid)?.chunkCount ?? 0) <= CHUNKS_MAX;
}
