// The kernel of a shard in this process, without a server: its module, a memory, and the background work of an index.
import { readFileSync } from 'node:fs';
import { createArenaMemory } from '../../src/base/arena-memory.js';
import type { VectorIndex } from '../../src/engine/hnsw/vector-index.js';
import { Kernel } from '../../src/engine/memory/arena.js';

const PAGES_MAX = 65_536;
/** Rows that one step of background work adds to the graph, or neighbour lists that it densifies. */
const STEP = 64;

export const kernelWasm = (): NonSharedBuffer => readFileSync(new URL('../../src/engine/kernel.wasm', import.meta.url));

export const createMemory = (): WebAssembly.Memory => createArenaMemory(1, PAGES_MAX);

/** A kernel on empty, formatted memory. */
export function createKernel(memory = createMemory()): Kernel {
  const kernel = new Kernel(new WebAssembly.Module(kernelWasm()), memory);
  kernel.format();
  return kernel;
}

/** Completes all background work: graph edges, quantization, recall check, densification; as far as memory permits. */
export function finishBackgroundWork(index: VectorIndex): void {
  while (index.hasWork && (index.indexSome(STEP) > 0 || index.isTuning));
  while (index.isDensifyDue) index.densifySome(STEP);
}
