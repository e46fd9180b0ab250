// Applies a batch of writes: one synced transaction for all of them, then their publication in shared memory. Rows are
// staged, invisible to searches, before the commit and published after it; old rows are removed after the new ones are
// visible. A batch that fails to commit leaves store and memory as they were. A dual write goes to the shadow
// collections in the same transaction. Reads no clock and no random number. Owner only.
import type { CollectionRef } from '../../api/collections.js';
import { AppError, type Result } from '../../api/errors.js';
import type { CollectionId, DocId, Ordinal } from '../../api/ids.js';
import { assert, defined } from '../../base/assert.js';
import { unshared } from '../../base/bytes.js';
import { LEAVING_CHUNKS_MIN, type LeavingDocument } from '../../storage/large-removal.js';
import { isExpired } from '../../storage/expiries.js';
import type { DocumentRecord } from '../../storage/records.js';
import { type ShardTxn, isSameDocument } from '../../storage/shard-reader.js';
import type { ShardWriteTxn } from '../../storage/shard-store.js';
import { type PreparedDocument, unpackDocument } from '../../text/prepared-document.js';
import { clientErrorOf, isOfMachine } from '../errors.js';
import { arenaOf, rowOf } from '../memory/ownership.js';
import { FieldTerms } from '../segments/indexes.js';
import { Segment, type StoredRows } from '../segments/segment.js';
import { type Shard, placed } from '../shard.js';
import type { DocumentWrite, ShardAnswer, ShardRequest, StagedPut, WriteAnswer } from './commands.js';
import { packCommand } from './journaled.js';
import { changedRecord } from './metadata.js';

/** What the columns of a segment have of a row, from the record of its document. */
type RowValues = Pick<DocumentRecord, 'priority' | 'expiresAtS'>;

/** The new values of a row, and its metadata terms before and after, if the segment has a metadata index. */
interface PatchedRow {
  values: RowValues;
  before: readonly string[] | undefined;
  after: readonly string[] | undefined;
}

/**
 * What a batch of writes does to one segment once it is committed, or to the rows of a collection that is on disk alone:
 * rows added and removed, with the texts, metadata, priorities and expiries of their chunks. All rows are numbers within
 * the segment.
 */
export interface Change {
  /** Staged rows with their values. */
  added: Map<Ordinal, RowValues>;
  /** Published rows to remove. */
  removed: Ordinal[];
  /**
   * Published rows of large removed documents. Searches no longer find them; the rest is removed later (compaction.ts).
   */
  left: Ordinal[];
  /** Published rows whose metadata change, and nothing else. */
  patched: Map<Ordinal, PatchedRow>;
  /** Texts of added, removed and patched rows, if the segment has a text index. */
  texts: Map<Ordinal, string>;
  /** Metadata terms of added and removed rows, if the segment has a metadata index. */
  fields: Map<Ordinal, readonly string[]>;
  /** Rows staged in this batch and replaced in it again. They are never published. */
  superseded: Ordinal[];
}

export const noChange = (): Change => ({
  added: new Map(),
  patched: new Map(),
  removed: [],
  left: [],
  texts: new Map(),
  fields: new Map(),
  superseded: [],
});

/**
 * Logs the changes in the transaction, before the commit, so that they can be replayed on an older checkpoint
 * (checkpoint/recovery.ts).
 */
export function logChanges(txn: ShardWriteTxn, changes: Iterable<readonly [StoredRows, Change]>): void {
  for (const [segment, { added, patched, removed: gone, left, texts, fields }] of changes) {
    const { textIndex, fields: fieldIndex } = indexesOf(segment);
    // A patched row is logged as a removed one: a replay takes it out of the checkpoint, and in again from the store.
    const removed = [...gone, ...patched.keys()];
    // Texts and terms of a large document are not read for the log, so recovery from an older checkpoint drops the
    // indexes of the segment, which are built again when a search needs them.
    if (left.length > 0)
      txn.segmentChanges.push({
        id: segment.ref.id,
        removed: left.map((row) => segment.stored(row)),
        texts: null,
        terms: null,
        added: [],
      });
    if (added.size + removed.length === 0) continue;
    txn.segmentChanges.push({
      id: segment.ref.id,
      removed: removed.map((row) => segment.stored(row)),
      texts: textIndex ? removed.map((row) => texts.get(row) ?? null) : null,
      terms: fieldIndex ? removed.map((row) => patched.get(row)?.before ?? fields.get(row) ?? []) : null,
      added: Array.from(added.keys(), (row) => segment.stored(row)),
    });
  }
}

