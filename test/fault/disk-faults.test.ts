// The disk fails under a running server: full, errors of writes and of syncs, short reads, read-only. Over the fault layer (load/kit/fault), which makes the
// calls fail as a kernel would. Nothing that was acknowledged is lost, nothing that was not synced is acknowledged, reads go on, and it heals by itself.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Faults, type Fault, type FaultKind } from '../../load/kit/fault/faults.js';
import { compileShim, faultEnvironment } from '../../load/kit/fault/shim.js';
import { spawnServe, untilReady, type ServeProcess } from '../kit/process.js';
import { tempDirectory } from '../kit/temp.js';

const shim = compileShim();
const skip = shim === undefined ? 'there is no C compiler' : false;
const DOCS = '/v1/collections/acme/docs';

interface Run extends ServeProcess {
  url: string;
  faults: Faults;
  dataDir: string;
}

async function start(dataDir = join(tempDirectory(), 'data')): Promise<Run> {
  const faults = new Faults(join(tempDirectory(), 'faults'));
  const server = spawnServe({ SHEAF_DATA_DIR: dataDir, SHEAF_STORAGE__PARTITIONS: '2', SHEAF_SEARCH__THREADS: '1', ...faultEnvironment(shim as string, { root: dataDir, control: faults.path }) });
  return { ...server, url: await untilReady(server), faults, dataDir };
}

const put = async ({ url }: Run, docid: string): Promise<{ status: number; code: string }> => {
  const response = await fetch(`${url}${DOCS}/documents`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ docid, text: `the text of ${docid}` }) });
  return { status: response.status, code: String(((await response.json()) as { code?: string }).code) };
};
const statusOf = async ({ url }: Run, path: string): Promise<number> => (await fetch(url + path)).status;
const docids = async ({ url }: Run): Promise<string[]> => ((await (await fetch(`${url}${DOCS}/documents`)).json()) as { documents: { docid: string }[] }).documents.map(({ docid }) => docid);

/** Puts until one is acknowledged; how many were refused before. */
async function untilTaken(run: Run, docid: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++, await sleep(100)) if ((await put(run, docid)).status === 201) return;
  assert.fail(`writes are not taken again: ${run.output()}`);
}

/** A server with two documents; a fault; writes are refused with `code`, reads go on; the fault ends, and writes are taken again. */
async function failAndHeal(kind: FaultKind, fault: Fault, code: string): Promise<void> {
  const run = await start();
  for (const docid of ['A', 'B']) assert.equal((await put(run, docid)).status, 201);
  run.faults.set(kind, { name: 'shard-', ...fault });
  const refused = await Promise.all(['C', 'D', 'E', 'F'].map((docid) => put(run, docid)));
  assert.ok(run.faults.fired(kind) > 0, 'the fault has happened');
  for (const answer of refused) assert.deepEqual(answer, { status: 503, code });
  assert.deepEqual([await statusOf(run, `${DOCS}/documents/A`), await statusOf(run, `${DOCS}/search?q=text`), await statusOf(run, '/health/live')], [200, 200, 200]);
  run.faults.clear(kind);
  await untilTaken(run, 'G');
  assert.deepEqual((await docids(run)).filter((docid) => 'ABG'.includes(docid)), ['A', 'B', 'G']);
  assert.equal((await docids(run)).length, 3, 'what was refused is not there');
  run.child.kill('SIGKILL');
  await run.ended;
  const next = await start(run.dataDir);
  assert.deepEqual(await docids(next), ['A', 'B', 'G']);
  next.child.kill('SIGKILL');
}

test('disk full: writes are refused with storage_full, reads go on, and it heals when space comes back', { skip }, () => failAndHeal('write', { error: 'ENOSPC' }, 'storage_full'));

test('I/O error on write: refused with storage_failed until the disk takes writes again', { skip }, () => failAndHeal('write', { error: 'EIO' }, 'storage_failed'));

test('I/O error on sync: never followed by an acknowledgement', { skip }, () => failAndHeal('sync', { error: 'EIO' }, 'storage_failed'));

test('read-only remount: refused with storage_failed, reads go on', { skip }, () => failAndHeal('write', { error: 'EROFS' }, 'storage_failed'));

test('I/O error on the last write of a commit: the worker ends itself, and what was acknowledged is there', { skip }, async () => {
  const run = await start();
  for (const docid of ['A', 'B']) assert.equal((await put(run, docid)).status, 201);
  // The sync of the pages passes, the write of the meta page, which is synced too, does not.
  run.faults.set('sync', { name: 'data.mdb', error: 'EIO', skip: 1, times: 1 });
  const { status } = await put(run, 'C');
  assert.equal(status, 503);
  assert.equal(run.faults.fired('sync'), 1);
  await untilTaken(run, 'D');
  const found = await docids(run);
  for (const docid of ['A', 'B', 'D']) assert.ok(found.includes(docid), docid);
  run.child.kill('SIGKILL');
});

test('short reads at the start: files that are read in pieces are read whole', { skip }, async () => {
  const run = await start();
  assert.equal((await put(run, 'A')).status, 201);
  run.child.kill('SIGKILL');
  await run.ended;
  const faults = new Faults(join(tempDirectory(), 'faults'));
  faults.set('read', { name: 'sheaf.json', bytes: 3 });
  const again = spawnServe({ SHEAF_DATA_DIR: run.dataDir, ...faultEnvironment(shim as string, { root: run.dataDir, control: faults.path }) });
  const url = await untilReady(again);
  assert.ok(faults.fired('read') > 1);
  assert.deepEqual(await docids({ ...run, url }), ['A']);
  again.child.kill('SIGKILL');
});

test('a shard whose file cannot be read is tried again, and serves when it can', { skip }, async () => {
  const run = await start();
  assert.equal((await put(run, 'A')).status, 201);
  run.child.kill('SIGKILL');
  await run.ended;
  const faults = new Faults(join(tempDirectory(), 'faults'));
  faults.set('read', { name: 'shard-1/data.mdb', error: 'EIO' });
  const again = spawnServe({ SHEAF_SERVER__PORT: '0', SHEAF_DATA_DIR: run.dataDir, SHEAF_LOG__LEVEL: 'info', ...faultEnvironment(shim as string, { root: run.dataDir, control: faults.path }) });
  for (let tries = 0; faults.fired('read') < 2; tries++, await sleep(50)) assert.ok(tries < 400, again.output());
  assert.ok(!/ready at/.test(again.output()), 'it does not say that it is ready');
  faults.clear('read');
  const url = await untilReady(again);
  assert.deepEqual(await docids({ ...run, url }), ['A']);
  again.child.kill('SIGKILL');
});
