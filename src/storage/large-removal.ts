// Removal of large documents. Deleting the chunks of a large document takes seconds, during which other writes of the
// shard should not wait. One small commit therefore removes the document and moves its ordinals to the table `leaving`;
// its chunks are deleted block by block in later commits. Meanwhile only this table knows them, and their ordinals are
// not assigned again before they are free. The owner writes; any thread that reads the environment may read the table.
import type { CollectionId, Ordinal } from '../api/ids.js';
import type { CollectionRef } from '../api/collections.js';
import { chunkKey, collectionOfKey, collectionPrefix } from './keys.js';
import { decode, encode, type DocumentRecord } from './records.js';
import { ALL, type Table } from './table.js';

/** A document with fewer chunks is removed in one commit. */
export const LEAVING_CHUNKS_MIN = 2048;
/** Chunks that one commit deletes, which takes some ten milliseconds. */
const BLOCK_CHUNKS = 256;

/** A block of chunks of one removed document. Its first ordinal is part of its key, and no ordinal is in two blocks. */
export interface LeavingBlock {
  id: CollectionId;
  generation: number;
  ordinals: Ordinal[];
}

/** A document under removal, as its owner tracks it until the last block is deleted. */
export interface LeavingDocument {
  ref: CollectionRef;
  record: DocumentRecord;
  blocks: LeavingBlock[];
}

/** Writes the ordinals of a removed document to the table, in blocks. Returns the blocks. */
export function putBlocks(table: Table, { id, generation, ordinals }: LeavingBlock): LeavingBlock[] {
  const blocks: LeavingBlock[] = [];
  for (let from = 0; from < ordinals.length; from += BLOCK_CHUNKS) {
    const block = { id, generation, ordinals: ordinals.slice(from, from + BLOCK_CHUNKS) };
    table.put(blockKey(block), encode([generation, block.ordinals]));
    blocks.push(block);
  }
  return blocks;
}

export const blockKey = ({ id, ordinals }: LeavingBlock): Buffer => chunkKey(id, ordinals[0] as Ordinal);

/** The first blocks of all collections, up to `max`. Throws DamagedRecord. */
export function firstBlocks(table: Table, max: number): LeavingBlock[] {
  const blocks: LeavingBlock[] = [];
  for (const { key, value } of table.entries(ALL)) {
    blocks.push({ id: collectionOfKey(key), ...decodeBlock(value) });
    if (blocks.length === max) break;
  }
  return blocks;
}

/** All ordinals of a collection that are under removal. Throws DamagedRecord. */
export function leavingIn(table: Table, id: CollectionId): ReadonlySet<number> {
  const ordinals = new Set<number>();
  for (const { value } of table.entries(collectionPrefix(id)))
    for (const ordinal of decodeBlock(value).ordinals) ordinals.add(ordinal);
  return ordinals;
}

export function decodeBlock(value: Buffer): Omit<LeavingBlock, 'id'> {
  const [generation, ordinals] = decode(value, ['number', 'array'], 'leaving chunks') as [number, Ordinal[]];
  return { generation, ordinals };
}