/**
 * Publishes the changes after the commit. The new rows of all segments become visible before any old one is removed, so
 * that no document is missing in between.
 */
export function publishChanges(changes: Iterable<readonly [StoredRows, Change]>): void {
  const all = [...changes];
  const inMemory = all.filter((each): each is [Segment, Change] => each[0] instanceof Segment);
  markRemovals(inMemory);
  for (const [segment, change] of inMemory) add(segment, change);
  for (const [segment, change] of inMemory) patch(segment, change);
  for (const [segment, change] of inMemory) remove(segment, change);
  markRemovals(inMemory);
  for (const [{ ordinals }, { removed, superseded }] of all)
    for (const ordinal of [...removed, ...superseded]) ordinals.release(ordinal);
}

/**
 * Advances the removal counters, before the first row is published and after the last one is removed. A search that
 * sees a change runs again.
 */
function markRemovals(changes: readonly (readonly [Segment, Change])[]): void {
  for (const [segment, { removed, left, patched }] of changes)
    if (removed.length + left.length + patched.size > 0) segment.index.beginOrEndRemovals();
}

function add(segment: Segment, { added, texts, fields }: Change): void {
  for (const [ordinal, values] of added) {
    setValues(segment, ordinal, values);
    segment.index.publish(ordinal);
    withSource(texts, ordinal, (text) => segment.textIndex?.add(ordinal, text));
    withSource(fields, ordinal, (terms) => segment.fields?.add(ordinal, terms));
  }
}

/** The row version changes first, so that no search keeps a row that it has seen with terms of two versions. */
function patch(segment: Segment, { patched }: Change): void {
  for (const [row, { values, before, after }] of patched) {
    segment.index.renew(row);
    if (before) segment.fields?.remove(row, before);
    if (after) segment.fields?.add(row, after);
    setValues(segment, row, values);
  }
}

/** Sets the values of a row in the columns of its segment. Requires that memory is reserved for them. */
function setValues({ priorities, expiries }: Segment, row: Ordinal, { priority, expiresAtS }: RowValues): void {
  priorities.set(row, priority);
  expiries.set(row, expiresAtS);
}

function clearValues({ priorities, expiries }: Segment, row: Ordinal): void {
  priorities.set(row, 0);
  expiries.clear(row);
}

function remove(segment: Segment, { removed, left, texts, fields }: Change): void {
  for (const ordinal of left) {
    segment.index.remove(ordinal);
    clearValues(segment, ordinal);
  }
  for (const ordinal of removed) {
    segment.index.remove(ordinal);
    withSource(texts, ordinal, (text) => segment.textIndex?.remove(ordinal, text));
    withSource(fields, ordinal, (terms) => segment.fields?.remove(ordinal, terms));
    clearValues(segment, ordinal);
  }
}

function withSource<S>(sources: ReadonlyMap<Ordinal, S>, ordinal: Ordinal, change: (source: S) => void): void {
  const source = sources.get(ordinal);
  if (source !== undefined) change(source);
}

/** Frees what was staged, after a failed commit. */
export function discardChange({ ordinals }: StoredRows, { added, superseded }: Change): void {
  for (const ordinal of [...added.keys(), ...superseded]) ordinals.release(ordinal);
}

/**
 * The changes of a batch of writes in shared memory: rows are staged before the commit, invisible to searches, and
 * published after it or discarded if it fails.
 */
class RowChanges {
  private readonly changes = new Map<StoredRows, Change>();
  private readonly leaving: LeavingDocument[] = [];

  constructor(private readonly shard: Shard) {}

  /**
   * Keeps the segments of a collection in memory until the batch ends, even if later writes of the batch need memory.
   */
  hold(id: CollectionId): void {
    for (const rows of this.shard.segments.rowsOf(id)) this.changeOf(rows);
  }

  /**
   * Writes vectors into free rows, invisible to searches. Returns their ordinals as the store has them. If it throws,
   * nothing has changed.
   */
  stage(ref: CollectionRef, vectors: Float32Array, values: RowValues): Ordinal[] {
    return placed(this.shard, ref, (rows) => this.stageIn(rows, vectors, values));
  }

