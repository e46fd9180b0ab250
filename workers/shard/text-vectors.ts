// What the texts of stored chunks were embedded to: for a document that comes again, so that only those of its chunks
// are embedded whose text has changed. Shard worker only; called by commands.ts. A page is short enough that no search
// notices it.
import type { Ordinal } from '../../src/contract/ids.js';
import type { ShardAnswer, ShardRequest } from '../../src/contract/messages.js';
import { DIGEST_BYTES, textDigest } from '../../src/text/text-digest.js';
import type { Shard } from './shard.js';

/**
 * A page ends with the chunk that brings it to so many bytes of texts and vectors: a millisecond, so that no search
 * waits for long.
 */
const PAGE_BYTES = 256 * 1024;

/** Of documents that are not there: none. */
export function listOrdinals(
  shard: Shard,
  { collection, docids }: ShardRequest<'listOrdinals'>,
): ShardAnswer<'listOrdinals'> {
  // A dropped collection may have a part of its records left.
  if (shard.isDropped(collection)) return new Uint32Array();
  return shard.store.read((txn) =>
    Uint32Array.from([...new Set(docids)].flatMap((docid) => txn.members(collection, docid).ordinals)),
  );
}

/**
 * Digest and vector of each chunk are read in one snapshot: whatever has become of the ordinals since they were listed,
 * the vector is that of the text. A chunk without a text is left out: its vector came from the caller.
 */
export function textVectors(
  shard: Shard,
  { collection: ref, ordinals }: ShardRequest<'textVectors'>,
): ShardAnswer<'textVectors'> {
  if (shard.isDropped(ref.id))
    return { digests: new Uint8Array(), vectors: new Float32Array(), taken: ordinals.length };
  const digests: Uint8Array[] = [];
  const vectors: Float32Array[] = [];
  let taken = 0;
  shard.store.read((txn) => {
    for (let bytes = 0; taken < ordinals.length && bytes < PAGE_BYTES; taken++) {
      const ordinal = ordinals[taken] as Ordinal;
      const text = txn.text(ref.id, ordinal);
      const vector = text && txn.vector(ref, ordinal);
      if (!vector) continue;
      bytes += text.length + vector.byteLength;
      digests.push(textDigest(text));
      vectors.push(vector);
    }
  });
  return {
    digests: joined(digests, new Uint8Array(digests.length * DIGEST_BYTES)),
    vectors: joined(vectors, new Float32Array(vectors.length * ref.dim)),
    taken,
  };
}

function joined<T extends Uint8Array | Float32Array>(rows: readonly T[], all: T): T {
  rows.forEach((row, i) => all.set(row, i * row.length));
  return all;
}
