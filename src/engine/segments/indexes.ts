// The text index and the metadata index of a segment. The text index is built when the first search in mode boost or
// hybrid, or with a content filter, needs it; the metadata index when the first search with metadata filters does. A
// small segment is indexed at once, a large one in slices between other work, while the search waits. If a metadata
// index does not fit in memory, filters read the record of every chunk instead. Owner only.
import type { CollectionId, Ordinal } from '../../api/ids.js';
import type { Language } from '../../api/choices.js';
import type { ChunkRecord, DocumentRecord } from '../../storage/records.js';
import { type ShardTxn, readDocument } from '../../storage/shard-reader.js';
import { writerOf } from '../../text/term-writer.js';
import { chunkTerms } from '../../text/terms.js';
import { type FlatFields, chunkFieldTerms, flattenLayer } from '../filter/field-terms.js';
import { ArenaFull } from '../memory/bindings.js';
import type { Stored, TermMaker } from '../postings/builder.js';
import type { TextIndex } from '../postings/text-index.js';
import type { Shard } from '../shard.js';
import type { ShardAnswer, ShardRequest } from '../write/commands.js';
import { FIRST_SLICE_MS } from './loading.js';
import type { Segment } from './segment.js';

type Json = Record<string, unknown>;

/** The terms of a chunk's metadata are computed while the records are read, since they come from two records. */
const MAKER: TermMaker<readonly string[]> = {
  add: (index, ordinal, terms) => index.add(ordinal, terms),
  termsOf: (terms) => terms,
};

/**
 * Creates the metadata index if there is none. Returns false while it is being built. An index that did not fit in
 * memory counts as done and is not built again. Throws DamagedRecord.
 */
export function prepareFields(shard: Shard, segment: Segment, firstSliceMs = FIRST_SLICE_MS): boolean {
  if (!segment.fields) {
    segment.fields = shard.createTerms(segment, 'fields', MAKER);
    buildFields(shard, segment, performance.now() + firstSliceMs);
  }
  segment.fields.assertSound();
  return segment.fields.isLost || segment.fields.complete !== undefined;
}

/** Continues with the index that a checkpoint has restored, if it has. */
export function resumeFields(shard: Shard, segment: Segment): void {
  segment.fields = shard.resumeTerms(segment, 'fields', MAKER);
}

/** Builds the metadata index for one slice, if a search has asked for it. Returns true if nothing is left to do. */
export function buildFields(shard: Shard, segment: Segment, untilMs: number): boolean {
  const { fields } = segment;
  if (!fields || fields.complete) return true;
  return fields.proceed(() => shard.store.read((txn) => fields.build(storedFields(txn, segment), untilMs)));
}

function storedFields(txn: ShardTxn, segment: Segment): Stored<readonly string[]> {
  const { id } = segment.ref;
  const terms = new FieldTerms(txn, id);
  return function* (from: Ordinal) {
    for (const { ordinal, chunk } of segment.within(txn.chunks(id, segment.stored(from))))
      yield { ordinal, source: terms.of(chunk) };
  };
}

/** The metadata terms of chunks of one collection, as one transaction sees them. */
export class FieldTerms {
  /** The last document read. Chunks of one document usually follow each other. */
  private last: { docid: string; flat: FlatFields } | undefined;

  /** `document`: the document of all the chunks, if it has already been deleted from the store. */
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

/** Turns texts into index terms, by the fast writer if it can handle the text, otherwise by `chunkTerms`. */
export const makerOf = (language: Language): TermMaker<string> => ({
  add: (index, ordinal, text) => {
    const written = writerOf(language).write(text);
    if (written) index.addWritten(ordinal, written);
    else index.add(ordinal, chunkTerms(text, language));
  },
  termsOf: (text) => chunkTerms(text, language),
});

/**
 * The complete text index; undefined while it is being built: call again. Throws ArenaFull if it does not fit in
 * memory, and DamagedRecord.
 */
function textIndexOf(shard: Shard, segment: Segment): TextIndex | undefined {
  segment.textIndex?.assertSound();
  if (segment.textIndex?.isLost) segment.textIndex = undefined;
  prepareTextIndex(shard, segment);
  segment.textIndex?.assertSound();
  if (segment.textIndex?.isLost) throw new ArenaFull();
  return segment.textIndex?.complete;
}

/**
 * Creates the text index if there is none. Returns false while it is being built. An index that did not fit in memory
 * counts as done and is not built again here.
 */
export function prepareTextIndex(shard: Shard, segment: Segment, firstSliceMs = FIRST_SLICE_MS): boolean {
  if (!segment.textIndex) {
    segment.textIndex = shard.createTerms(segment, 'textIndex', makerOf(segment.ref.language));
    buildTextIndex(shard, segment, performance.now() + firstSliceMs);
  }
  return segment.textIndex.isLost || segment.textIndex.complete !== undefined;
}

/** Continues with the index that a checkpoint has restored, if it has. */
export function resumeTextIndex(shard: Shard, segment: Segment): void {
  segment.textIndex = shard.resumeTerms(segment, 'textIndex', makerOf(segment.ref.language));
}

/** Builds the text index for one slice, if a search has asked for it. Returns true if nothing is left to do. */
export function buildTextIndex(shard: Shard, segment: Segment, untilMs: number): boolean {
  const { ref, textIndex } = segment;
  if (!textIndex || textIndex.complete) return true;
  return textIndex.proceed(() =>
    shard.store.read((txn) =>
      textIndex.build((from) => segment.within(txn.texts(ref.id, segment.stored(from))), untilMs),
    ),
  );
}

/**
 * Loads or builds the missing indexes of a collection: its vectors in memory, its text index, its metadata index.
 * Returns false while something is being loaded or built: call again. Throws ArenaFull if the vectors or the text index
 * do not fit in memory; a metadata index that does not fit is skipped, and filters read records.
 */
export function prepare(
  shard: Shard,
  { collection, textIndex, fields }: ShardRequest<'prepare'>,
): ShardAnswer<'prepare'> {
  if (!shard.loads.load(collection)) return false;
  const segments = shard.segments.of(collection.id);
  const hasTextIndex =
    !textIndex || segments.map((segment) => textIndexOf(shard, segment)).every((index) => index !== undefined);
  const hasFields = !fields || segments.map((segment) => prepareFields(shard, segment)).every(Boolean);
  return hasTextIndex && hasFields;
}

/**
 * Progress of a collection's graph: live rows, unindexed rows, and whether the recall tuner has work to do. Callers
 * poll it to wait until searches need no scan; the graph is built in the background. Returns null while the segment is
 * being loaded. Throws ArenaFull if the segment does not fit in memory.
 */
export function indexing(shard: Shard, { collection }: ShardRequest<'indexing'>): ShardAnswer<'indexing'> {
  if (!shard.loads.load(collection)) return null;
  const state = { rows: 0, unindexed: 0, isTuning: false };
  for (const { index } of shard.segments.of(collection.id)) {
    state.rows += index.liveCount;
    state.unindexed += index.unindexedCount;
    state.isTuning ||= index.isTuning;
  }
  return state;
}
