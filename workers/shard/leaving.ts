// Removes what is left of large documents that are gone, a block at a time between other work: their words and metadata
// from the indexes, their chunks from the store, and then their ordinals are free. Since the commit that took such a
// document out, neither searches nor reads find anything of it; until its last block is gone the statistics of BM25
// still count it. Shard worker only; called by background.ts.
import { AppError } from '../../src/contract/errors.js';
import type { CollectionId, Ordinal } from '../../src/contract/ids.js';
import { arenaOf, rowOf } from '../../src/contract/ordinals.js';
import { DamagedRecord } from '../../src/store/damage.js';
import type { LeavingBlock, LeavingDocument } from '../../src/store/leaving.js';
import type { ShardWriteTxn } from '../../src/store/shard-store.js';
import type { Part } from './part.js';
import { FieldTerms } from './part-fields.js';
import type { Shard } from './shard.js';

interface LeavingRow {
  part: Part;
  row: Ordinal;
  text: string | undefined;
  terms: readonly string[] | undefined;
}

export const isLeaving = (shard: Shard, id: CollectionId): boolean => shard.leaving.some(({ ref }) => ref.id === id);

/**
 * Removes one block; true when there may be more. Where the disk is full or a record is damaged, it waits for the next
 * write. A collection that is being loaded waits too: who loads it holds the ordinals that leave.
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
  shard.stillness.touch();
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
