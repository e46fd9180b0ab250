// The column of priorities, compared with a map and read through a SegmentView as another thread reads it; and what a
// segment publishes about its indexes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import type { CollectionId, Ordinal } from '../../../src/api/ids.js';
import { Kernel } from '../../../src/engine/memory/arena.js';
import { LOST } from '../../../src/engine/memory/layout.js';
import { bitmapOf, ordinalsIn } from '../../../src/engine/filter/bitmap.js';
import { createMemory, createKernel, readKernelBytes, SEEDS } from '../../kit/engine/arena.js';

const ID = 7 as CollectionId;

for (const seed of SEEDS) {
  test(`priorities as in a map, seed ${seed}`, () => {
    const prng = createPrng(seed);
    const memory = createMemory();
    const owner = createKernel(memory);
    const reader = new Kernel(new WebAssembly.Module(readKernelBytes()), memory);
    const index = owner.createIndex(2);
    owner.directory.set(ID, { vectors: index.root });
    assert.deepEqual(
      [
        reader.view(ID)?.priorities.count,
        reader.view(ID)?.priorities.of(3 as Ordinal),
        reader.view(ID)?.priorities.bitmap().length,
      ],
      [0, 0, 0],
    );
    const column = owner.createPriorities();
    const naive = new Map<number, number>();
    for (let step = 0; step < 3000; step++) {
      const ordinal = prng.int(prng.int(2) === 0 ? 100 : 3000) as Ordinal;
      const priority = prng.int(3) === 0 ? 0 : prng.normal();
      column.reserve(ordinal);
      column.set(ordinal, priority);
      if (priority === 0) naive.delete(ordinal);
      else naive.set(ordinal, priority);
    }
    owner.directory.set(ID, { priorities: column.root, textIndex: LOST });
    const view = reader.view(ID);
    assert(view);
    assert.equal(view.priorities.count, naive.size);
    assert.deepEqual([...ordinalsIn(view.priorities.bitmap())], [...ordinalsIn(bitmapOf(naive.keys(), 3000))]);
    for (let ordinal = 0; ordinal < 6000; ordinal++)
      assert.equal(view.priorities.of(ordinal as Ordinal), naive.get(ordinal) ?? 0);
    assert.deepEqual(
      [view.isWithoutTextIndex, view.isWithoutFields, view.textIndex, view.fields],
      [true, false, undefined, undefined],
    );
    const before = owner.usedBytes();
    column.drop();
    assert(owner.usedBytes() < before - 8 * 3000);
  });
}
