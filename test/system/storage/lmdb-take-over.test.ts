// A worker thread that is killed during a write transaction leaves an environment that its successor can open, with
// every commit that it reported, and readers that continue. This is the behaviour of node-lmdb 0.10.1 that
// src/storage/lmdb.ts works around.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { Environment } from '../../../src/storage/lmdb.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const KILLS = 15;
const lmdb = new URL('../../../src/storage/lmdb.js', import.meta.url).href;
const writer = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(${JSON.stringify(lmdb)}).then(({ Environment }) => {
    const env = Environment.open(workerData.directory, ['t'], workerData.takeOver);
    const key = Buffer.from('n');
    let n = env.read(({ t }) => t.get(key)?.readUInt32BE() ?? 0);
    parentPort.postMessage({ found: n });
    for (;;) {
      env.write(({ t }) => {
        n++;
        for (let i = 0; i < 40; i++) t.put(Buffer.from('filler' + (n + i) % 97), Buffer.alloc(500, n));
        const value = Buffer.alloc(4);
        value.writeUInt32BE(n);
        t.put(key, value);
      });
      parentPort.postMessage({ committed: n });
    }
  });`;

test('every commit a killed writer told of is there for the next one', async () => {
  const directory = tempDirectory();
  let committed = 0;
  for (let round = 0; round < KILLS; round++) {
    const worker = new Worker(writer, { eval: true, workerData: { directory, takeOver: round > 0 } });
    const [{ found }] = (await once(worker, 'message')) as [{ found: number }];
    assert.ok(found >= committed, `round ${round}: found ${found}, was told ${committed}`);
    worker.on('message', (message: { committed: number }) => (committed = Math.max(committed, message.committed)));
    const before = committed;
    await new Promise((resolve) => setTimeout(resolve, 10 + 7 * round));
    // There are commits between two deaths, however slow the disk is.
    await until(() => committed > before + 1, `round ${round}: nothing is committed`);
    await worker.terminate();
  }
});

const reader = `
  const { parentPort, workerData } = require('node:worker_threads');
  require('node:v8').setFlagsFromString('--expose-gc');
  const collect = require('node:vm').runInNewContext('gc');
  import(${JSON.stringify(lmdb)}).then(({ Environment }) => {
    const key = Buffer.from('n');
    let env;
    parentPort.on('message', (isNew) => {
      if (isNew) env = Environment.attach(workerData, ['t']);
      collect();
      const [outer, inner] = [env.snapshot(), env.snapshot()];
      parentPort.postMessage(inner.tables.t.get(key).readUInt32BE());
      inner.end();
      outer.end();
      collect();
    });
    parentPort.postMessage('ready');
  });`;

async function answerOf(worker: Worker, isNew: boolean): Promise<number> {
  worker.postMessage(isNew);
  const [found] = (await once(worker, 'message')) as [number];
  return found;
}

test('readers that keep transactions outlive the owners of the environment, whose successors close it', async () => {
  const directory = tempDirectory();
  const readers = [1, 2].map(() => new Worker(reader, { eval: true, workerData: directory }));
  await Promise.all(readers.map((worker) => once(worker, 'message')));
  for (let round = 0; round < KILLS; round++) {
    const worker = new Worker(writer, { eval: true, workerData: { directory, takeOver: round > 0 } });
    let committed = 0;
    worker.on('message', (message: { committed?: number }) => (committed = message.committed ?? committed));
    await until(() => committed > 0, `round ${round}: nothing is committed`);
    for (const isNew of [true, false, false]) {
      const before = committed;
      const found = await Promise.all(readers.map((one) => answerOf(one, isNew)));
      assert.ok(Math.min(...found) >= before, `round ${round}: found ${found.join(' and ')}, was told ${before}`);
    }
    await worker.terminate();
  }
  // One reader ends while the environment that it read last is open, the other after it has been closed.
  await readers[0]?.terminate();
  Environment.open(directory, ['t'], true).close();
  await readers[1]?.terminate();
});
