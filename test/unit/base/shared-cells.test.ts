// Cells in shared memory, compared with plain numbers and written from several threads at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { SharedCells } from '../../../src/base/meters.js';

test('cells are added to, set and read, each by itself', () => {
  const cells = SharedCells.create(3);
  cells.add(0, 2);
  cells.add(2, 5.4);
  cells.add(2, -1);
  cells.set(1, 2 ** 40);
  assert.deepEqual(
    [0, 1, 2].map((cell) => new SharedCells(cells.memory).get(cell)),
    [2, 2 ** 40, 4],
  );
});

test('nothing is lost when threads add at the same time', async () => {
  const cells = SharedCells.create(1);
  const source =
    'const { workerData } = require("node:worker_threads"); const cells = new BigInt64Array(workerData); for (let n = 0; n < 10000; n++) Atomics.add(cells, 0, 1n);';
  await Promise.all(
    [1, 2, 3].map(
      () =>
        new Promise((resolve) => new Worker(source, { eval: true, workerData: cells.memory }).once('exit', resolve)),
    ),
  );
  assert.equal(cells.get(0), 30_000);
});
