// A bit flips in the files of a stopped server. Whatever it hits: the damage is found before it is served, only its
// collection is out of service, `sheaf check` names it, and `sheaf repair` mends it or names what is lost.
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import type { StoredCollection } from '../../../src/storage/catalog-commands.js';
import { CatalogStore } from '../../../src/storage/catalog.js';
import { CATALOG_TABLES } from '../../../src/storage/catalog-records.js';
import { numberKey } from '../../../src/storage/change-log.js';
import { checkDirectory, findingLine } from '../../../src/storage/check/check.js';
import { repairDirectory } from '../../../src/storage/check/repair.js';
import { Environment } from '../../../src/storage/lmdb.js';
import type { ScannedEntry } from '../../../src/storage/lmdb-file.js';
import { SHARD_TABLES } from '../../../src/storage/shard-reader.js';
import { entriesOf, environmentFile, flipValue } from '../../kit/flip.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const SETTINGS = { SHEAF_STORAGE__PARTITIONS: '1' };
const DOCUMENTS = 8;
const original = await makeDirectory();

/** Makes a data directory with two collections of one tenant; the one that is created first has the id 1. */
async function makeDirectory(): Promise<string> {
  const dataDir = join(tempDirectory(), 'data');
  const server = await startTestServer({ ...SETTINGS, SHEAF_DATA_DIR: dataDir });
  for (const name of ['victim', 'other']) {
    for (let i = 0; i < DOCUMENTS; i++) {
      const { status } = await server.call('POST', `/v1/collections/acme/${name}/documents`, {
        docid: `D${i}`,
        text: `${name} ${i} `.repeat(300),
        metadata: { n: i },
      });
      assert.equal(status, 201);
    }
    await server.call('GET', `/v1/collections/acme/${name}/search?q=${name}`);
  }
  await server.stop();
  return dataDir;
}

function copy(): string {
  const dataDir = join(tempDirectory(), 'data');
  cpSync(original, dataDir, { recursive: true });
  return dataDir;
}

async function lines(findings: AsyncIterable<Parameters<typeof findingLine>[0]>): Promise<string[]> {
  const all: string[] = [];
  for await (const finding of findings) all.push(findingLine(finding));
  return all;
}

/** Reads everything that a client can read of a collection; true where any of it was rejected as damaged. */
async function isRefused({ call }: TestServer, name: string): Promise<boolean> {
  const base = `/v1/collections/acme/${name}`;
  let refused = false;
  for (const path of [
    `${base}/search?q=${name}&k=200`,
    `${base}/documents`,
    ...Array.from({ length: DOCUMENTS }, (_, i) => `${base}/documents/D${i}`),
    ...Array.from({ length: DOCUMENTS }, (_, i) => `${base}/documents/D${i}/chunks`),
  ]) {
    const { status, json } = await call('GET', path);
    if (status === 503) assert.equal(json.code, 'collection_damaged', path);
    else assert.equal(status, 200, `${path}: ${JSON.stringify(json)}`);
    refused ||= status === 503;
  }
  return refused;
}

for (const table of ['documents', 'members', 'chunks', 'texts', 'vectors']) {
  test(`a flipped bit in a record of table ${table}: the collection is refused, the other serves, and repair mends what it can`, async () => {
    const dataDir = copy();
    const path = environmentFile(dataDir, 'shard-0');
    const victim = entriesOf(path).filter(
      (entry) => entry.table === table && entry.key.readUInt32BE() === 1,
    )[3] as ScannedEntry;
    flipValue(path, victim);
    const found = await lines(checkDirectory(dataDir));
    assert.ok(found.length > 0 && found.every((line) => line.includes('collection acme/victim')), found.join('\n'));
    const server = await startTestServer({ ...SETTINGS, SHEAF_DATA_DIR: dataDir });
    assert.equal(await isRefused(server, 'victim'), true);
    assert.equal(await isRefused(server, 'other'), false);
    assert.equal((await server.call('GET', '/health')).json.status, 'degraded');
    assert.equal((await server.call('GET', '/health/ready')).status, 200);
    assert.equal(
      (await server.call('POST', '/v1/collections/acme/victim/documents', { text: 'more' })).json.code,
      'collection_damaged',
    );
    assert.equal(
      (await server.call('POST', '/v1/collections/acme/other/documents', { docid: 'D0', text: 'other more' })).status,
      201,
    );
    assert.equal((await server.call('GET', '/v1/collections/acme/victim/detail')).json.damaged, true);
    await server.stop();
    const mended = await lines(repairDirectory(dataDir));
    assert.ok(mended.length > 0, 'repair tells what it did');
    assert.deepEqual(await lines(checkDirectory(dataDir)), []);
    const healed = await startTestServer({ ...SETTINGS, SHEAF_DATA_DIR: dataDir });
    const { json } = await healed.call('GET', '/v1/collections/acme/victim/documents');
    assert.equal(json.count, table === 'members' ? DOCUMENTS : DOCUMENTS - 1);
    assert.equal((await healed.call('GET', '/v1/collections/acme/victim/search?q=victim&k=200')).status, 200);
    await healed.stop();
  });
}

