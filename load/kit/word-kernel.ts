// An index of words in a memory of its own, without a server around it, on the program's thread.
// Used by load/words.ts and load/languages.ts.
import { readFileSync } from 'node:fs';
import { Kernel } from '../../workers/shard/kernel.js';
import type { WordIndex } from '../../workers/shard/words/word-index.js';

export function createWordIndex(): WordIndex {
  const module = new WebAssembly.Module(readFileSync(new URL('../../workers/shard/kernel.wasm', import.meta.url)));
  const kernel = new Kernel(module, new WebAssembly.Memory({ initial: 1, maximum: 65536, shared: true }));
  kernel.format();
  return kernel.createWords();
}
