// What every shard worker is given when it starts: the slots to claim a shard from, the compiled kernel, the memories of all
// shards. Made once by shard-pool.ts; a worker that takes over from a dead one gets the very same memories.
import { readFileSync } from 'node:fs';
import { SHARD_PAGES_INITIAL, SHARD_PAGES_MAX } from '../contract/limits.js';
import type { ShardWorkerStart } from '../contract/messages.js';
import type { OwnerSlots } from './owner-slots.js';

const KERNEL = new URL('../../workers/shard/kernel.wasm', import.meta.url);

export function createShardStart(slots: OwnerSlots, directory: string): ShardWorkerStart {
  const createMemory = (): WebAssembly.Memory => new WebAssembly.Memory({ initial: SHARD_PAGES_INITIAL, maximum: SHARD_PAGES_MAX, shared: true });
  return {
    owners: slots.memory,
    kernel: new WebAssembly.Module(readFileSync(KERNEL)),
    memories: Array.from({ length: slots.shards }, createMemory),
    directory,
  };
}
