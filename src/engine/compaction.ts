// Reclaims memory after deletes, one step at a time. First the remains of large removed documents are deleted; then
// segments are shortened: if most rows of a segment are free, chunks move from its highest ordinals to its lowest free
// ones, a few in each transaction, as if each were replaced by itself. The blocks at the end are then empty, and are
// freed when no reader is left that may look at them. A crash at any point loses nothing. Owner only.
import { AppError } from '../api/errors.js';
import type { CollectionId, Ordinal } from '../api/ids.js';
import { defined } from '../base/assert.js';
import { DamagedRecord } from '../storage/damage.js';
import type { LeavingBlock, LeavingDocument } from '../storage/large-removal.js';
import type { ShardTxn } from '../storage/shard-reader.js';
import type { ShardWriteTxn } from '../storage/shard-store.js';
import { ArenaFull } from './memory/bindings.js';
import { arenaOf, rowOf } from './memory/ownership.js';
import { FieldTerms } from './segments/indexes.js';
import type { Segment, StoredRows } from './segments/segment.js';
import type { Shard } from './shard.js';
import { type Change, discardChange, indexesOf, logChanges, noChange, publishChanges } from './write/write.js';

interface LeavingRow {
  rows: StoredRows;
  row: Ordinal;
  text: string | undefined;
  terms: readonly string[] | undefined;
}

const isLeaving = (shard: Shard, id: CollectionId): boolean => shard.leaving.some(({ ref }) => ref.id === id);

/**
 * Removes one block of a large removed document: its terms from the indexes, its chunks from the store; its ordinals
 * are then free. Searches and reads have not found the document since the commit that removed it, but BM25 statistics
 * count it until its last block is gone. Returns true if there may be more to do. If the disk is full or a record is
 * damaged, the rest waits for the next write. A collection that is being loaded is skipped, because its load holds the
 * ordinals.
 */
export function reclaimSome(shard: Shard): boolean {
  const document = shard.leaving.find(({ ref }) => !shard.loads.isLoading(ref.id));
  const block = document?.blocks[0];
  if (!document || !block) return false;
  let rows: LeavingRow[];
  try {
    rows = shard.store.write((txn) => {
      const found = rowsOf(shard, txn, document, block);
      txn.removeBlock(block);
      return found;
    });
  } catch (error) {
    if (!(error instanceof AppError) && !(error instanceof DamagedRecord)) throw error;
    // The damaged document moves to the end, so that others need not wait for it.
    shard.leaving.push(...shard.leaving.splice(shard.leaving.indexOf(document), 1));
    return false;
  }
  shard.writeFreeze.noteChange();
  for (const { rows: of, row, text, terms } of rows) {
    const { textIndex, fields } = indexesOf(of);
    if (text !== undefined) textIndex?.removeIfThere(row, text);
    if (terms) fields?.removeIfThere(row, terms);
    of.ordinals.release(row);
  }
  document.blocks.shift();
  if (document.blocks.length === 0) end(shard, document);
  return true;
}

/** The rows of the block that are known, with their source texts and terms. */
function rowsOf(shard: Shard, txn: ShardWriteTxn, { ref, record }: LeavingDocument, block: LeavingBlock): LeavingRow[] {
  const fields = new FieldTerms(txn, ref.id, record);
  return block.ordinals.flatMap((ordinal) => {
    const rows = shard.segments.findRows(ref.id, arenaOf(ordinal));
    if (!rows) return [];
    const { textIndex, fields: fieldIndex } = indexesOf(rows);
    const { chunk, text } = textIndex || fieldIndex ? txn.leavingChunk(ref.id, ordinal) : {};
    const terms = fieldIndex && chunk && fields.of(chunk);
    return [{ rows, row: rowOf(ordinal), text: textIndex && text, terms }];
  });
}

/** Finishes a removal. Its segments may be shortened again. */
function end(shard: Shard, document: LeavingDocument): void {
  shard.leaving.splice(shard.leaving.indexOf(document), 1);
  for (const segment of shard.segments.of(document.ref.id)) shard.segments.wake(segment);
}

/** Smaller segments are not shortened, since they take little memory. */
const ROWS_MIN = 256;
/**
 * Chunks move if less than this share of the ordinals is in use, until the end is at most END_PER_LIVE times the number
 * in use.
 */