test('a flipped bit in a collection that is kept to go back to: check names it, and repair mends it', async () => {
  const dataDir = copy();
  const catalog = CatalogStore.open(join(dataDir, 'catalog'), false);
  const { id: victim, ...settings } = catalog.all().find(({ name }) => name === 'victim') as StoredCollection;
  const nowIso = new Date().toISOString();
  const wanted = { purpose: 'reindex', replaces: victim, created_at: nowIso, collection: settings } as const;
  const { id } = catalog.shadow.stage(wanted);
  catalog.shadow.switchTo({ id, expect: victim, nowIso, keptUntilMs: Date.now() + 600_000 });
  catalog.close();
  assert.deepEqual(await lines(checkDirectory(dataDir)), []);
  const path = environmentFile(dataDir, 'shard-0');
  flipValue(path, entriesOf(path).find(({ table, key }) => table === 'texts' && key.readUInt32BE() === victim)!);
  const found = await lines(checkDirectory(dataDir));
  assert.match(found.join('\n'), /collection acme\/victim as it was before, document "D\d"/);
  assert.ok((await lines(repairDirectory(dataDir))).length > 0);
  assert.deepEqual(await lines(checkDirectory(dataDir)), []);
});

test('a flipped bit in the catalog record of a collection: it is refused and not made anew, the other serves, and nothing is purged', async () => {
  const dataDir = copy();
  const path = environmentFile(dataDir, 'catalog');
  flipValue(path, entriesOf(path).find(({ key }) => key.toString() === 'acme\0victim') as ScannedEntry);
  const server = await startTestServer({ ...SETTINGS, SHEAF_DATA_DIR: dataDir });
  assert.equal(
    (await server.call('GET', '/v1/collections/acme/victim/search?q=victim')).json.code,
    'collection_damaged',
  );
  assert.equal(
    (await server.call('POST', '/v1/collections/acme/victim/documents', { text: 'more' })).json.code,
    'collection_damaged',
  );
  assert.equal(await isRefused(server, 'other'), false);
  await server.stop();
  assert.equal(
    entriesOf(environmentFile(dataDir, 'shard-0')).filter(
      ({ table, key }) => table === 'documents' && key.readUInt32BE() === 1,
    ).length,
    DOCUMENTS,
  );
  assert.deepEqual(await lines(checkDirectory(dataDir)), [
    'catalog: a record of table collections is damaged, key acme/victim',
  ]);
});

test('a flipped bit in the counts: they are made again at the start', async () => {
  const dataDir = copy();
  const path = environmentFile(dataDir, 'shard-0');
  flipValue(path, entriesOf(path).find(({ table, key }) => table === 'counts' && key.length === 4) as ScannedEntry);
  assert.ok((await lines(checkDirectory(dataDir))).some((line) => line.includes('counts')));
  const server = await startTestServer({ ...SETTINGS, SHEAF_DATA_DIR: dataDir });
  assert.equal(await isRefused(server, 'victim'), false);
  assert.equal((await server.call('GET', '/v1/collections/acme/victim/detail')).json.doc_count, DOCUMENTS);
});

