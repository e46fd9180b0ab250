// Documents as lines of JSON, as an ingest takes them: the text of a document is put together from its chunks, or its
// vector is given. With `withVectors` a line has the chunks with their vectors instead. Archive process only.
import type { LinesWish } from '../api/archives.js';
import type { Collection } from '../api/collections.js';
import type { Ordinal } from '../api/ids.js';
import { refOf } from '../storage/catalog-commands.js';
import { isExpired } from '../storage/expiries.js';
import { compareDocumentKeys } from '../storage/keys.js';
import { type DocumentRecord, encodeVector } from '../storage/records.js';
import type { ShardTxn } from '../storage/shard-reader.js';
import { wholeText } from '../text/chunking.js';

type Json = Record<string, unknown>;

/** A document with the shard that has it. */
interface Found {
  readonly txn: ShardTxn;
  readonly record: DocumentRecord;
}

/**
 * The lines of a collection from the snapshots of all shards, in the order of the ids, of documents whose metadata pass
 * `fits`. Documents that have expired in second `nowS` are left out. Throws DamagedRecord.
 */
export function* documentLines(
  shards: readonly ShardTxn[],
  collection: Collection,
  { after, limit = Infinity, withVectors }: LinesWish,
  fits: ((layers: Json[]) => boolean) | undefined,
  nowS: number,
): Generator<string> {
  let left = limit;
  for (const { txn, record } of inOrder(shards, collection, after)) {
    if (left <= 0) return;
    if (isExpired(record, nowS)) continue;
    const metadata = JSON.parse(record.metadataJson) as Json;
    if (fits && !fits([metadata])) continue;
    left--;
    yield `${JSON.stringify(lineOf(txn, collection, record, metadata, withVectors))}\n`;
  }
}

/** The documents of all shards in the order of their keys. */
function* inOrder(shards: readonly ShardTxn[], { id }: Collection, after: string | undefined): Generator<Found> {
  const heads = shards.map((txn) => {
    const records = txn.documents(id, after);
    return { txn, records, next: records.next() };
  });
  try {
    for (;;) {
      let first: (typeof heads)[number] | undefined;
      for (const head of heads)
        if (!head.next.done && (!first || isBefore(head.next, first.next as IteratorYieldResult<DocumentRecord>)))
          first = head;
      if (!first) return;
      yield { txn: first.txn, record: first.next.value as DocumentRecord };
      first.next = first.records.next();
    }
  } finally {
    for (const { records } of heads) records.return(undefined);
  }
}

const isBefore = (a: IteratorYieldResult<DocumentRecord>, b: IteratorYieldResult<DocumentRecord>): boolean =>
  compareDocumentKeys(a.value.docid, b.value.docid) < 0;

function lineOf(
  txn: ShardTxn,
  collection: Collection,
  { docid, expiresAtS }: DocumentRecord,
  { docid: _docid, ingested_at: _time, ...metadata }: Json,
  withVectors: boolean,
): object {
  const ref = refOf(collection);
  const chunks = (txn.members(ref.id, docid).ordinals as Ordinal[]).map((ordinal) => {
    const { path, metaJson } = txn.chunk(ref.id, ordinal);
    return { ordinal, path, metaJson, text: txn.text(ref.id, ordinal)?.toString() };
  });
  const vectorOf = (ordinal: Ordinal): string =>
    encodeVector(txn.vector(ref, ordinal) as Float32Array).toString('base64');
  const line = {
    docid,
    metadata,
    ...(expiresAtS !== 0 && { expires_at: new Date(1000 * expiresAtS).toISOString() }),
  };
  if (withVectors)
    return {
      ...line,
      chunks: chunks.map(({ ordinal, path, metaJson, text }) => ({
        chunk_path: path,
        meta: JSON.parse(metaJson) as Json,
        ...(text !== undefined && { text }),
        v_base64: vectorOf(ordinal),
      })),
    };
  const [first] = chunks;
  if (first && first.text === undefined) return { ...line, v_base64: vectorOf(first.ordinal) };
  return { ...line, text: wholeText(chunks.map(({ path, metaJson, text = '' }) => ({ path, metaJson, text }))) };
}
