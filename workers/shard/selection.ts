// Which chunks of a part a search may rank: its metadata filters and its content filter, as a bitmap of ordinals made before
// anything is ranked. Shard worker only; called by search.ts.
import type { Narrowing } from '../../src/contract/ranking.js';
import { Narrower } from './narrower.js';
import type { Part } from './part.js';
import type { Shard } from './shard.js';
import type { Bitmap } from './words/word-answers.js';

export function select(shard: Shard, part: Part, narrowing: Narrowing): Bitmap {
  return shard.store.read((txn) => {
    const narrower = new Narrower(txn, part, shard.parsed, narrowing);
    const allowed = new Uint32Array((part.ordinals.end + 31) >>> 5);
    for (let ordinal = 0; ordinal < part.ordinals.end; ordinal++) {
      if (part.index.isLive(ordinal) && narrower.admits(ordinal)) allowed[ordinal >>> 5] = (allowed[ordinal >>> 5] as number) | (1 << (ordinal & 31));
    }
    return allowed;
  });
}
