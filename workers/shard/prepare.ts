// Makes what a search wants of a part and did not find: its vectors in memory, the index of its words or of its
// metadata. Asked for until it is there. Shard worker only; called by commands.ts.
import type { ShardAnswer, ShardRequest } from '../../src/contract/messages.js';
import { prepareFields } from './part-fields.js';
import { wordsOf } from './part-words.js';
import type { Shard } from './shard.js';

/**
 * False while something is being loaded or indexed. Throws ArenaFull where memory has no room for vectors or words;
 * metadata may be lost, and are then read.
 */
export function prepare(shard: Shard, { collection, words, fields }: ShardRequest<'prepare'>): ShardAnswer<'prepare'> {
  if (!shard.loads.bring(collection)) return false;
  const parts = shard.parts.of(collection.id);
  const hasWords = !words || parts.map((part) => wordsOf(shard, part)).every((index) => index !== undefined);
  const hasFields = !fields || parts.map((part) => prepareFields(shard, part)).every(Boolean);
  return hasWords && hasFields;
}