test('a flipped bit in the log of changes: nothing is concerned, check names it, and repair ends the log', async () => {
  const dataDir = copy();
  const path = environmentFile(dataDir, 'shard-0');
  const env = Environment.open(join(dataDir, 'shard-0'), SHARD_TABLES, false);
  env.write(({ changes }) => changes.put(numberKey(7), Buffer.from('seven changes')));
  env.close();
  flipValue(path, entriesOf(path).find(({ table }) => table === 'changes') as ScannedEntry);
  assert.match(
    (await lines(checkDirectory(dataDir))).join('\n'),
    /^shard-0: a record of table changes is damaged, key 0+7$/,
  );
  const server = await startTestServer({ ...SETTINGS, SHEAF_DATA_DIR: dataDir });
  assert.deepEqual([await isRefused(server, 'victim'), await isRefused(server, 'other')], [false, false]);
  await server.stop();
  await lines(repairDirectory(dataDir));
  assert.deepEqual(await lines(checkDirectory(dataDir)), []);
});

for (const table of ['staged', 'jobs'] as const) {
  test(`a flipped bit in a record of table ${table}: it is given up, everything serves, check names it and repair takes it out`, async () => {
    const dataDir = copy();
    const path = environmentFile(dataDir, 'catalog');
    const env = Environment.open(join(dataDir, 'catalog'), CATALOG_TABLES, false);
    env.write((tables) => tables[table].put(numberKey(9), Buffer.from(`a record of table ${table}`)));
    env.close();
    flipValue(path, entriesOf(path).find((entry) => entry.table === table) as ScannedEntry);
    assert.match(
      (await lines(checkDirectory(dataDir))).join('\n'),
      new RegExp(`^catalog: a record of table ${table} is damaged`),
    );
    const server = await startTestServer({ ...SETTINGS, SHEAF_DATA_DIR: dataDir });
    assert.deepEqual([await isRefused(server, 'victim'), await isRefused(server, 'other')], [false, false]);
    assert.equal((await server.call('POST', '/v1/collections/acme/other/move', { new_name: 'moved' })).status, 200);
    await server.stop();
    await lines(repairDirectory(dataDir));
    assert.deepEqual(await lines(checkDirectory(dataDir)), []);
  });
}

test('a flipped bit in the query log: searches go on, and repair takes the entry out', async () => {
  const dataDir = copy();
  const path = environmentFile(dataDir, 'query-log');
  flipValue(path, entriesOf(path).find(({ table }) => table === 'queries') as ScannedEntry);
  const server = await startTestServer({ ...SETTINGS, SHEAF_DATA_DIR: dataDir });
  assert.equal(await isRefused(server, 'victim'), false);
  await server.stop();
  assert.equal((await lines(checkDirectory(dataDir))).length, 1);
  assert.ok((await lines(repairDirectory(dataDir))).length > 0);
  assert.deepEqual(await lines(checkDirectory(dataDir)), []);
});

test('a flipped bit in sheaf.json: the server says so and does not start', async () => {
  const dataDir = copy();
  const path = join(dataDir, 'sheaf.json');
  const bytes = readFileSync(path);
  const at = bytes.indexOf('"shards":') + 9;
  bytes.writeUInt8(bytes.readUInt8(at) ^ 2, at);
  writeFileSync(path, bytes);
  await assert.rejects(startTestServer({ SHEAF_DATA_DIR: dataDir }), /damaged/);
});

test('random bits flipped anywhere: check finds each, unless it stands where nothing is stored', async () => {
  const seed = 5;
  const prng = createPrng(seed);
  for (let round = 0; round < 60; round++) {
    const dataDir = copy();
    const environment = ['shard-0', 'shard-0', 'catalog', 'query-log'][round % 4] as string;
    const path = environmentFile(dataDir, environment);
    const bytes = readFileSync(path);
    const bit = prng.int(bytes.length * 8);
    bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    writeFileSync(path, bytes);
    const before = entriesOf(environmentFile(original, environment));
    const after = entriesOf(path);
    const isHarmless =
      before.length === after.length &&
      before.every(
        ({ table, key, sealed }, i) =>
          after[i]?.table === table && key.equals(after[i].key) && sealed.equals(after[i].sealed),
      );
    const found = await lines(checkDirectory(dataDir));
    assert.ok(isHarmless || found.length > 0, `bit ${bit} of ${environment}, seed ${seed}`);
    if (isHarmless || found.length === 0) continue;
    await lines(repairDirectory(dataDir)).catch((error: Error) => assert.match(error.message, /nothing can be read/));
  }
});