  /** Removes rows: published ones after the commit, those staged in this batch at once. */
  takeOut(id: CollectionId, ordinals: readonly Ordinal[]): void {
    for (const ordinal of ordinals) {
      const { added, superseded, removed, patched, fields } = this.changeOf(this.rowsOf(id, ordinal));
      const row = rowOf(ordinal);
      (added.delete(row) ? superseded : removed).push(row);
      // The index has the terms from before the batch.
      const before = patched.get(row)?.before;
      if (before) fields.set(row, before);
      patched.delete(row);
    }
  }

  /** Reserves memory for the values of rows, so that `patch` cannot fail. Throws ArenaFull. */
  reserve(id: CollectionId, ordinals: readonly Ordinal[], values: RowValues): void {
    for (const ordinal of ordinals) {
      const rows = this.rowsOf(id, ordinal);
      if (rows instanceof Segment) this.shard.segments.reserveValues(rows, [rowOf(ordinal)], values);
    }
  }

  /** Keeps what the rows of a document are before and after `write`, which changes its metadata in the transaction. */
  patch(txn: ShardTxn, id: CollectionId, ordinals: readonly Ordinal[], values: RowValues, write: () => void): void {
    const before = this.termsOf(txn, id, ordinals);
    write();
    const after = this.termsOf(txn, id, ordinals);
    ordinals.forEach((ordinal, i) => {
      const rows = this.rowsOf(id, ordinal);
      const { added, patched, texts, fields } = this.changeOf(rows);
      const [row, terms] = [rowOf(ordinal), after[i]];
      if (added.has(row)) {
        added.set(row, values);
        if (terms) fields.set(row, terms);
        return;
      }
      const first = patched.get(row);
      patched.set(row, { values, before: first ? first.before : before[i], after: terms });
      const text = indexesOf(rows).textIndex && txn.text(id, ordinal)?.toString();
      if (text !== undefined) texts.set(row, text);
    });
  }

  private termsOf(txn: ShardTxn, id: CollectionId, ordinals: readonly Ordinal[]): (readonly string[] | undefined)[] {
    const terms = new FieldTerms(txn, id);
    return ordinals.map((ordinal) =>
      indexesOf(this.rowsOf(id, ordinal)).fields ? terms.of(txn.chunk(id, ordinal)) : undefined,
    );
  }

  /** Whether this batch has changed the metadata of a published chunk. */
  isPatched(id: CollectionId, ordinal: Ordinal): boolean {
    return this.changeOf(this.rowsOf(id, ordinal)).patched.has(rowOf(ordinal));
  }

  /** Whether a chunk was staged in this batch and is not published yet. */
  isAdded(id: CollectionId, ordinal: Ordinal): boolean {
    return this.changeOf(this.rowsOf(id, ordinal)).added.has(rowOf(ordinal));
  }

  /** Removes the published rows of a large document. */
  leave(document: LeavingDocument): void {
    const { ref, blocks } = document;
    for (const { ordinals } of blocks)
      for (const ordinal of ordinals) this.changeOf(this.rowsOf(ref.id, ordinal)).left.push(rowOf(ordinal));
    this.leaving.push(document);
  }

  /**
   * Keeps the texts and metadata terms of rows. The indexes change at publication, when the records of removed chunks
   * are no longer in the store.
   */
  keepSources(txn: ShardTxn, id: CollectionId, ordinals: readonly Ordinal[]): void {
    const terms = new FieldTerms(txn, id);
    for (const ordinal of ordinals) {
      const rows = this.rowsOf(id, ordinal);
      const { textIndex, fields: fieldIndex } = indexesOf(rows);
      const { texts, fields } = this.changeOf(rows);
      const text = textIndex && txn.text(id, ordinal)?.toString();
      if (text !== undefined) texts.set(rowOf(ordinal), text);
      if (fieldIndex) fields.set(rowOf(ordinal), terms.of(txn.chunk(id, ordinal)));
    }
  }

  /** Logs the changes in the transaction, before the commit. */
  log(txn: ShardWriteTxn): void {
    logChanges(txn, this.changes);
  }

  publish(): void {
    publishChanges(this.changes);
    this.shard.leaving.push(...this.leaving);
    this.shard.publishBatch();
    this.end();
  }

  discard(): void {
    for (const [segment, change] of this.changes) discardChange(segment, change);
    this.end();
  }

