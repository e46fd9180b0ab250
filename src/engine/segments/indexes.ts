// The indexes of a part beside its vectors: of its words, made when the first search in mode boost or hybrid, or with a
// content filter, asks for them, and of its metadata, made for the first search with metadata filters. A small part is
// indexed at once, a large one in slices between other work, and searches wait for it. Where memory has no room for the
// metadata, filters look at every chunk instead. Owner only.
import type { CollectionId, Ordinal } from '../../api/ids.js';
import type { Language } from '../../api/choices.js';
import type { ChunkRecord, DocumentRecord } from '../../storage/records.js';
import { type ShardTxn, readDocument } from '../../storage/shard-reader.js';
import { writerOf } from '../../text/term-writer.js';
import { chunkTerms } from '../../text/terms.js';
import { type FlatFields, chunkFieldTerms, flattenLayer } from '../filter/field-terms.js';
import { ArenaFull } from '../memory/bindings.js';
import type { Stored, TermMaker } from '../postings/builder.js';
import type { WordIndex } from '../postings/text-index.js';
import type { Shard } from '../shard.js';
import type { ShardAnswer, ShardRequest } from '../write/commands.js';
import { FIRST_SLICE_MS } from './loading.js';
import type { Part } from './segment.js';

type Json = Record<string, unknown>;

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

/** Few texts are none for a writer. */
export const makerOf = (language: Language): TermMaker<string> => ({
  add: (index, ordinal, text) => {
    const written = writerOf(language).write(text);
    if (written) index.addWritten(ordinal, written);
    else index.add(ordinal, chunkTerms(text, language));
  },
  termsOf: (text) => chunkTerms(text, language),
});

/**
 * The complete index of words; undefined while it is being built: ask again. Throws ArenaFull where memory has no room
 * for it, and DamagedRecord.
 */
function wordsOf(shard: Shard, part: Part): WordIndex | undefined {
  part.words?.assertSound();
  if (part.words?.isLost) part.words = undefined;
  prepareWords(shard, part);
  part.words?.assertSound();
  if (part.words?.isLost) throw new ArenaFull();
  return part.words?.complete;
}

/** Makes the index where there is none; false while it is being built. It may be lost, and is not tried again here. */
export function prepareWords(shard: Shard, part: Part, firstSliceMs = FIRST_SLICE_MS): boolean {
  if (!part.words) {
    part.words = shard.createTerms(part, 'words', makerOf(part.ref.language));
    buildWords(shard, part, performance.now() + firstSliceMs);
  }
  return part.words.isLost || part.words.complete !== undefined;
}

/** Goes on with the index that a checkpoint has brought back, if it has. */
export function resumeWords(shard: Shard, part: Part): void {
  part.words = shard.resumeTerms(part, 'words', makerOf(part.ref.language));
}

/** Goes on with the index that a search has asked for; true when there is nothing more to do. */
export function buildWords(shard: Shard, part: Part, untilMs: number): boolean {
  const { ref, words } = part;
  if (!words || words.complete) return true;
  return words.proceed(() =>
    shard.store.read((txn) => words.build((from) => part.within(txn.texts(ref.id, part.stored(from))), untilMs)),
  );
}

/**
 * Makes what a search wants of a collection and did not find: its vectors in memory, the index of its words or of its
 * metadata. Asked for until it is there. False while something is being loaded or indexed. Throws ArenaFull where
 * memory has no room for vectors or words; metadata may be lost, and are then read.
 */
export function prepare(shard: Shard, { collection, words, fields }: ShardRequest<'prepare'>): ShardAnswer<'prepare'> {
  if (!shard.loads.bring(collection)) return false;
  const parts = shard.parts.of(collection.id);
  const hasWords = !words || parts.map((part) => wordsOf(shard, part)).every((index) => index !== undefined);
  const hasFields = !fields || parts.map((part) => prepareFields(shard, part)).every(Boolean);
  return hasWords && hasFields;
}

/**
 * How far the graph of a collection is: asked again and again by whoever wants searches not to scan it. It is linked in
 * the background, which every command wakes. null while the part is being loaded. Throws ArenaFull where memory has no
 * room for it.
 */
export function linking(shard: Shard, { collection }: ShardRequest<'linking'>): ShardAnswer<'linking'> {
  if (!shard.loads.bring(collection)) return null;
  const state = { rows: 0, unlinked: 0, isTended: false };
  for (const { index } of shard.parts.of(collection.id)) {
    state.rows += index.liveCount;
    state.unlinked += index.pendingCount;
    state.isTended ||= index.isTended;
  }
  return state;
}
