// Documents on their way out. To remove the chunks of a large one takes seconds, for which no other write of the shard
// should wait: so it is gone with one small commit, which moves its ordinals to the table `leaving`, and its chunks go
// block by block in later ones. Nothing but this table knows them meanwhile; their ordinals are not given out before
// they are free. The owner writes; any thread that reads the environment reads the table.
import type { CollectionId, Ordinal } from '../api/ids.js';
import type { CollectionRef } from '../api/collections.js';
import { chunkKey, collectionOfKey, collectionPrefix } from './keys.js';
import { decode, encode, type DocumentRecord } from './records.js';
import { ALL, type Table } from './table.js';

/** A smaller document goes at once. */
export const LEAVING_CHUNKS_MIN = 2048;
/** Chunks that go in one commit: some ten milliseconds. */
const BLOCK_CHUNKS = 256;

/** Chunks of one document. The first of their ordinals is the key: an ordinal stands in one block only. */
export interface LeavingBlock {
  id: CollectionId;
  generation: number;
  ordinals: Ordinal[];
}

/** As its owner keeps it until the last block has gone. */
export interface LeavingDocument {
  ref: CollectionRef;
  record: DocumentRecord;
  blocks: LeavingBlock[];
}

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

/** Of all collections, up to `max`. Throws DamagedRecord. */
export function firstBlocks(table: Table, max: number): LeavingBlock[] {
  const blocks: LeavingBlock[] = [];
  for (const { key, value } of table.entries(ALL)) {
    blocks.push({ id: collectionOfKey(key), ...decodeBlock(value) });
    if (blocks.length === max) break;
  }
  return blocks;
}

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
