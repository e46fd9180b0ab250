// A worker thread that is killed in the middle of a write transaction leaves an environment that its successor can
// open, with every commit it was told of. This is the node-lmdb 0.10.1 behaviour that src/storage/lmdb.ts works around.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
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
    // However slow the disk is, there are commits between two deaths.
    await until(() => committed > before + 1, `round ${round}: nothing is committed`);
    await worker.terminate();
  }
});
