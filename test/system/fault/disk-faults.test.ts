// Disk errors under a running server: a full disk, errors of writes and syncs, short reads, read-only files. The fault
// layer (load/fault) makes calls fail as a kernel would. Nothing acknowledged is lost, nothing that was not synced is
// acknowledged, reads continue, and the server recovers by itself. restore-faults covers uploads and restores,
// checkpoint-faults checkpoints, and read-only-remount a real remount.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fault, FaultKind } from '../../../load/fault/fault-layer.js';
import {
  ask,
  DOCS,
  docids,
  killed,
  put,
  skip,
  spawnOverFaults,
  startOverFaults,
  statusOf,
  untilTaken,
} from '../../kit/faulty-server.js';
import { untilReady } from '../../kit/process.js';
import { until } from '../../kit/until.js';

/**
 * Starts a server with two documents and sets a fault: writes are rejected with `code` while reads continue. The fault
 * ends, and writes succeed again.
 */
async function failAndHeal(kind: FaultKind, fault: Fault, code: string): Promise<void> {
  const run = await startOverFaults();
  for (const docid of ['A', 'B']) assert.equal((await put(run, docid)).status, 201);
  run.faults.set(kind, { name: 'shard-', ...fault });
  const refused = await Promise.all(['C', 'D', 'E', 'F'].map((docid) => put(run, docid)));
  assert.ok(run.faults.fired(kind) > 0, 'the fault has happened');
  for (const answer of refused) assert.deepEqual(answer, { status: 503, code });
  assert.deepEqual(
    [
      await statusOf(run, `${DOCS}/documents/A`),
      await statusOf(run, `${DOCS}/search?q=text`),
      await statusOf(run, '/health/live'),
    ],
    [200, 200, 200],
  );
  run.faults.clear(kind);
  await untilTaken(run, 'G');
  assert.deepEqual(
    (await docids(run)).filter((docid) => 'ABG'.includes(docid)),
    ['A', 'B', 'G'],
  );
  assert.equal((await docids(run)).length, 3, 'what was refused is not there');
  await killed(run);
  const next = await startOverFaults({ dataDir: run.dataDir });
  assert.deepEqual(await docids(next), ['A', 'B', 'G']);
  await killed(next);
}

test('disk full: writes are refused with storage_full, reads go on, and it heals when space comes back', { skip }, () =>
  failAndHeal('write', { error: 'ENOSPC' }, 'storage_full'),
);

test('I/O error on write: refused with storage_failed until the disk takes writes again', { skip }, () =>
  failAndHeal('write', { error: 'EIO' }, 'storage_failed'),
);

test('I/O error on sync: never followed by an acknowledgement', { skip }, () =>
  failAndHeal('sync', { error: 'EIO' }, 'storage_failed'),
);

test('read-only remount: refused with storage_failed, reads go on', { skip }, () =>
  failAndHeal('write', { error: 'EROFS' }, 'storage_failed'),
);

test('I/O error on the last write of a commit: the worker ends itself, and what was acknowledged is there', {
  skip,
}, async () => {
  const run = await startOverFaults();
  // Both shards have some.
  const before = ['A', 'B', 'E', 'F', 'G', 'H'];
  for (const docid of before) assert.equal((await put(run, docid)).status, 201);
  // The sync of the data pages succeeds; the write of the meta page, which is synced too, fails.
  run.faults.set('sync', { name: 'shard-', error: 'EIO', skip: 1, times: 1 });
  const { status } = await put(run, 'C');
  assert.equal(status, 503);
  assert.equal(run.faults.fired('sync'), 1);
  // The thread that searches has not read from the store before.
  const searched = await ask(run, 'POST', `${DOCS}/search`, { q: 'the text', k: 10 });
  assert.ok([200, 503].includes(searched.status), JSON.stringify(searched));
  await untilTaken(run, 'D');
  const found = await docids(run);
  for (const docid of [...before, 'D']) assert.ok(found.includes(docid), docid);
  await killed(run);
});

test('short reads at the start: files that are read in pieces are read whole', { skip }, async () => {
  const run = await startOverFaults();
  assert.equal((await put(run, 'A')).status, 201);
  await killed(run);
  const again = await startOverFaults({
    dataDir: run.dataDir,
    prepare: (faults) => faults.set('read', { name: 'sheaf.json', bytes: 3 }),
  });
  assert.ok(again.faults.fired('read') > 1);
  assert.deepEqual(await docids(again), ['A']);
  await killed(again);
});

test('a shard whose file cannot be read is tried again, and serves when it can', { skip }, async () => {
  const run = await startOverFaults();
  assert.equal((await put(run, 'A')).status, 201);
  await killed(run);
  const again = spawnOverFaults({
    dataDir: run.dataDir,
    settings: { SHEAF_LOG__LEVEL: 'info' },
    prepare: (faults) => faults.set('read', { name: 'shard-1/data.mdb', error: 'EIO' }),
  });
  await until(() => again.faults.fired('read') >= 2, again.output);
  assert.ok(!/ready at/.test(again.output()), 'it does not say that it is ready');
  again.faults.clear('read');
  const url = await untilReady(again);
  assert.deepEqual(await docids({ url }), ['A']);
  await killed(again);
});
