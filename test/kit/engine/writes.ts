// Makes the document writes that tests give to a shard.
import type { DocumentWrite } from '../../../src/engine/write/commands.js';
import type { CollectionRef } from '../../../src/api/collections.js';
import type { DocId } from '../../../src/api/ids.js';

import { type PreparedChunk, packDocument } from '../../../src/text/prepared-document.js';

interface Document {
  readonly chunks: PreparedChunk[];
  /** One vector for each chunk. */
  readonly vectors: readonly (Float32Array | readonly number[])[];
  readonly priority?: number;
  readonly metadataJson?: string;
}

export function putOf(
  collection: CollectionRef,
  docid: string,
  { chunks, vectors, priority = 0, metadataJson = '{}' }: Document,
): DocumentWrite {
  const document = packDocument({ docid: docid as DocId, ingestedAtMs: 0, metadataJson, priority, chunks });
  return { op: 'put', collection, document, vectors: Float32Array.from(vectors.flatMap((vector) => [...vector])) };
}

export const removalOf = (collection: CollectionRef, docid: string): DocumentWrite => ({
  op: 'deleteDocument',
  collection,
  docid: docid as DocId,
});
