// Kernels on a memory of their own, seeds, and seeded vectors and bitmaps.
import { readFileSync } from 'node:fs';
import type { Prng } from '../../../src/base/prng.js';
import type { MemoryPlacement } from '../../../src/api/memory-placement.js';
import type { CollectionGroup, CollectionRef } from '../../../src/api/collections.js';
import { Arenas, Kernel } from '../../../src/engine/memory/arena.js';
import { Holding } from '../../../src/engine/segments/holding.js';
import { type CollectionKinds, Shard } from '../../../src/engine/shard.js';
import type { ShardStore } from '../../../src/storage/shard-store.js';

export function readKernelBytes(): Buffer<ArrayBuffer> {
  return readFileSync(new URL('../../../src/engine/kernel.wasm', import.meta.url));
}

/** The memory of an arena, of one page of 64 KiB that may grow to `pagesMax` pages. */
export function createMemory(pagesMax = 65536): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: 1, maximum: pagesMax, shared: true });
}

/** A kernel on formatted memory. */
export function createKernel(memory = createMemory()): Kernel {
  const kernel = new Kernel(new WebAssembly.Module(readKernelBytes()), memory);
  kernel.format();
  return kernel;
}

export function randomVector(prng: Prng, dim: number): Float32Array {
  return Float32Array.from({ length: dim }, () => prng.normal());
}

/** Makes vectors around `clusters` centres, as texts cluster around topics; `spread` is the share of noise. */
export function clusteredVectors(prng: Prng, dim: number, clusters: number, spread: number): () => Float32Array {
  const centres = Array.from({ length: clusters }, () => randomVector(prng, dim));
  return () => {
    const centre = centres[prng.int(clusters)] as Float32Array;
    return centre.map((value) => value + spread * prng.normal());
  };
}

/**
 * A bitmap of ordinals below `end`, each set with the probability `share`; one in five bitmaps is shorter than `end`.
 */
export function randomBitmap(prng: Prng, end: number, share: number): Uint32Array {
  const bitmap = new Uint32Array(prng.int(5) === 0 ? prng.int(end >>> 5) + 1 : Math.ceil(end / 32));
  for (let ordinal = 0; ordinal < 32 * bitmap.length; ordinal++)
    if (prng.next() < share) bitmap[ordinal >>> 5]! |= 1 << (ordinal & 31);
  return bitmap;
}

/** Random tests run once with each seed, and name the seed when they fail. */
export const SEEDS = [1, 2, 3, 4];

/** A shard on the given arenas, the home arena first, that has been told of all its collections. */
export function shardOn(
  store: ShardStore,
  kernels: readonly Kernel[],
  refs: readonly CollectionRef[] = [],
  restore?: (shard: Shard, kinds: CollectionKinds) => void,
  placement?: MemoryPlacement,
): Shard {
  const collections = refs.map(({ id, ...kind }): CollectionGroup => ({ kind, ids: Uint32Array.of(id) }));
  return Shard.open(store, new Arenas(kernels), { collections, isWhole: true }, restore, new Holding(placement));
}
