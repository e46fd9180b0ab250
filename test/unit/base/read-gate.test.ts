// A worker and the holder of its read gate never work at the same time, neither starves, and a worker that died while
// it worked blocks nobody.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { ReadGate } from '../../../src/base/read-gate.js';

const HOLDS = 40;
const DONE = 0;
const AT_WORK = 1;
/** A worker that enters the gate and works repeatedly; with `stuck` it never leaves. */
const WORKER = `
  const { parentPort, workerData: { memory, told, stuck } } = require('node:worker_threads');
  import(${JSON.stringify(new URL('../../../src/base/read-gate.js', import.meta.url).href)}).then(({ ReadGate }) => {
    const latch = ReadGate.at(memory, 1);
    latch.reset();
    const cells = new Int32Array(told);
    for (;;) latch.exclusive(() => {
      Atomics.store(cells, 1, 1);
      if (stuck) parentPort.postMessage('stuck');
      Atomics.wait(cells, 0, Atomics.load(cells, 0), stuck ? Infinity : 1);
      Atomics.add(cells, 0, 1);
      Atomics.store(cells, 1, 0);
    });
  });`;

function startWorker(stuck: boolean): { worker: Worker; memory: SharedArrayBuffer; cells: Int32Array; data: object } {
  const memory = ReadGate.memory(3);
  const told = new SharedArrayBuffer(8);
  const data = { memory, told, stuck };
  return { worker: new Worker(WORKER, { eval: true, workerData: data }), memory, cells: new Int32Array(told), data };
}

test('the worker pauses while the gate is held, by one or several holders, and continues afterwards', async () => {
  const { worker, memory, cells } = startWorker(false);
  const gate = ReadGate.at(memory, 1);
  const hold = (): Promise<void> =>
    gate.shared(async () => {
      const before = Atomics.load(cells, DONE);
      for (let looks = 0; looks < 4; looks++, await sleep(1))
        assert.deepEqual([Atomics.load(cells, AT_WORK), Atomics.load(cells, DONE)], [0, before]);
    });
  while (Atomics.load(cells, DONE) === 0) await sleep(1);
  for (let holds = 0; holds < HOLDS; holds++) {
    await Promise.all([hold(), hold()]);
    const before = Atomics.load(cells, DONE);
    while (Atomics.load(cells, DONE) === before) await sleep(1);
  }
  await ReadGate.at(memory, 2).shared(async () => {
    const before = Atomics.load(cells, DONE);
    while (Atomics.load(cells, DONE) === before) await sleep(1);
  });
  await worker.terminate();
});

test('a bounded hold keeps the worker from beginning anything, one thread at a time, and ends by itself', async () => {
  const { worker, memory, cells } = startWorker(false);
  const gate = ReadGate.at(memory, 1);
  const more = async (): Promise<void> => {
    const before = Atomics.load(cells, DONE);
    while (Atomics.load(cells, DONE) === before) await sleep(1);
  };
  await more();
  for (let holds = 0; holds < HOLDS; holds++) {
    const end = gate.hold(60_000);
    assert.ok(end);
    assert.equal(gate.hold(60_000), undefined);
    while (Atomics.load(cells, AT_WORK) === 1) await sleep(1);
    const before = Atomics.load(cells, DONE);
    await sleep(2);
    assert.equal(Atomics.load(cells, DONE), before);
    end();
    await more();
  }
  for (let holds = 0; holds < 3; holds++) {
    while (!gate.hold(5)) await sleep(1);
    while (Atomics.load(cells, AT_WORK) === 1) await sleep(1);
    await more();
  }
  await worker.terminate();
});

test('the successor of a worker that died inside the gate frees it; until then a holder that stops waiting continues', async () => {
  const { worker, memory, data } = startWorker(true);
  await once(worker, 'message');
  await worker.terminate();
  const gate = ReadGate.at(memory, 1);
  let looks = 0;
  assert.equal(
    await gate.shared(
      async () => 'given up',
      () => ++looks < 3,
    ),
    'given up',
  );
  const held = gate.shared(async () => 'held');
  const next = new Worker(WORKER, { eval: true, workerData: data });
  assert.equal(await held, 'held');
  await once(next, 'message');
  await next.terminate();
});
