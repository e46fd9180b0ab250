// The metadata of a part: indexed when the first search with metadata filters asks for it, like its words
// (part-words.ts). Where memory has no room for it, filters look at every chunk instead. Shard worker only.
import type { CollectionId, Ordinal } from '../../src/contract/ids.js';
import { chunkFieldTerms, flattenLayer, type FlatFields } from '../../src/rank/field-terms.js';
import type { ChunkRecord, DocumentRecord } from '../../src/store/records.js';
import type { ShardTxn } from '../../src/store/shard-txn.js';
import { readDocument } from './documents.js';
import type { Part } from './part.js';
import type { Stored, TermMaker } from './part-terms.js';
import type { Shard } from './shard.js';

type Json = Record<string, unknown>;

/** How long the search that comes first may keep the shard to itself. */
const FIRST_SLICE_MS = 10;

/** A chunk's source is its terms already: they are made of two records. */
const MAKER: TermMaker<readonly string[]> = {
  add: (index, ordinal, terms) => index.add(ordinal, terms),
  termsOf: (terms) => terms,
};

/**
 * Makes the index where there is none; false while it is being built. It may be lost, and is not tried again. Throws
 * DamagedRecord.
 */
export function prepareFields(shard: Shard, part: Part, firstSliceMs = FIRST_SLICE_MS): boolean {
  if (!part.fields) {
    part.fields = shard.createTerms(part, 'fields', MAKER);
    buildFields(shard, part, performance.now() + firstSliceMs);
  }
  part.fields.assertSound();
  return part.fields.isLost || part.fields.complete !== undefined;
}

/** Goes on with the index that a checkpoint has brought back, if it has. */
export function resumeFields(shard: Shard, part: Part): void {
  part.fields = shard.resumeTerms(part, 'fields', MAKER);
}

/** Goes on with the index that a search has asked for; true when there is nothing more to do. */
export function buildFields(shard: Shard, part: Part, untilMs: number): boolean {
  const { fields } = part;
  if (!fields || fields.complete) return true;
  return fields.proceed(() => shard.store.read((txn) => fields.build(storedFields(txn, part), untilMs)));
}

function storedFields(txn: ShardTxn, part: Part): Stored<readonly string[]> {
  const { id } = part.ref;
  const terms = new FieldTerms(txn, id);
  return function* (from: Ordinal) {
    for (const { ordinal, chunk } of part.within(txn.chunks(id, part.stored(from))))
      yield { ordinal, source: terms.of(chunk) };
  };
}

/** Terms of chunks of one collection, as one transaction sees them. */
export class FieldTerms {
  /** Of the document read last: its chunks mostly come together. */
  private last: { docid: string; flat: FlatFields } | undefined;

  /** `document`: of all chunks that are asked for, where it is not in the store any more. */
  constructor(
    private readonly txn: ShardTxn,
    private readonly id: CollectionId,
    document?: Pick<DocumentRecord, 'docid' | 'metadataJson'>,
  ) {
    if (document) this.last = { docid: document.docid, flat: flattenLayer(JSON.parse(document.metadataJson) as Json) };
  }

  of({ docid, metaJson }: ChunkRecord): readonly string[] {
    if (this.last?.docid !== docid) {
      const { metadataJson } = readDocument(this.txn, this.id, docid);
      this.last = { docid, flat: flattenLayer(JSON.parse(metadataJson) as Json) };
    }
    return chunkFieldTerms(JSON.parse(metaJson) as Json, this.last.flat);
  }
}
