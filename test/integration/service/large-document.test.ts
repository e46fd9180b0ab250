// Documents of thousands of chunks that are deleted and replaced: once the answer is sent no reader sees the old
// chunks, while these leave the store block by block with other writes in between. In the end the collection equals one
// that never had them, also after the death of the owner and a restart half-way.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CollectionId } from '../../../src/api/ids.js';
import { checkDirectory } from '../../../src/storage/check/check.js';
import { ShardReader } from '../../../src/storage/shard-reader.js';
import { ready, startTestServer, type TestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const CHUNKS = 8000;
const AT = '/v1/collections/acme/large';
const OTHER = '/v1/collections/other/small';
const SETTINGS = { chunking: { strategy: 'fixed', size: 16, overlap: 0 } };
const dataDir = tempDirectory();
const ENV = { SHEAF_STORAGE__PARTITIONS: '1', SHEAF_DATA_DIR: dataDir };

/** Sixteen characters for each chunk; every tenth has the word that all documents have. */
const textOf = (word: string, chunks: number): string =>
  Array.from({ length: chunks }, (_, i) => `${i % 10 === 0 ? 'common' : word} ${String(i).padStart(8, '0')}`)
    .map((chunk) => chunk.padEnd(16).slice(0, 16))
    .join('');
const SMALL = Array.from({ length: 30 }, (_, i) => ({
  docid: `S${i}`,
  text: textOf('little', 12),
  metadata: { kind: i % 2 === 0 ? 'even' : 'odd' },
}));

let server = await startTestServer(ENV);
const call: TestServer['call'] = (...request) => server.call(...request);

async function putLarge(docid: string, word: string, chunks = CHUNKS): Promise<void> {
  const { status, json } = await call('POST', `${AT}/documents`, {
    docid,
    text: textOf(word, chunks),
    metadata: { kind: 'large' },
  });
  assert.deepEqual([status, json.chunks], [201, chunks]);
}

const SEARCHES = [
  { q: 'common', mode: 'vector' },
  { q: 'common little', mode: 'boost' },
  { q: 'common', mode: 'hybrid' },
  { q: 'huge 00000007', mode: 'hybrid' },
  { q: 'common', mode: 'hybrid', fusion: { method: 'score' } },
  { q: 'common', mode: 'hybrid', filters: { kind: ['large', 'odd'] } },
  { q: 'common', filters: { kind: { $ne: 'even' } } },
  { q: 'common', content_filter: { op: 'contains', value: 'ommo' } },
  { q: 'common', mode: 'hybrid', content_filter: { op: 'phrase', value: 'common' } },
];

const answersOf = (path: string): Promise<{ id: string; score: number }[][]> =>
  Promise.all(
    SEARCHES.map(async (search) => {
      const { status, json } = await call('POST', `${path}/search`, { ...search, k: 100 });
      assert.equal(status, 200, JSON.stringify(json));
      return json.matches.map(({ id, score }: { id: string; score: number }) => ({ id, score }));
    }),
  );

const idsOf = (answers: { id: string }[][]): string[][] => answers.map((hits) => hits.map(({ id }) => id));

let reader: { from: TestServer; shard: ShardReader } | undefined;

/** The number of chunks that the store still has to remove. */
function leavingChunks(): number {
  if (reader?.from !== server) reader = { from: server, shard: new ShardReader(join(server.dataDir, 'shard-0')) };
  const { txn, end } = reader.shard.snapshot(1);
  try {
    const collection = server.parts.catalog.find('acme' as never, 'large' as never);
    return collection ? txn.leaving(collection.id as CollectionId).size : 0;
  } finally {
    end();
  }
}

const untilGone = (): Promise<void> => until(async () => leavingChunks() === 0, 'chunks are still leaving');

/** The answers of a collection that has only the small documents. */
async function naive(): Promise<{ id: string; score: number }[][]> {
  await call('POST', '/v1/collections/acme/twin', SETTINGS);
  await call('POST', '/v1/collections/acme/twin/documents:batch', { documents: SMALL });
  return answersOf('/v1/collections/acme/twin');
}

async function assertGone(docid: string): Promise<void> {
  for (const [path, wanted] of [
    [`documents/${docid}`, 404],
    [`chunks/${docid}%3A%3Achunk_7`, 404],
    [`chunks/${docid}%3A%3Achunk_7/content`, 404],
  ] as const)
    assert.equal((await call('GET', `${AT}/${path}`)).status, wanted, path);
  assert.equal((await call('GET', `${AT}/documents/${docid}/chunks`)).json.count, 0);
  const { json } = await call('GET', `${AT}/detail`);
  assert.deepEqual([json.doc_count, json.chunk_count], [SMALL.length, SMALL.length * 12]);
}

await call('POST', AT, SETTINGS);
await call('POST', `${AT}/documents:batch`, { documents: SMALL });
await call('POST', `${OTHER}/documents`, { docid: 'A', text: 'beside' });
const wanted = await naive();

test('a large document is gone at once, for all that reads, while its chunks leave and others write', async () => {
  await putLarge('HUGE', 'huge');
  const [first] = await answersOf(AT);
  assert.ok(
    first?.some(({ id }) => id.startsWith('HUGE::')),
    'words and metadata are indexed with it',
  );
  const { json } = await call('DELETE', `${AT}/documents/HUGE`);
  assert.equal(json.chunks_deleted, CHUNKS);
  assert.equal((await call('POST', `${OTHER}/documents`, { docid: 'A', text: 'beside it' })).status, 201);
  assert.ok(leavingChunks() > 0, 'the other write did not wait for all of it');
  const ids = idsOf(await answersOf(AT));
  assert.deepEqual(
    ids.flat().filter((id) => id.startsWith('HUGE::')),
    [],
  );
  assert.deepEqual(
    ids.map((found) => found.length),
    wanted.map((hits) => hits.length),
    'none takes the place of others',
  );
  await assertGone('HUGE');
  assert.equal((await call('DELETE', `${AT}/documents/HUGE`)).json.chunks_deleted, 0);
  await untilGone();
  assert.deepEqual(await answersOf(AT), wanted);
  await assertGone('HUGE');
});

test('it is put again while it leaves: small, and large, and each time whole', async () => {
  await putLarge('HUGE', 'huge');
  await putLarge('HUGE', 'other');
  assert.ok(leavingChunks() > 0);
  await call('POST', `${AT}/documents`, { docid: 'HUGE', text: textOf('tiny', 3), metadata: { kind: 'odd' } });
  const { json: found } = await call('POST', `${AT}/search`, { q: 'huge other tiny', mode: 'hybrid', k: 1000 });
  assert.deepEqual(
    found.matches
      .filter(({ id }: { id: string }) => id.startsWith('HUGE::'))
      .map(({ text }: any) => text.slice(0, 6))
      .sort(),
    ['common', 'tiny 0', 'tiny 0'],
  );
  const { json: document } = await call('GET', `${AT}/documents/HUGE`);
  assert.deepEqual([document.version, document.chunk_count, document.metadata.kind], [3, 3, 'odd']);
  await untilGone();
  assert.equal((await call('DELETE', `${AT}/documents/HUGE`)).json.chunks_deleted, 3);
  assert.deepEqual(await answersOf(AT), wanted);
});

test('searches all the while see all of it or nothing', async () => {
  await putLarge('HUGE', 'huge', 4000);
  const search = { q: 'huge', k: 1000, content_filter: { op: 'prefix', value: 'huge 0000000' } };
  const counts: number[] = [];
  const stop = new AbortController();
  const searching = (async () => {
    while (!stop.signal.aborted)
      counts.push(
        (await call('POST', `${AT}/search`, search)).json.matches.filter(({ id }: { id: string }) =>
          id.startsWith('HUGE::'),
        ).length,
      );
  })();
  await until(async () => counts.length > 3, 'no searches');
  await call('DELETE', `${AT}/documents/HUGE`);
  const before = counts.length;
  await untilGone();
  await until(async () => counts.length > before + 3, 'no searches');
  stop.abort();
  await searching;
  assert.deepEqual(
    [...new Set(counts)].sort((a, b) => a - b),
    [0, 9],
    'chunks 1 to 9',
  );
});

test('an owner that dies on the way has a successor that goes on, and a restart does', async () => {
  await putLarge('HUGE', 'huge');
  await call('DELETE', `${AT}/documents/HUGE`);
  assert.ok(leavingChunks() > 0);
  await server.parts.shards.kill(0);
  await ready(server);
  assert.deepEqual(await answersOf(AT), wanted);
  await assertGone('HUGE');

  await putLarge('HUGE', 'huge');
  await answersOf(AT);
  await call('DELETE', `${AT}/documents/HUGE`);
  await server.stop();
  for await (const finding of checkDirectory(server.dataDir)) assert.fail(`what leaves is no damage: ${finding.what}`);
  server = await startTestServer(ENV);
  assert.deepEqual(await answersOf(AT), wanted);
  await assertGone('HUGE');
  assert.deepEqual(server.faults, []);
});

test('its collection may be dropped on the way', async () => {
  server = await startTestServer(ENV);
  await putLarge('HUGE', 'huge');
  await call('DELETE', `${AT}/documents/HUGE`);
  assert.equal((await call('DELETE', AT)).status, 200);
  await call('POST', AT, SETTINGS);
  await call('POST', `${AT}/documents:batch`, { documents: SMALL });
  assert.deepEqual(await answersOf(AT), wanted);
  await server.stop();
  server = await startTestServer(ENV);
  assert.deepEqual(await answersOf(AT), wanted);
  assert.deepEqual(server.faults, []);
});
