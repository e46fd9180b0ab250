// The documents of a collection as an archive has them, out of one snapshot of a shard. A record that does not decode,
// or is not there though another leads to it, is a DamagedRecord. Used by the writer and, before it, by the check.
// Archive process only.
import type { CollectionRef } from '../../src/contract/resources.js';
import type { Ordinal } from '../../src/contract/ids.js';
import type { ArchivedChunk, ArchivedDocument } from '../../src/archive/archived-records.js';
import { DamagedRecord } from '../../src/store/damage.js';
import { encodeVector, type DocumentRecord } from '../../src/store/records.js';
import type { ShardTxn } from '../../src/store/shard-txn.js';

export function* storedDocuments(txn: ShardTxn, ref: CollectionRef): Generator<ArchivedDocument> {
  let [documents, chunks] = [0, 0];
  for (const record of txn.documents(ref.id)) {
    yield archived(txn, ref, record);
    documents++;
    chunks += record.chunkCount;
  }
  const counted = txn.counts(ref.id);
  if (counted.documents !== documents || counted.chunks !== chunks)
    throw new DamagedRecord(
      `collection ${ref.id} has ${documents} documents and ${chunks} chunks in a shard that counts ${counted.documents} and ${counted.chunks}`,
    );
}

function archived(txn: ShardTxn, ref: CollectionRef, record: DocumentRecord): ArchivedDocument {
  const { docid, version, ingestedAtMs, metadataJson, priority, chunkCount } = record;
  const { ordinals, paths } = txn.members(ref.id, docid);
  if (ordinals.length !== chunkCount || paths.length !== chunkCount)
    throw new DamagedRecord(`document ${docid} has ${ordinals.length} of ${chunkCount} chunks`);
  const vectors = Buffer.allocUnsafe(chunkCount * ref.dim * 4);
  const chunks = ordinals.map((ordinal, place): ArchivedChunk => {
    const { path, metaJson } = txn.chunk(ref.id, ordinal as Ordinal);
    const vector = txn.vector(ref, ordinal as Ordinal);
    if (!vector) throw new DamagedRecord(`chunk ${ref.id}/${ordinal} has no vector`);
    encodeVector(vector).copy(vectors, place * ref.dim * 4);
    const text = txn.text(ref.id, ordinal as Ordinal)?.toString();
    return { path, meta: metaJson, ...(text !== undefined && { text }) };
  });
  return { docid, version, ingested_at_ms: ingestedAtMs, metadata: metadataJson, priority, chunks, vectors };
}
