// The document of a chunk, which must be there. Shard worker only.
// Called where hits are filtered and where they are turned into JSON.
import type { CollectionId } from '../../src/contract/ids.js';
import { DamagedRecord } from '../../src/store/damage.js';
import type { DocumentRecord } from '../../src/store/records.js';
import type { ShardTxn } from '../../src/store/shard-txn.js';

/** Throws DamagedRecord where it is missing: chunks and their document are written in one transaction. */
export function readDocument(txn: ShardTxn, id: CollectionId, docid: string): DocumentRecord {
  const document = txn.document(id, docid);
  if (!document) throw new DamagedRecord(`document of a chunk is missing in collection ${id}`);
  return document;
}
