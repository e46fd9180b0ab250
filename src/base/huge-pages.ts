// Shared memory on huge pages, where the system gives them. A search of a graph touches a row here and a row there, and
// with pages of 4 KiB each touch is a miss of the TLB too.
import { createRequire } from 'node:module';

/** A page of WebAssembly. */
export const PAGE_BYTES = 65_536;

interface Addon {
  adviseHugePages(view: Uint8Array, bytes: number): boolean;
  giveBack(view: Uint8Array): boolean;
}

/** Built by scripts/build.mjs where there is a compiler; without it pages are as the system makes them, and stay. */
const addon = loadAddon();

/**
 * `initial` and `maximum`: pages of 64 KiB. Its address space is reserved whole, so the advice holds for what it grows
 * to.
 */
export function createArenaMemory(initial: number, maximum: number): WebAssembly.Memory {
  const memory = new WebAssembly.Memory({ initial, maximum, shared: true });
  addon?.adviseHugePages(new Uint8Array(memory.buffer), maximum * PAGE_BYTES);
  return memory;
}

/**
 * Gives the pages of a part of such a memory back to the system: zeros until they are written to. Requires whole pages
 * of the system that nobody uses. False where it cannot.
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
