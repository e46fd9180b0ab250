// Shared memory for arenas, on huge pages and over all memory nodes, as far as the system supports it. A graph search
// accesses rows at random: with pages of 4 KiB nearly every access also misses the TLB, and memory that its owner alone
// has placed lies on one node of a machine that has several, whose bandwidth all searches then share.
import { createRequire } from 'node:module';
import type { Log } from './log.js';

/** The size of a WebAssembly page. */
export const PAGE_BYTES = 65_536;

interface Addon {
  adviseHugePages(view: Uint8Array, bytes: number): boolean;
  giveBack(view: Uint8Array): boolean;
  memoryNodes(): number;
  interleave(view: Uint8Array, bytes: number): number;
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
 * Spreads memories of up to `bytes` each over the memory nodes (NUMA) of the machine; nothing to do if there is one. Call
 * it before the memories are written: pages that are there already stay where they are. Without it they work as well,
 * so an error is only logged.
 */
export function spreadOverNodes(
  memories: readonly WebAssembly.Memory[],
  bytes: number,
  log: Log,
  nodes = addon?.memoryNodes() ?? 0,
): void {
  if (!addon || nodes < 2) return;
  const { interleave } = addon;
  const errors = memories.map(({ buffer }) => interleave(new Uint8Array(buffer), bytes));
  const errno = errors.find((error) => error !== 0);
  if (errno === undefined) log.info({ nodes }, 'the memory of the shards is spread over all memory nodes');
  else log.warn({ nodes, errno }, 'the memory of the shards could not be spread over the memory nodes');
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
