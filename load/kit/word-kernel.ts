// An index of words in a memory of its own, without a server around it, on the program's thread.
// Used by load/words.ts and load/languages.ts.
import { readFileSync } from 'node:fs';
import { createArenaMemory } from '../../src/base/arena-memory.js';
import { Kernel } from '../../workers/shard/kernel.js';
import type { WordIndex } from '../../workers/shard/words/word-index.js';

export function createWordIndex(): WordIndex {
  const module = new WebAssembly.Module(readFileSync(new URL('../../workers/shard/kernel.wasm', import.meta.url)));
  const kernel = new Kernel(module, createArenaMemory(1, 65536));
  kernel.format();
  return kernel.createWords();
}
