// Shared memory on huge pages, if the system supports them. A graph search accesses rows at random, and with pages of 4
// KiB nearly every access also misses the TLB.
import { createRequire } from 'node:module';

/** The size of a WebAssembly page. */
export const PAGE_BYTES = 65_536;

interface Addon {
  adviseHugePages(view: Uint8Array, bytes: number): boolean;
  giveBack(view: Uint8Array): boolean;
}

/**
 * Built by scripts/build.mjs if there is a compiler. Without it, the system chooses the page size, and memory cannot be
 * returned.
 */
const addon = loadAddon();

/**
 * Creates a memory; `initial` and `maximum` are in pages of 64 KiB. The whole address space is reserved at once, so the
 * advice also covers what the memory grows to.
 */
export function createArenaMemory(initial: number, maximum: number): WebAssembly.Memory {
  const memory = new WebAssembly.Memory({ initial, maximum, shared: true });
  addon?.adviseHugePages(new Uint8Array(memory.buffer), maximum * PAGE_BYTES);
  return memory;
}

/**
 * Returns the memory of a view to the system; it reads as zeros until it is written. The view must consist of whole
 * system pages that are not in use. Returns false if this is not possible.
 */
export function giveBack(view: Uint8Array): boolean {
  return addon?.giveBack(view) ?? false;
}

function loadAddon(): Addon | undefined {
  try {
    return createRequire(import.meta.url)('./native/arena-pages.node') as Addon;
  } catch {
    return undefined;
  }
}
