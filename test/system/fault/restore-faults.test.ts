// Disk errors while an archive is uploaded, read or restored: the request is rejected with a code, nothing is changed,
// nothing is left behind, reads continue, and the same restore succeeds once the disk works again. Runs over the fault
// layer (load/fault).
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Fault, FaultKind } from '../../../load/fault/fault-layer.js';
import {
  ask,
  DOCS,
  docids,
  killed,
  put,
  skip,
  startOverFaults,
  statusOf,
  type Run,
  type Told,
} from '../../kit/faulty-server.js';
import { fileForm, startTestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const DOCUMENTS = 300;
/** Part of the path of uploaded files; other files of the system's temporary folder do not have it. */
const UPLOADS = 'data/sheaf-tmp/';

let archived: Promise<Uint8Array> | undefined;

/** An archive that a server without faults made, once for all tests. */
async function makeArchive(): Promise<Uint8Array> {
  const run = await startTestServer();
  const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({
    docid: `OLD${n}`,
    text: `what is in the archive of number ${n} `.repeat(20),
  }));
  assert.equal((await ask(run, 'POST', `${DOCS}/documents:batch`, { documents })).json.succeeded, DOCUMENTS);
  const archive = new Uint8Array(await (await fetch(`${run.url}${DOCS}/archive`)).arrayBuffer());
  await run.stop();
  return archive;
}

/** A server whose collection differs from the archive's, and the archive. */
async function prepared(): Promise<{ run: Run; archive: Uint8Array }> {
  const [run, archive] = await Promise.all([startOverFaults(), (archived ??= makeArchive())]);
  for (const docid of ['A', 'B']) assert.equal((await put(run, docid)).status, 201);
  return { run, archive };
}

const restored = (run: Run, archive: Uint8Array): Promise<Told> =>
  ask(run, 'PUT', `${DOCS}/archive`, fileForm('archive.zip', archive));

async function assertUnchanged(run: Run): Promise<void> {
  assert.deepEqual(await docids(run), ['A', 'B']);
  assert.deepEqual(
    [
      await statusOf(run, `${DOCS}/documents/A`),
      await statusOf(run, `${DOCS}/search?q=text`),
      await statusOf(run, '/health/live'),
    ],
    [200, 200, 200],
  );
  // Each front thread has a folder of its own.
  const uploads = (): string[] =>
    readdirSync(join(run.dataDir, 'sheaf-tmp'), { recursive: true, withFileTypes: true }).flatMap((entry) =>
      entry.isFile() ? [entry.name] : [],
    );
  // The upload is removed while the answer is being sent.
  await until(
    () => uploads().length === 0,
    () => `of the upload is left: ${uploads().join()}`,
  );
}

/** Restores until it succeeds: a shard that could not write is opened again first. */
async function untilRestored(run: Run, archive: Uint8Array): Promise<void> {
  const isRestored = async (): Promise<boolean> => {
    const { status, json } = await restored(run, archive);
    if (status !== 200) assert.equal(status, 503, JSON.stringify(json));
    return status === 200;
  };
  await until(isRestored, run.output);
  assert.equal((await docids(run)).length, DOCUMENTS, run.output());
}

const CASES: readonly [string, FaultKind, Fault, string][] = [
  ['disk full while an archive is uploaded', 'write', { name: UPLOADS, error: 'ENOSPC', skip: 1 }, 'storage_full'],
  ['I/O error while an archive is uploaded', 'write', { name: UPLOADS, error: 'EIO' }, 'storage_failed'],
  [
    'a disk that is read-only while an archive is uploaded',
    'write',
    { name: UPLOADS, error: 'EROFS' },
    'storage_failed',
  ],
  [
    'disk full while documents of an archive are restored',
    'write',
    { name: 'shard-1', error: 'ENOSPC', skip: 3 },
    'storage_full',
  ],
  [
    'I/O error on write while documents of an archive are restored',
    'write',
    { name: 'shard-1', error: 'EIO' },
    'storage_failed',
  ],
  [
    'I/O error on sync while documents of an archive are restored',
    'sync',
    { name: 'shard-1', error: 'EIO' },
    'storage_failed',
  ],
  ['disk full at the switch to what an archive holds', 'write', { name: 'catalog', error: 'ENOSPC' }, 'storage_full'],
  [
    'I/O error on sync at the switch to what an archive holds',
    'sync',
    { name: 'catalog', error: 'EIO', times: 1 },
    'storage_failed',
  ],
];

