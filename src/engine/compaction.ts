// Gives memory back after deletes, a step at a time. First what is left of large documents that are gone is removed,
// then parts are made shorter: where most rows of a part are free, chunks move from its highest ordinals to its lowest
// free ones, some in each transaction, as if their documents had been replaced by themselves; the blocks at the end are
// then empty, and go when no reader is left that may look at them. Killed at any point, nothing is lost. Owner only.
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
import type { Part } from './segments/segment.js';
import type { Shard } from './shard.js';
import { type Change, discardChange, logChanges, noChange, publishChanges } from './write/write.js';

interface LeavingRow {
  part: Part;
  row: Ordinal;
  text: string | undefined;
  terms: readonly string[] | undefined;
}

const isLeaving = (shard: Shard, id: CollectionId): boolean => shard.leaving.some(({ ref }) => ref.id === id);

/**
 * Removes one block of a large document that is gone: its words and metadata from the indexes, its chunks from the
 * store; then its ordinals are free. Since the commit that took such a document out, neither searches nor reads find
 * anything of it; until its last block is gone the statistics of BM25 still count it.
 * True when there may be more. Where the disk is full or a record is damaged, it waits for the next write. A collection
 * that is being loaded waits too: who loads it holds the ordinals that leave.
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
    // Others need not wait for what is damaged of this one.
    shard.leaving.push(...shard.leaving.splice(shard.leaving.indexOf(document), 1));
    return false;
  }
  shard.writeFreeze.noteChange();
  for (const { part, row, text, terms } of rows) {
    if (text !== undefined) part.words?.removeIfThere(row, text);
    if (terms) part.fields?.removeIfThere(row, terms);
    part.ordinals.release(row);
  }
  document.blocks.shift();
  if (document.blocks.length === 0) end(shard, document);
  return true;
}

/** Those that are in memory, with what is indexed of them. */
function rowsOf(shard: Shard, txn: ShardWriteTxn, { ref, record }: LeavingDocument, block: LeavingBlock): LeavingRow[] {
  const fields = new FieldTerms(txn, ref.id, record);
  return block.ordinals.flatMap((ordinal) => {
    const part = shard.parts.find(ref.id, arenaOf(ordinal));
    if (!part) return [];
    const { chunk, text } = part.words || part.fields ? txn.leavingChunk(ref.id, ordinal) : {};
    const terms = part.fields && chunk && fields.of(chunk);
    return [{ part, row: rowOf(ordinal), text: part.words && text, terms }];
  });
}

/** What was kept from giving memory back may do so now. */
function end(shard: Shard, document: LeavingDocument): void {
  shard.leaving.splice(shard.leaving.indexOf(document), 1);
  for (const part of shard.parts.of(document.ref.id)) shard.parts.wake(part);
}

/** Shorter parts are let alone: they take little. */
const ROWS_MIN = 256;
/** Chunks move when fewer than this share of the ordinals are in use, to within this many times those in use. */
const USED_SHARE_MIN = 0.5;
const END_PER_LIVE = 1.25;
/** A free end goes without any move when it is this share of all. */
const FREE_END_SHARE_MIN = 1 / 8;
const MOVE_STEP = 32;
const HIDE_STEP = 8;

/**
 * Does one step of making a part shorter; true when there is more to do. Where memory or disk have no room for a move,
 * or a record of a chunk is damaged, it waits for the next write.
 */
export function compactSome(shard: Shard, part: Part): boolean {
  if (part.hidden) return finish(shard, part, part.hidden);
  // Ordinals that leave are taken and have no rows.
  if (isLeaving(shard, part.ref.id)) return false;
  const { index, ordinals } = part;
  if (index.end < ROWS_MIN) return false;
  const target = index.liveCount < USED_SHARE_MIN * index.end ? Math.ceil(END_PER_LIVE * index.liveCount) : Infinity;
  try {
    if (ordinals.end > target) return move(shard, part, target);
    if (ordinals.end > (1 - FREE_END_SHARE_MIN) * index.end) return false;
    const from = ordinals.end;
    shard.writeFreeze.noteChange();
    if (index.hideSome(from, HIDE_STEP)) part.hidden = { from, epoch: shard.arenas.at(part.arena).endEpoch() };
    return true;
  } catch (error) {
    if (error instanceof ArenaFull || error instanceof AppError || error instanceof DamagedRecord) return false;
    throw error;
  }
}

/** Rows that were put again meanwhile keep their blocks, and all others with them. */
function finish(shard: Shard, part: Part, { from, epoch }: NonNullable<Part['hidden']>): boolean {
  if (!shard.arenas.at(part.arena).haveLeft(epoch)) return true;
  if (part.ordinals.end <= from && part.index.end <= from) part.index.freeFrom(from);
  part.hidden = undefined;
  return true;
}

/** Moves some chunks from `target` on below it. Throws ArenaFull, AppError and DamagedRecord with nothing changed. */
function move(shard: Shard, part: Part, target: number): boolean {
  const change = noChange();
  try {
    shard.store.write((txn) => {
      const moves = new Map(
        part.ordinals.highest(target, MOVE_STEP).map((from) => [from, stage(txn, part, from, change)]),
      );
      shard.parts.reservePriorities(
        part,
        [...moves].filter(([from]) => part.priorities.of(from) !== 0).map(([, to]) => to),
      );
      keepSources(txn, part, moves, change);
      txn.moveChunks(part.ref, new Map([...moves].map(([from, to]) => [part.stored(from), part.stored(to)])));
      logChanges(txn, [[part, change]]);
    });
  } catch (error) {
    discardChange(part, change);
    throw error;
  }
  publishChanges([[part, change]]);
  shard.settle();
  return true;
}

/** Puts the row of a chunk into the lowest free one, unseen. */
function stage(txn: ShardTxn, part: Part, from: Ordinal, { added, removed }: Change): Ordinal {
  const to = part.ordinals.take();
  added.set(to, part.priorities.of(from));
  removed.push(from);
  part.index.stage(to, defined(txn.vector(part.ref, part.stored(from)), `vector of chunk ${from}`));
  return to;
}

function keepSources(txn: ShardTxn, part: Part, moves: ReadonlyMap<Ordinal, Ordinal>, { texts, fields }: Change): void {
  const terms = part.fields && new FieldTerms(txn, part.ref.id);
  for (const [from, to] of moves) {
    const text = part.words && txn.text(part.ref.id, part.stored(from))?.toString();
    const ofChunk = terms?.of(txn.chunk(part.ref.id, part.stored(from)));
    for (const ordinal of [from, to]) {
      if (text !== undefined) texts.set(ordinal, text);
      if (ofChunk) fields.set(ordinal, ofChunk);
    }
  }
}
