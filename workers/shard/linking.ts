// How far the graph of a part is: asked again and again by whoever wants searches not to scan it. It is linked in the
// background, which every command wakes. Shard worker only; called by commands.ts.
import type { ShardAnswer, ShardRequest } from '../../src/contract/messages.js';
import type { Shard } from './shard.js';

/** null while the part is being loaded. Throws ArenaFull where memory has no room for it. */
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
