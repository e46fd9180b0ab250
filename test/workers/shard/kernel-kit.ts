// What the kernel's tests share: a kernel on a memory of its own, seeds and seeded vectors.
import { readFileSync } from 'node:fs';
import type { Prng } from '../../../src/base/prng.js';
import { Kernel } from '../../../workers/shard/kernel.js';

export function readKernelBytes(): Buffer<ArrayBuffer> {
  return readFileSync(new URL('../../../workers/shard/kernel.wasm', import.meta.url));
}

/** A shard's memory of one page of 64 KiB that may grow to `pagesMax`. */
export function createMemory(pagesMax = 65536): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: 1, maximum: pagesMax, shared: true });
}

/** A formatted kernel. */
export function createKernel(memory = createMemory()): Kernel {
  const kernel = new Kernel(new WebAssembly.Module(readKernelBytes()), memory);
  kernel.format();
  return kernel;
}

export function randomVector(prng: Prng, dim: number): Float32Array {
  return Float32Array.from({ length: dim }, () => prng.normal());
}

/** Makes vectors around `clusters` centres, as texts lie around topics; `spread` is the noise's share. */
export function clusteredVectors(prng: Prng, dim: number, clusters: number, spread: number): () => Float32Array {
  const centres = Array.from({ length: clusters }, () => randomVector(prng, dim));
  return () => {
    const centre = centres[prng.int(clusters)] as Float32Array;
    return centre.map((value) => value + spread * prng.normal());
  };
}

/** Random tests run once with each, and name theirs when they fail. */
export const SEEDS = [1, 2, 3, 4];
