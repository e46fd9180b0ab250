// The memory of an arena: shared, and on huge pages where the system gives them. A walk touches a row here and a row there, and with pages of
// 4 KiB each touch is a miss of the TLB too. Made on the front thread (src/pool/shared-shards.ts) and by measurements.
import { createRequire } from 'node:module';

const PAGE_BYTES = 65_536;

type Advise = (view: Uint8Array, bytes: number) => boolean;

/** Built by scripts/build.mjs where there is a compiler; without it pages are as the system makes them. */
const advise = loadAddon();

/** `initial` and `maximum`: pages of 64 KiB. Its address space is reserved whole, so the advice holds for what it grows to. */
export function createArenaMemory(initial: number, maximum: number): WebAssembly.Memory {
  const memory = new WebAssembly.Memory({ initial, maximum, shared: true });
  advise?.(new Uint8Array(memory.buffer), maximum * PAGE_BYTES);
  return memory;
}

function loadAddon(): Advise | undefined {
  try {
    return createRequire(import.meta.url)('./native/huge-pages.node') as Advise;
  } catch {
    return undefined;
  }
}
