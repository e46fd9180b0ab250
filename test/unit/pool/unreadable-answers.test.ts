// An answer that the main thread cannot read counts as a death of the worker, so that the request does not wait for
// ever; the worker's successor gives the next answer.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { WorkerPool } from '../../../src/pool/worker-pool.js';
import { SILENT } from '../../kit/log.js';
import { tempDirectory } from '../../kit/temp.js';

const WORKER = `
import { parentPort, threadId } from 'node:worker_threads';
export const run = (levels) => {
  let value = 0;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
};
parentPort.postMessage({ loaded: threadId });
`;

test('an answer nested deeper than this thread can read fails its request, and the pool goes on', async () => {
  const program = join(tempDirectory(), 'worker.mjs');
  writeFileSync(program, WORKER);
  const pool = new WorkerPool({
    program: pathToFileURL(program),
    name: 'a worker of the test',
    threads: 1,
    workerData: {},
    log: SILENT,
    tasksPerThread: 1,
    // The worker's larger stack can build an answer that overflows this thread's stack.
    resourceLimits: { stackSizeMb: 7 },
  });
  assert.deepEqual(await pool.run(2), [[0]]);
  await assert.rejects(pool.run(6000));
  assert.deepEqual(await pool.run(1), [0]);
  await pool.end();
});