  private stageIn(rows: StoredRows, vectors: Float32Array, values: RowValues): Ordinal[] {
    const { dim } = rows.ref;
    const segment = rows instanceof Segment ? rows : undefined;
    const ordinals: Ordinal[] = [];
    try {
      for (let at = 0; at < vectors.length; at += dim) {
        const ordinal = rows.ordinals.take();
        ordinals.push(ordinal);
        segment?.index.stage(ordinal, vectors.subarray(at, at + dim));
      }
      if (segment) this.shard.segments.reserveValues(segment, ordinals, values);
    } catch (error) {
      for (const ordinal of ordinals) rows.ordinals.release(ordinal);
      throw error;
    }
    const { added } = this.changeOf(rows);
    for (const ordinal of ordinals) added.set(ordinal, values);
    return ordinals.map((ordinal) => rows.stored(ordinal));
  }

  private end(): void {
    for (const rows of this.changes.keys()) {
      rows.isChanging = false;
      if (rows instanceof Segment) this.shard.segments.wake(rows);
    }
  }

  private rowsOf(id: CollectionId, ordinal: Ordinal): StoredRows {
    return defined(this.shard.segments.findRows(id, arenaOf(ordinal)), `the part of chunk ${id}/${ordinal}`);
  }

  private changeOf(rows: StoredRows): Change {
    let change = this.changes.get(rows);
    if (!change) this.changes.set(rows, (change = noChange()));
    rows.isChanging = true;
    return change;
  }
}

/** The indexes that have to be told of changes; none for a collection that is on disk alone. */
export const indexesOf = (rows: StoredRows): Pick<Segment, 'textIndex' | 'fields'> =>
  rows instanceof Segment ? rows : { textIndex: undefined, fields: undefined };

interface Target {
  ref: CollectionRef;
  vectors: Float32Array;
}

/**
 * Applies `writes` in order. A write that fails with a client error does not affect the others. Throws if the commit
 * fails, and then none is applied. Writes of a command log, which other machines apply as well, are not refused for what
 * only this machine lacks, such as memory: then none is applied, and the error is thrown.
 */
export function applyWrites(
  shard: Shard,
  writes: readonly DocumentWrite[],
  { isLogged = false }: { isLogged?: boolean } = {},
): Result<WriteAnswer>[] {
  const batch = new WriteBatch(shard, isLogged);
  try {
    const results = shard.store.write((txn) => batch.applyAll(txn, writes));
    batch.rows.publish();
    return results;
  } catch (error) {
    batch.rows.discard();
    throw error;
  }
}

/** Throws the error of the first write that failed. */
export function assertStored(results: readonly Result<unknown>[]): void {
  for (const result of results) {
    if ('error' in result) throw AppError.fromWire(result.error);
    if ('internalError' in result) throw new Error(result.internalError);
  }
}

/** Throws 409 `version_conflict` unless the stored document has the given version, 0 for none. */
function checkVersion(stored: Pick<DocumentRecord, 'version'> | undefined, ifVersion: number | undefined): void {
  const version = stored?.version ?? 0;
  if (ifVersion !== undefined && version !== ifVersion)
    throw new AppError('version_conflict', undefined, { details: { version } });
}

/** The record, unless it has expired: then it is as if it were not stored. */
const unexpired = (record: DocumentRecord | undefined, nowS = 0): DocumentRecord | undefined =>
  record && isExpired(record, nowS) ? undefined : record;

/** Whether a patch has found no document. */
const isOfNothing = (answer: WriteAnswer): boolean => 'version' in answer && answer.version === 0;

class WriteBatch {
  readonly rows: RowChanges;

  constructor(
    private readonly shard: Shard,
    private readonly isLogged: boolean,
  ) {
    this.rows = new RowChanges(shard);
  }

  applyAll(txn: ShardWriteTxn, writes: readonly DocumentWrite[]): Result<WriteAnswer>[] {
    const results = writes.map((write) => this.apply(txn, write));
    this.rows.log(txn);
    return results;
  }

  private apply(txn: ShardWriteTxn, write: DocumentWrite): Result<WriteAnswer> {
    try {
      const keep = 'keep' in write ? write.keep : undefined;
      const kept = keep && txn.keptAnswer(keep);
      if (kept) return { value: kept as WriteAnswer };
      const value = this.answer(txn, write);
      txn.note(() => packCommand(write, value));
      if (keep && !isOfNothing(value)) txn.keepAnswer(keep, value);
      return { value };
    } catch (error) {
      const clientError = clientErrorOf(error);
      if (!clientError || (this.isLogged && isOfMachine(clientError))) throw error;
      return { error: clientError.toWire() };
    }
  }