for (const [name, kind, fault, code] of CASES) {
  test(`${name}: ${code}, nothing is changed, and it is restored when the disk is well`, { skip }, async () => {
    const { run, archive } = await prepared();
    run.faults.set(kind, fault);
    const { status, json } = await restored(run, archive);
    assert.ok(run.faults.fired(kind) > 0, 'the fault has happened');
    assert.deepEqual([status, json.code], [503, code], JSON.stringify(json));
    await assertUnchanged(run);
    run.faults.clear(kind);
    await untilRestored(run, archive);
    await killed(run);
    const next = await startOverFaults({ dataDir: run.dataDir });
    assert.equal((await docids(next)).length, DOCUMENTS);
    await killed(next);
  });
}

test('I/O error on reading an uploaded archive: it is not told to be the fault of the archive, and nothing is changed', {
  skip,
}, async () => {
  const { run, archive } = await prepared();
  run.faults.set('read', { name: UPLOADS, error: 'EIO', skip: 3 });
  const { status, json } = await restored(run, archive);
  assert.ok(run.faults.fired('read') > 0);
  assert.deepEqual([status, json.code], [503, 'storage_failed'], JSON.stringify(json));
  await assertUnchanged(run);
  run.faults.clear('read');
  await untilRestored(run, archive);
  await killed(run);
});

test('short reads of an uploaded archive: it is read whole, in pieces', { skip }, async () => {
  const { run, archive } = await prepared();
  run.faults.set('read', { name: UPLOADS, bytes: 1000 });
  const { status, json } = await restored(run, archive);
  assert.ok(run.faults.fired('read') > 1);
  assert.equal(status, 200, JSON.stringify(json));
  assert.equal((await docids(run)).length, DOCUMENTS);
  await killed(run);
});

test('a kill between the switch of a restore and its logged searches: they come at the next start', {
  skip,
}, async () => {
  const source = await startOverFaults();
  assert.equal((await put(source, 'OLD')).status, 201);
  for (const q of ['one', 'two', 'three'])
    assert.equal((await ask(source, 'GET', `${DOCS}/search?q=${q}`)).status, 200);
  const archive = new Uint8Array(await (await fetch(`${source.url}${DOCS}/archive`)).arrayBuffer());
  await killed(source);
  const run = await startOverFaults();
  assert.equal((await put(run, 'NEW')).status, 201);
  // Two syncs of the commit that holds the entries, then the first of the commit that releases them.
  run.faults.set('sync', { name: 'query-log', dies: true, skip: 2 });
  await assert.rejects(restored(run, archive));
  await run.ended;
  const next = await startOverFaults({ dataDir: run.dataDir });
  assert.deepEqual(await docids(next), ['OLD']);
  let found: unknown[] = [];
  await until(
    async () => (found = (await ask(next, 'GET', `${DOCS}/queries`)).json.queries).length >= 3,
    'the logged searches do not come',
  );
  assert.deepEqual(found.map((query) => (query as { query_text: string }).query_text).sort(), ['one', 'three', 'two']);
  await killed(next);
});

test('I/O error on reading an uploaded document: it is not told to be the fault of the file', { skip }, async () => {
  const run = await startOverFaults();
  const form = (): FormData => {
    const fields = new FormData();
    fields.set('file', new Blob(['what is in the document '.repeat(100_000)]), 'long.txt');
    return fields;
  };
  run.faults.set('read', { name: UPLOADS, error: 'EIO' });
  const { status, json } = await ask(run, 'POST', `${DOCS}/documents`, form());
  assert.ok(run.faults.fired('read') > 0);
  assert.deepEqual([status, json.code], [503, 'storage_failed'], JSON.stringify(json));
  run.faults.clear('read');
  assert.equal((await ask(run, 'POST', `${DOCS}/documents`, form())).status, 201);
  await killed(run);
});
