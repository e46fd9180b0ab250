// Free memory of an arena returns to the operating system, and no other memory does.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createArenaMemory } from '../../../src/base/arena-memory.js';
import { createPrng } from '../../../src/base/prng.js';
import { Kernel } from '../../../src/engine/memory/arena.js';
import type { VectorIndex } from '../../../src/engine/hnsw/vector-index.js';
import { randomVector, readKernelBytes } from '../../kit/engine/arena.js';
import { assertExact, NaiveIndex } from '../../kit/engine/naive-vector-index.js';

const DIM = 64;
const isBuilt = existsSync(new URL('../../../src/base/native/arena-pages.node', import.meta.url));
const skip = (!isBuilt && 'the addon was not built') || (!existsSync('/proc/self/status') && 'there is no /proc');

test('free memory goes back to the system, and what is not free stays as it is', { skip }, () => {
  const anonymousBytes = (): number =>
    1024 * Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
  const kernel = new Kernel(new WebAssembly.Module(readKernelBytes()), createArenaMemory(16, 8192));
  kernel.format();
  const prng = createPrng(6);
  const stays = kernel.createIndex(DIM);
  const naive = new NaiveIndex();
  // The contents of the rows that are dropped do not matter, and random numbers are slow.
  const same = randomVector(prng, 1024);
  const rows = (index: VectorIndex, from: number, count: number): void => {
    for (let ordinal = from; ordinal < from + count; ordinal++) {
      const vector = index === stays ? randomVector(prng, DIM) : same;
      index.put(ordinal, vector);
      if (index === stays) naive.put(ordinal, vector);
    }
  };
  for (let round = 0; round < 3; round++) {
    // Both indexes grow in turns, so that their blocks alternate in memory.
    const large = kernel.createIndex(1024, { graphMin: 1e9 });
    for (let part = 0; part < 20; part++) {
      rows(large, 1000 * part, 1000);
      rows(stays, 20 * (20 * round + part), 20);
    }
    const before = anonymousBytes();
    large.drop();
    while (kernel.reclaim());
    while (kernel.giveBack());
    const given = before - anonymousBytes();
    assert(given > 30e6, `${given} bytes of 41 million`);
    assert(!kernel.giveBack(), 'each page once');
    const query = randomVector(prng, DIM);
    assertExact(stays, naive, query, 20, stays.search(query, 20, { exact: true }), `round ${round}`);
  }
});
