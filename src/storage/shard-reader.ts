// The document of a chunk, which must be there; and whether two records are of one state of a document.
// Called where hits are filtered and turned into JSON, and where copies are written. Shard worker only.
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

type State = Pick<DocumentRecord, 'version' | 'ingestedAtMs'>;

/** Versions begin anew after a deletion: then the time tells them apart. */
export const isSameDocument = (record: State, other: State | undefined): boolean =>
  record.version === other?.version && record.ingestedAtMs === other.ingestedAtMs;
