// What the tests of the search workers share: views of a shard that this very thread owns, and searches of it with what
// they want indexed.
import { ShardReader } from '../../../src/store/shard-reader.js';
import type { CollectionRef } from '../../../src/contract/resources.js';
import type { ShardHits, ShardSearch } from '../../../src/contract/ranking.js';
import type { Kernel } from '../../../workers/shard/kernel.js';
import { prepare } from '../../../workers/shard/prepare.js';
import type { Shard } from '../../../workers/shard/shard.js';
import { HitCache } from '../../../workers/search/hit-cache.js';
import { rankPart } from '../../../workers/search/rank-part.js';
import { ShardView } from '../../../workers/search/shard-view.js';
import { wantingOf } from '../../../workers/search/wanting.js';

export interface OwnedShard {
  shard: Shard;
  kernel: Kernel;
  /** Of its store. */
  directory: string;
}

/** Runs `work` on a view of the shard. Requires that it is loaded. */
export function viewed<T>({ kernel, directory }: OwnedShard, ref: CollectionRef, work: (view: ShardView) => T): T {
  const answer = kernel.read((incarnation) => {
    const view = new ShardView(0, incarnation, kernel, new ShardReader(directory), ref, new HitCache(0));
    try {
      return { value: work(view) };
    } finally {
      view.end();
    }
  });
  if (!answer) throw new Error('the shard is not open');
  return answer.value;
}

/** What a search worker makes of the shard; null while what it wants is being indexed. */
export function ranked(owned: OwnedShard, ref: CollectionRef, search: ShardSearch): ShardHits | null {
  const wanting = viewed(owned, ref, (view) => wantingOf([view], search))[0];
  if (wanting && !prepare(owned.shard, { op: 'prepare', collection: ref, ...wanting })) return null;
  return viewed(owned, ref, (view) => rankPart(view, search));
}