  private answer(txn: ShardWriteTxn, write: DocumentWrite): WriteAnswer {
    if (write.op === 'putShadow') return this.putShadow(txn, write);
    this.checkFollower(write);
    if (write.op === 'put') return this.put(txn, write);
    if (write.op === 'patchDocument') return this.patch(txn, write);
    return this.remove(txn, write);
  }

  /** Throws 503 `collection_changed` if the write is not made to the follower of its collection. */
  private checkFollower({ collection, dualWrites = [] }: Exclude<DocumentWrite, StagedPut>): void {
    const follower = this.shard.followerOf(collection.id);
    if (follower === undefined) return;
    const isMade = dualWrites.some((dual) =>
      'collection' in dual ? dual.collection.id === follower && dual.vectors !== null : dual.id === follower,
    );
    if (!isMade) throw new AppError('collection_changed', undefined, { retryAfterS: 1 });
  }

  /** Checks everything that can fail with a client error before it changes the transaction. */
  private put(
    txn: ShardWriteTxn,
    { collection: ref, document, vectors, chunksLeft = Infinity, dualWrites = [] }: ShardRequest<'put'>,
  ): ShardAnswer<'put'> {
    const prepared = unpackDocument(document);
    const { docid, chunks } = prepared;
    this.load(txn, ref);
    const stored = txn.document(ref.id, docid);
    const previous = unexpired(stored, Math.floor(prepared.ingestedAtMs / 1000));
    checkVersion(previous, prepared.ifVersion);
    if (chunks.length - (previous?.chunkCount ?? 0) > chunksLeft) throw new AppError('chunk_limit_reached');
    const version = (previous?.version ?? 0) + 1;
    const rows = unshared(vectors);
    const present = dualWrites.filter(({ collection }) => !this.shard.isDropped(collection.id));
    for (const { collection } of present) this.load(txn, collection);
    const filled = present.flatMap(({ collection, vectors: own }) =>
      own === null ? [] : [{ ref: collection, vectors: own === 'same' ? rows : unshared(own) }],
    );
    this.store(txn, prepared, version, [{ ref, vectors: rows }, ...filled]);
    for (const shadow of present) if (shadow.vectors === null) this.removeStored(txn, shadow.collection, docid);
    return { chunks: chunks.length, version };
  }

  /**
   * What the shadow collection already has is as new as the source, because dual writes have gone to both since it was
   * created. So an existing document is never overwritten by an older one.
   */
  private putShadow(
    txn: ShardWriteTxn,
    { collection: ref, source, isForced, document, version, vectors }: StagedPut,
  ): WriteAnswer {
    const prepared = unpackDocument(document);
    const isThere = (id: CollectionId): boolean =>
      isSameDocument({ version, ingestedAtMs: prepared.ingestedAtMs }, txn.document(id, prepared.docid));
    this.load(txn, ref);
    if ((!isForced && isThere(ref.id)) || (source !== undefined && !isThere(source))) return { chunks: 0 };
    this.store(txn, prepared, version, [{ ref, vectors: unshared(vectors) }]);
    return { chunks: prepared.chunks.length };
  }

  /**
   * Changes the metadata of a document where its chunks stay. A shadow collection that has the document in the same
   * version gets the same change; one that has another version, or none, lacks it from then on, and it is copied.
   */
  private patch(
    txn: ShardWriteTxn,
    { collection: ref, docid, change, ifVersion, nowS, dualWrites = [] }: ShardRequest<'patchDocument'>,
  ): ShardAnswer<'patchDocument'> {
    this.load(txn, ref);
    const record = unexpired(txn.document(ref.id, docid), nowS);
    if (!record) return { chunks: 0, version: 0 };
    checkVersion(record, ifVersion);
    const present = dualWrites.filter(({ id }) => !this.shard.isDropped(id) && txn.document(id, docid));
    for (const shadow of present) this.load(txn, shadow);
    const [same, others] = [true, false].map((wanted) =>
      present.filter(({ id }) => isSameDocument(record, txn.document(id, docid)) === wanted),
    ) as [CollectionRef[], CollectionRef[]];
    const targets = [ref, ...same].map(({ id }) => ({ id, ordinals: txn.members(id, docid).ordinals as Ordinal[] }));
    const own = (targets[0] as { ordinals: Ordinal[] }).ordinals.map((ordinal) => txn.chunk(ref.id, ordinal).metaJson);
    const changed = { ...changedRecord(record, change, own), version: record.version + 1 };
    for (const { id, ordinals } of targets) this.rows.reserve(id, ordinals, changed);
    for (const { id, ordinals } of targets)
      this.rows.patch(txn, id, ordinals, changed, () => txn.replaceRecord(id, record, changed));
    this.shard.expiryRound.note(changed.expiresAtS);
    for (const shadow of others) this.removeStored(txn, shadow, docid);
    return { chunks: changed.chunkCount, version: changed.version };
  }

