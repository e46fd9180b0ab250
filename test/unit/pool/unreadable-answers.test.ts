// An answer that the front thread cannot read is a death of the worker to whoever asked, and not a wait without end; the
// next answer comes from its successor.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Piscina } from 'piscina';
import { LoadedThreads } from '../../../src/pool/worker-pool.js';
import { tempDirectory } from '../../kit/temp.js';

const WORKER = `
export const deep = (levels) => {
  let value = 0;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
};
`;

test('an answer nested deeper than this thread can read', async () => {
  const filename = join(tempDirectory(), 'worker.mjs');
  writeFileSync(filename, WORKER);
  // Its stack takes what this thread's does not.
  const resourceLimits = { stackSizeMb: 7 };
  const piscina = new Piscina({
    filename,
    name: 'deep',
    minThreads: 1,
    maxThreads: 1,
    atomics: 'async',
    resourceLimits,
  });
  new LoadedThreads(piscina);
  assert.deepEqual(await piscina.run(2), [[0]]);
  await assert.rejects(piscina.run(6000));
  assert.deepEqual(await piscina.run(1), [0]);
  await piscina.destroy();
});
