// The columns of a segment's rows, priorities and expiries, compared with maps and read through a SegmentView as another
// thread reads them; and what a segment publishes about its indexes.
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

for (const seed of SEEDS) {
  test(`expiries as in a map, seed ${seed}`, () => {
    const prng = createPrng(seed);
    const memory = createMemory();
    const owner = createKernel(memory);
    const reader = new Kernel(new WebAssembly.Module(readKernelBytes()), memory);
    const column = owner.createPriorities();
    const { expiries } = column;
    assert.deepEqual([column.root, expiries.first, expiries.of(3 as Ordinal)], [0, Infinity, 0]);
    expiries.clear(3 as Ordinal);
    owner.directory.set(ID, { vectors: owner.createIndex(2).root });
    const naive = new Map<number, number>();
    let earliest = Infinity;
    for (let step = 0; step < 3000; step++) {
      const ordinal = prng.int(prng.int(2) === 0 ? 100 : 3000) as Ordinal;
      const action = prng.int(4);
      const second = action === 0 ? 0 : 4_294_967_295 - prng.int(60);
      if (action === 1) {
        expiries.clear(ordinal);
        naive.delete(ordinal);
      } else {
        if (second !== 0) expiries.reserve(ordinal);
        expiries.set(ordinal, second);
        if (second === 0) naive.delete(ordinal);
        else naive.set(ordinal, second);
        if (second !== 0) earliest = Math.min(earliest, second);
      }
      if (step % 30 !== 0) continue;
      owner.directory.set(ID, { priorities: column.root });
      const view = reader.view(ID);
      assert(view);
      assert.equal(view.expiries.first, earliest);
      const nowS = 4_294_967_295 - prng.int(60);
      const rows = [...naive].filter(([, at]) => at <= nowS).map(([row]) => row);
      // The kept bitmap may still have rows that were removed; it has no other row that has not expired.
      const kept = new Set(ordinalsIn(view.expiredRows(nowS)));
      assert.deepEqual(
        [...ordinalsIn(view.expiries.expired(nowS))],
        rows.sort((a, b) => a - b),
      );
      for (const row of rows) assert(kept.has(row), `row ${row}`);
      for (const row of kept) assert(!naive.has(row) || (naive.get(row) as number) <= nowS, `row ${row}`);
      assert.equal(view.priorities.count, 0);
    }
    for (let ordinal = 0; ordinal < 6000; ordinal++)
      assert.equal(expiries.of(ordinal as Ordinal), naive.get(ordinal) ?? 0);
    expiries.setFirst(0);
    assert.equal(expiries.first, Infinity);
    const used = owner.usedBytes();
    column.drop();
    assert(owner.usedBytes() < used - 8 * 3000);
  });
}

test('a row that is added again is in no bitmap of expired rows, also in the same second', () => {
  const owner = createKernel(createMemory());
  const column = owner.createPriorities();
  const row = 5 as Ordinal;
  const bitmap = (nowS: number): number[] => [...ordinalsIn(owner.view(ID)?.expiredRows(nowS) ?? new Uint32Array())];
  column.expiries.reserve(row);
  column.expiries.set(row, 100);
  owner.directory.set(ID, { vectors: owner.createIndex(2).root, priorities: column.root });
  assert.deepEqual([bitmap(99), bitmap(100)], [[], [5]]);
  column.expiries.clear(row);
  assert.deepEqual(bitmap(100), [5]);
  column.expiries.set(row, 0);
  assert.deepEqual(bitmap(100), []);
  column.expiries.set(row, 101);
  assert.deepEqual([bitmap(100), bitmap(101), bitmap(100)], [[], [5], []]);
});
