// Archives of a dataset that is really damaged: a bit is flipped in the files of a stopped server. The header and the
// manifest name what is left out, and the command line fails; the rest is complete and can be restored.
import assert from 'node:assert/strict';
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { giveUpShadow } from '../../../src/service/collections/catalog-changes.js';
import type { ScannedEntry } from '../../../src/storage/lmdb-file.js';
import { download, manifestOf, upload } from '../../kit/archives.js';
import { runInProcess, type Ran } from '../../kit/cli.js';
import { entriesOf, environmentFile, flipValue } from '../../kit/flip.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const SETTINGS = { SHEAF_STORAGE__PARTITIONS: '1' };
const DOCUMENTS = 6;
const HEADER = 'x-service-skipped-collections';

const original = join(tempDirectory(), 'data');
const first = await startTestServer({ ...SETTINGS, SHEAF_DATA_DIR: original });
// The collection that is created first has the id 1.
for (const name of ['victim', 'other']) {
  for (let n = 0; n < DOCUMENTS; n++)
    await first.call('POST', `/v1/collections/acme/${name}/documents`, {
      docid: `D${n}`,
      text: `Of ${name} number ${n}.`,
    });
  for (const q of ['one', 'two']) await first.call('GET', `/v1/collections/acme/${name}/search?q=${q}`);
}
const whole = (await download(first, '/v1/collections/acme/victim/archive')).bytes;
await first.stop();

/** Starts a server on a copy in which one value is damaged. */
async function startDamaged(environment: string, find: (entry: ScannedEntry) => boolean): Promise<TestServer> {
  const dataDir = join(tempDirectory(), 'data');
  cpSync(original, dataDir, { recursive: true });
  const path = environmentFile(dataDir, environment);
  flipValue(path, entriesOf(path).find(find) as ScannedEntry);
  return startTestServer({ ...SETTINGS, SHEAF_DATA_DIR: dataDir });
}

const sheafArchive = (url: string, file: string): Promise<Ran> => runInProcess(['archive', file, '--url', url]);

/** Asserts that the bytes are a complete archive of the other collection. */
async function assertOtherIsThere(bytes: Uint8Array): Promise<void> {
  const fresh = await startTestServer(SETTINGS);
  const restored = await upload(fresh, 'PUT', '/v1/admin/archive', bytes);
  assert.deepEqual(
    [restored.status, restored.json.left_out, restored.json.counts.documents],
    [200, ['acme/victim'], DOCUMENTS],
    restored.text,
  );
  assert.equal((await fresh.call('GET', '/v1/collections/acme/other/detail')).json.doc_count, DOCUMENTS);
  await fresh.stop();
}

const isOfVictim = ({ table, key }: ScannedEntry): boolean => table === 'vectors' && key.readUInt32BE() === 1;

const PLACES: readonly [string, string, (entry: ScannedEntry) => boolean, RegExp][] = [
  ['a vector', 'shard-0', isOfVictim, /vectors/],
  ['a text', 'shard-0', ({ table, key }) => table === 'texts' && key.readUInt32BE() === 1, /texts/],
  ['the record of a collection in the catalog', 'catalog', ({ key }) => key.toString() === 'acme\0victim', /catalog/],
];

for (const [what, environment, find, reason] of PLACES) {
  test(`a flipped bit in ${what}: the archive of everything names the collection in header and manifest, and the command line fails`, async () => {
    const server = await startDamaged(environment, find);
    const { status, headers, bytes } = await download(server, '/v1/admin/archive');
    assert.deepEqual([status, headers.get(HEADER)], [200, 'acme/victim']);
    const manifest = await manifestOf(bytes);
    assert.deepEqual(
      manifest.collections.map(({ name }: { name: string }) => name),
      ['other'],
    );
    assert.deepEqual(
      manifest.left_out.map(({ tenant, name }: Record<string, string>) => [tenant, name]),
      [['acme', 'victim']],
    );
    assert.match(manifest.left_out[0].reason, reason);
    const file = join(tempDirectory(), 'all.zip');
    const { code, stderr } = await sheafArchive(server.url, file);
    assert.deepEqual([code, existsSync(file)], [1, true], stderr);
    assert.match(stderr, /^Left out because its records are damaged: acme\/victim$/m);
    const own = await server.call('GET', '/v1/collections/acme/victim/archive');
    assert.ok(
      [500, 503].includes(own.status) && ['archive_failed', 'collection_damaged'].includes(own.json.code),
      own.text,
    );
    assert.equal((await download(server, '/v1/collections/acme/other/archive')).status, 200);
    await server.stop();
    await assertOtherIsThere(bytes);
  });
}

test('a flipped bit in the query log: the collection is in the archive with all its documents, and the manifest counts the search that is not', async () => {
  const server = await startDamaged('query-log', ({ table, key }) => table === 'queries' && key.readUInt32BE() === 1);
  const { status, headers, bytes } = await download(server, '/v1/collections/acme/victim/archive');
  assert.deepEqual([status, headers.get(HEADER)], [200, null]);
  const manifest = await manifestOf(bytes);
  assert.deepEqual(
    [manifest.counts, manifest.queries_left_out],
    [{ documents: DOCUMENTS, chunks: DOCUMENTS, queries: 1 }, 1],
  );
  const all = await download(server, '/v1/admin/archive');
  assert.deepEqual(
    [all.status, all.headers.get(HEADER), (await manifestOf(all.bytes)).collections.length],
    [200, null, 2],
  );
  assert.equal((await upload(server, 'POST', '/v1/collections/acme/copy/archive', bytes)).status, 200);
  assert.equal((await server.call('GET', '/v1/collections/acme/copy/queries')).json.count, 1);
});

test('a damaged collection is mended by a restore in its place, and the server is well again', async () => {
  const server = await startDamaged('shard-0', isOfVictim);
  const status = async (): Promise<string> => (await server.call('GET', '/health')).json.status as string;
  assert.equal(
    (await server.call('GET', '/v1/collections/acme/victim/search?q=number')).json.code,
    'collection_damaged',
  );
  assert.equal(await status(), 'degraded');
  const restored = await upload(server, 'PUT', '/v1/collections/acme/victim/archive', whole);
  assert.equal(restored.status, 200, restored.text);
  assert.equal(
    (await server.call('GET', '/v1/collections/acme/victim/search?q=number&k=10')).json.matches.length,
    DOCUMENTS,
  );
  // Drops the old collections now; by itself the server waits until the searches that began on them have had time to
  // end.
  for (const { id } of [...server.parts.shadows.all()]) await giveUpShadow(server.services.collections.store, id);
  assert.equal(await status(), 'ready');
});