const USED_SHARE_MIN = 0.5;
const END_PER_LIVE = 1.25;
/** Blocks at the end are freed without moving chunks if they are at least this share of all. */
const FREE_END_SHARE_MIN = 1 / 8;
const MOVE_STEP = 32;
const HIDE_STEP = 8;

/**
 * Runs one step of shortening a segment. Returns true if there is more to do. If memory or disk are full, or a record
 * is damaged, the rest waits for the next write.
 */
export function compactSome(shard: Shard, segment: Segment): boolean {
  if (segment.hidden) return finish(shard, segment, segment.hidden);
  // The ordinals of a document under removal are taken but have no rows, so they cannot move.
  if (isLeaving(shard, segment.ref.id)) return false;
  const { index, ordinals } = segment;
  if (index.end < ROWS_MIN) return false;
  const target = index.liveCount < USED_SHARE_MIN * index.end ? Math.ceil(END_PER_LIVE * index.liveCount) : Infinity;
  try {
    if (ordinals.end > target) return move(shard, segment, target);
    if (ordinals.end > (1 - FREE_END_SHARE_MIN) * index.end) return false;
    const from = ordinals.end;
    shard.writeFreeze.noteChange();
    if (index.hideSome(from, HIDE_STEP)) segment.hidden = { from, epoch: shard.arenas.at(segment.arena).endEpoch() };
    return true;
  } catch (error) {
    if (error instanceof ArenaFull || error instanceof AppError || error instanceof DamagedRecord) return false;
    throw error;
  }
}

/** Frees the hidden blocks once their readers have left. If rows have been added there meanwhile, all blocks stay. */
function finish(shard: Shard, segment: Segment, { from, epoch }: NonNullable<Segment['hidden']>): boolean {
  if (!shard.arenas.at(segment.arena).haveLeft(epoch)) return true;
  if (segment.ordinals.end <= from && segment.index.end <= from) segment.index.freeFrom(from);
  segment.hidden = undefined;
  return true;
}

/**
 * Moves some chunks from at or above `target` to below it. Throws ArenaFull, AppError and DamagedRecord, and then
 * changes nothing.
 */
function move(shard: Shard, segment: Segment, target: number): boolean {
  const change = noChange();
  try {
    shard.store.write((txn) => {
      const moves = new Map(
        segment.ordinals.highest(target, MOVE_STEP).map((from) => [from, stage(txn, segment, from, change)]),
      );
      for (const to of moves.values())
        shard.segments.reserveValues(segment, [to], defined(change.added.get(to), 'values'));
      keepSources(txn, segment, moves, change);
      txn.moveChunks(segment.ref, new Map([...moves].map(([from, to]) => [segment.stored(from), segment.stored(to)])));
      logChanges(txn, [[segment, change]]);
    });
  } catch (error) {
    discardChange(segment, change);
    throw error;
  }
  publishChanges([[segment, change]]);
  shard.publishBatch();
  return true;
}

/** Stages a copy of a row in the lowest free one, invisible to searches. */
function stage(txn: ShardTxn, segment: Segment, from: Ordinal, { added, removed }: Change): Ordinal {
  const to = segment.ordinals.take();
  added.set(to, { priority: segment.priorities.of(from), expiresAtS: segment.expiries.of(from) });
  removed.push(from);
  segment.index.stage(to, defined(txn.vector(segment.ref, segment.stored(from)), `vector of chunk ${from}`));
  return to;
}

function keepSources(
  txn: ShardTxn,
  segment: Segment,
  moves: ReadonlyMap<Ordinal, Ordinal>,
  { texts, fields }: Change,
): void {
  const terms = segment.fields && new FieldTerms(txn, segment.ref.id);
  for (const [from, to] of moves) {
    const text = segment.textIndex && txn.text(segment.ref.id, segment.stored(from))?.toString();
    const ofChunk = terms?.of(txn.chunk(segment.ref.id, segment.stored(from)));
    for (const ordinal of [from, to]) {
      if (text !== undefined) texts.set(ordinal, text);
      if (ofChunk) fields.set(ordinal, ofChunk);
    }
  }
}