  /** Replaces the document in each of the collections. */
  private store(
    txn: ShardWriteTxn,
    { docid, chunks, ingestedAtMs, metadataJson, priority, expiresAtS = 0 }: PreparedDocument,
    version: number,
    targets: readonly Target[],
  ): void {
    for (const { ref, vectors } of targets)
      assert(vectors.length === chunks.length * ref.dim, 'a vector for each chunk');
    const record = { docid, version, ingestedAtMs, metadataJson, priority, chunkCount: chunks.length, expiresAtS };
    this.shard.expiryRound.note(expiresAtS);
    const shadow = this.stageAll(targets, record);
    targets.forEach(({ ref, vectors }, i) => {
      const ordinals = shadow[i] as Ordinal[];
      this.removeStored(txn, ref, docid);
      txn.putDocument(ref, { record, ordinals, chunks, vectors });
      this.rows.keepSources(txn, ref.id, ordinals);
    });
  }

  private load(txn: ShardWriteTxn, ref: CollectionRef): void {
    this.shard.loadForWrites(ref, txn);
    this.rows.hold(ref.id);
  }

  /** Stages the rows in all collections, or in none if one has no memory left. */
  private stageAll(targets: readonly Target[], values: RowValues): Ordinal[][] {
    const shadow: Ordinal[][] = [];
    try {
      for (const { ref, vectors } of targets) shadow.push(this.rows.stage(ref, vectors, values));
      return shadow;
    } catch (error) {
      shadow.forEach((ordinals, i) => this.rows.takeOut((targets[i] as Target).ref.id, ordinals));
      throw error;
    }
  }

  /** Returns how many chunks of the main collection were removed; those of an expired document do not count. */
  private remove(
    txn: ShardWriteTxn,
    { docid, collection, ifVersion, nowS, dualWrites = [] }: ShardRequest<'deleteDocument'>,
  ): ShardAnswer<'deleteDocument'> {
    const stored = this.shard.isDropped(collection.id) ? undefined : txn.document(collection.id, docid);
    const present = unexpired(stored, nowS);
    checkVersion(present, ifVersion);
    const places = [collection, ...dualWrites].filter(({ id }) => !this.shard.isDropped(id) && txn.document(id, docid));
    for (const ref of places) this.load(txn, ref);
    const chunks = places.map((ref) => this.removeStored(txn, ref, docid));
    return { chunks: present ? (chunks[places.indexOf(collection)] ?? 0) : 0 };
  }

  /** Removes a document if it exists. Returns the number of its chunks. */
  private removeStored(txn: ShardWriteTxn, ref: CollectionRef, docid: DocId): number {
    const record = txn.document(ref.id, docid);
    if (record && record.chunkCount >= LEAVING_CHUNKS_MIN && this.isPublished(txn, ref, docid)) {
      this.rows.leave({ ref, record, blocks: txn.leaveDocument(ref, record) });
      return record.chunkCount;
    }
    this.rows.keepSources(txn, ref.id, txn.members(ref.id, docid).ordinals as Ordinal[]);
    const ordinals = txn.removeDocument(ref, docid);
    this.rows.takeOut(ref.id, ordinals);
    return ordinals.length;
  }

  /** Whether the indexes have the chunks of the document as the store has them. */
  private isPublished(txn: ShardWriteTxn, ref: CollectionRef, docid: DocId): boolean {
    const [first] = txn.members(ref.id, docid).ordinals;
    return (
      first !== undefined &&
      !this.rows.isAdded(ref.id, first as Ordinal) &&
      !this.rows.isPatched(ref.id, first as Ordinal)
    );
  }
}
