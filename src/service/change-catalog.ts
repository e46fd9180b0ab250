// A change of the catalog: the worker of shard 0 commits it, then it is shown here. Two that are committed one after
// the other may be answered in one message, and whoever awaits one promise more than another would show the older state
// last; so each is shown as its answer comes, in the order of the commits. Used by the use cases that change
// collections, what is staged beside them, tenants and keys; front thread.
import type { ShardAnswer, ShardCommands, ShardOp } from '../contract/messages.js';
import type { Context } from './context.js';

/** Answers what `show` does, which has shown it by its first wait. Rejects as the ask does, with nothing shown. */
export async function changeCatalog<O extends ShardOp, T>(
  { shards }: Pick<Context, 'shards'>,
  op: O,
  request: ShardCommands[O]['request'],
  show: (answer: ShardAnswer<O>) => T | Promise<T>,
): Promise<T> {
  let shown: T | Promise<T> | undefined;
  await shards.ask(0, op, request, (answer) => void (shown = show(answer)));
  return shown as T;
}
