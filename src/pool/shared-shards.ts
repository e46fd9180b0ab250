// What the shard workers and the search workers share: the compiled kernel, the memories of all shards, and where their stores are. Made
// once by compose-context.ts; a worker that takes over from a dead one gets the very same memories.
import { readFileSync } from 'node:fs';
import { createArenaMemory } from '../base/arena-memory.js';
import { SHARD_PAGES_INITIAL, SHARD_PAGES_MAX } from '../contract/limits.js';
import { ARENAS } from '../contract/ordinals.js';
import type { SharedShards } from '../contract/messages.js';

const KERNEL = new URL('../../workers/shard/kernel.wasm', import.meta.url);

/** `arenaPagesMax`: where an arena ends, in pages of 64 KiB. */
export function createSharedShards(shards: number, directory: string, idleSeconds: number, arenaPagesMax = SHARD_PAGES_MAX): SharedShards {
  const createMemory = (_: unknown, arena: number): WebAssembly.Memory => createArenaMemory(arena === 0 ? Math.min(SHARD_PAGES_INITIAL, arenaPagesMax) : 1, arenaPagesMax);
  const createShard = (): WebAssembly.Memory[] => Array.from({ length: ARENAS }, createMemory);
  return { kernel: new WebAssembly.Module(readFileSync(KERNEL)), memories: Array.from({ length: shards }, createShard), arenaPagesMax, directory, idleSeconds };
}
