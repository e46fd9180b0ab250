// `sheaf restore --at`: a data directory as it was at a moment, from a copy of it and the journal, and what is refused.
import assert from 'node:assert/strict';
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Environment } from '../../../src/storage/lmdb.js';
import { SHARD_TABLES } from '../../../src/storage/shard-reader.js';
import { contentsOf } from '../../kit/archives.js';
import { type Ran, runInProcess } from '../../kit/cli.js';
import { type TestServer, startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const DOCS = '/v1/collections/acme/docs';
const folder = tempDirectory();
const data = join(folder, 'data');
const copy = join(folder, 'copy-of-monday');

const start = (dataDir: string, journalMb = 64): Promise<TestServer> =>
  startTestServer({ SHEAF_DATA_DIR: dataDir, SHEAF_STORAGE__JOURNAL_MB: String(journalMb) });

async function put(server: TestServer, collection: string, docid: string, text: string): Promise<void> {
  const path = `/v1/collections/acme/${collection}/documents`;
  const { status } = await server.call('POST', path, { docid, text, metadata: { group: docid.length } });
  assert.equal(status, 201);
}

/** Everything that clients see of the data, in a form to compare. */
async function seen(server: TestServer): Promise<unknown> {
  const { json } = await server.call('GET', '/v1/collections/acme');
  const names = json.collections.map(({ name }: { name: string }) => name).sort();
  const { aliases } = (await server.call('GET', '/v1/aliases/acme')).json;
  return [names, aliases, await Promise.all(names.map((name: string) => contentsOf(server, 'acme', name)))];
}

const restoreAt = (atMs: number, into: string, { base = copy, journal = data } = {}): Promise<Ran> =>
  runInProcess(['restore', base, '--at', new Date(atMs).toISOString(), '--journal', journal, '--into', into]);

/** A moment that is after everything that was answered, and before everything that is asked afterwards. */
async function moment(): Promise<number> {
  await sleep(20);
  const atMs = Date.now();
  await sleep(20);
  return atMs;
}

const states: { atMs: number; state: unknown }[] = [];

test('a server with a journal is changed, copied and changed again', async () => {
  const first = await start(data);
  for (let n = 0; n < 30; n++) await put(first, 'docs', `d${n}`, `Captain Nemo, number ${n}. `.repeat(80));
  await put(first, 'old', 'o1', 'a collection that goes');
  await first.stop();
  cpSync(data, copy, { recursive: true });

  const server = await start(data);
  const note = async (): Promise<void> => {
    const atMs = await moment();
    states.push({ atMs, state: await seen(server) });
  };
  await put(server, 'docs', 'd1', 'The second version of one.');
  await server.call('PATCH', `${DOCS}/documents/d2`, { metadata: { group: 77, tag: 'patched' } });
  await server.call('DELETE', `${DOCS}/documents/d3`);
  await put(server, 'new', 'n1', 'a new collection');
  assert.equal((await server.call('PUT', '/v1/aliases/acme/current', { collection: 'new' })).status < 300, true);
  await note();
  await server.call('DELETE', '/v1/collections/acme/old');
  await server.call('POST', `${DOCS}/move`, { new_name: 'papers' });
  await put(server, 'papers', 'd40', 'after the rename');
  await note();
  await server.call('POST', '/v1/collections/acme/papers/documents:delete', { filters: { group: 2 } });
  await server.call('DELETE', '/v1/collections/acme/papers');
  await note();
  await server.stop();
  assert.deepEqual(server.faults, []);
});

test('each moment is restored as it was, and a server goes on from there', async () => {
  for (const [n, { atMs, state }] of states.entries()) {
    const into = join(folder, `restored-${n}`);
    const { code, stdout, stderr } = await restoreAt(atMs, into);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /with \d+ changes of the journal, the last one of 20\d\d-/);
    const server = await start(into);
    assert.deepEqual(await seen(server), state);
    const { json } = await server.call('POST', '/v1/collections/acme/new/search', { q: 'a new collection', k: 3 });
    assert.equal(json.matches[0].id, 'n1::chunk_0');
    await put(server, 'new', 'n2', 'written after the restore');
    assert.deepEqual([await server.call('DELETE', '/v1/collections/acme/new/documents/n2'), server.faults][1], []);
    await server.stop();
  }
  assert.equal(existsSync(join(folder, 'restored-0.incomplete')), false);
});

test('what cannot be restored is refused with a reason, and nothing is left behind', async () => {
  const into = join(folder, 'refused');
  const last = states.at(-1)?.atMs ?? 0;
  const reasons: [() => Promise<Ran>, RegExp][] = [
    [() => restoreAt(0, into), /the copy has a change of .*, which is later: use an older copy/],
    [() => restoreAt(last, join(folder, 'restored-0')), /exists: name a directory that does not/],
    [() => restoreAt(last, into, { base: data, journal: copy }), /the copy has changes that the journal does not have/],
    [() => restoreAt(last, into, { base: join(folder, 'nothing') }), /is not a data directory/],
    [() => runInProcess(['restore', copy, '--at', 'monday', '--into', into]), /Give a time in ISO 8601/],
    [() => runInProcess(['restore', copy, '--at', '2026-11-26']), /give --journal and --into/],
    [() => runInProcess(['restore', copy, '--into', into]), /--journal and --into are for --at/],
  ];
  for (const [ran, reason] of reasons) {
    const { code, stderr } = await ran();
    assert.deepEqual([code, reason.test(stderr)], [2, true], stderr);
  }
  assert.equal(existsSync(into), false);
});

test('a journal that was switched off in between does not continue a copy', async () => {
  const other = join(folder, 'other');
  cpSync(data, other, { recursive: true });
  await (await start(other, 0)).stop();
  const off = await restoreAt(Date.now(), join(folder, 'off'), { journal: other });
  assert.match(off.stderr, /has no journal: set storage\.journal_mb/);
  await (await start(other)).stop();
  const again = await restoreAt(Date.now(), join(folder, 'again'), { journal: other });
  assert.match(again.stderr, /do not belong together, because the journal was switched off/);
});

test('damage of a journal is found by a check and by a restore, and a repair deletes the journal and keeps the data', async () => {
  const damaged = join(folder, 'damaged');
  cpSync(data, damaged, { recursive: true });
  assert.deepEqual((await runInProcess(['check', damaged])).code, 0);
  for (const shard of [0, 1, 2]) cutCommand(join(damaged, `shard-${shard}`));
  const checked = await runInProcess(['check', damaged]);
  assert.match(
    checked.stdout,
    /shard-0: the journal is damaged: command \d+ is missing|the hash of command \d+ is another/,
  );
  assert.equal(checked.code, 1);
  const restored = await restoreAt(Date.now(), join(folder, 'from-damaged'), { journal: damaged });
  assert.deepEqual([restored.code, existsSync(join(folder, 'from-damaged'))], [2, false]);
  assert.match(restored.stderr, /journal/);
  const repaired = await runInProcess(['repair', damaged]);
  assert.match(repaired.stdout, /shard-0: removed: the journal, which does not have what repair changes/);
  assert.equal((await runInProcess(['check', damaged])).code, 0);
  const server = await start(damaged);
  assert.deepEqual(await seen(server), states.at(-1)?.state);
  await server.stop();
});

/** Deletes the last record of a journal but one. */
function cutCommand(path: string): void {
  const env = Environment.open(path, SHARD_TABLES, false);
  env.write(({ journal }) => {
    const keys = [...journal.keys(Buffer.alloc(0))];
    // The head is the last key.
    journal.delete(keys.at(-3) as Buffer);
  });
  env.close();
}
