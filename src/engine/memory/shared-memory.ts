// Creates what shard workers and search workers share: the compiled kernel, the memories of all shards, and the
// directory of their stores. A worker that replaces a dead one gets the same memories. Main thread only.
import { readFileSync } from 'node:fs';
import { createArenaMemory } from '../../base/arena-memory.js';
import { ReadGate } from '../../base/read-gate.js';
import { SHARD_PAGES_INITIAL, SHARD_PAGES_MAX } from '../../api/limits.js';
import type { MemoryPlacement } from '../../api/memory-placement.js';
import type { SharedShards } from '../write/commands.js';
import { ARENAS } from './ownership.js';
import { placeOfShard, SharedMeters } from '../../base/meters.js';

const KERNEL = new URL('../kernel.wasm', import.meta.url);

export interface SharedOptions {
  idleSeconds: number;
  /** Interval of checkpoints in milliseconds; 0 for none. */
  checkpointMs?: number;
  /** Bytes of the journal of each store; 0 for no journal. */
  journalBytesMax?: number;
  /** Whether this server is a node of a cluster. */
  isOfNode?: boolean;
  /** What the shards hold in memory at first; all if absent. */
  placement?: MemoryPlacement | undefined;
  /** The maximum size of an arena, in pages of 64 KiB. */
  arenaPagesMax?: number;
}

/** Creates the shared objects for `shards` shards whose stores are in `directory`. */
export function createSharedShards(
  shards: number,
  directory: string,
  {
    idleSeconds,
    checkpointMs = 0,
    journalBytesMax = 0,
    isOfNode = false,
    placement,
    arenaPagesMax = SHARD_PAGES_MAX,
  }: SharedOptions,
): SharedShards {
  const createMemory = (_: unknown, arena: number): WebAssembly.Memory =>
    createArenaMemory(arena === 0 ? Math.min(SHARD_PAGES_INITIAL, arenaPagesMax) : 1, arenaPagesMax);
  const createShard = (): WebAssembly.Memory[] => Array.from({ length: ARENAS }, createMemory);
  return {
    kernel: new WebAssembly.Module(readFileSync(KERNEL)),
    memories: Array.from({ length: shards }, createShard),
    arenaPagesMax,
    directory,
    ...sharedByStores(shards),
    idleSeconds,
    checkpointMs,
    journalBytesMax,
    isOfNode,
    placement,
  };
}

/** The counters and read gates that the owners of the stores share with the main thread. */
export const sharedByStores = (shards: number): Pick<SharedShards, 'meters' | 'readGates'> => ({
  meters: SharedMeters.create(shards).memory,
  readGates: ReadGate.memory(placeOfShard(shards)),
});
