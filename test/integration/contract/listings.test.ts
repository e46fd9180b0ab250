// Listings over a real socket: complete without `limit`, in pages with it, the same whatever the number of shards.
// While documents are written, nothing is listed twice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { encodeCursor } from '../../../src/http/listing.js';
import { startTestServer } from '../../kit/server.js';

const server = await startTestServer();
const { call } = server;
const base = '/v1/collections/acme';

type Record_ = { docid: string; rid: string; name: string };

/** All records of a listing, in pages of `limit`; each page is checked. */
async function paged(
  path: string,
  field: string,
  limit: number,
  between = async (): Promise<void> => {},
): Promise<Record_[]> {
  const found: Record_[] = [];
  let cursor = '';
  for (;;) {
    const { status, json } = await call(
      'GET',
      `${path}?limit=${limit}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    assert.equal(status, 200);
    assert.equal(json.count, json[field].length);
    assert.ok(json.count <= limit);
    found.push(...json[field]);
    if (json.next_cursor === undefined) return found;
    assert.equal(json.count, limit);
    cursor = json.next_cursor;
    await between();
  }
}

const docids = Array.from({ length: 700 }, (_, i) => `${['D', 'é', '\u{1f600}', '\uffee', 'a/b '][i % 5]}${i}`);
const inOrder = [...docids].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
await call('POST', `${base}/docs/documents:batch`, { documents: docids.map((docid) => ({ docid, text: 'x' })) });

test('documents: all without a limit, by the bytes of their ids; the same in pages of any size', async () => {
  const { json } = await call('GET', `${base}/docs/documents`);
  assert.deepEqual(Object.keys(json), ['ok', 'tenant', 'collection', 'documents', 'count', 'latency_ms', 'request_id']);
  assert.deepEqual([json.tenant, json.collection, json.count], ['acme', 'docs', 700]);
  assert.deepEqual(
    json.documents.map(({ docid }: Record_) => docid),
    inOrder,
  );
  const { ingested_at, ...first } = json.documents[0];
  assert.deepEqual(first, { docid: inOrder[0], version: 1, chunk_count: 1 });
  assert.ok(!Number.isNaN(Date.parse(ingested_at)));
  for (const limit of [1000, 700, 350, 199, 64])
    assert.deepEqual(await paged(`${base}/docs/documents`, 'documents', limit), json.documents, `limit ${limit}`);
});

test('ids of more than 500 bytes have their place too, and none is lost at the edge of a page', async () => {
  const long = Array.from(
    { length: 40 },
    (_, i) => `${'y'.repeat(i % 2 === 0 ? 440 : 495)}${String(i).padStart(16, '0')}`,
  );
  const { json } = await call('POST', `${base}/long/documents:batch`, {
    documents: [...long, 'x', 'z'].map((docid) => ({ docid, text: 'x' })),
  });
  assert.equal(json.succeeded, 42);
  const { json: listed } = await call('GET', `${base}/long/documents`);
  assert.deepEqual([listed.count, listed.documents[0].docid, listed.documents[41].docid], [42, 'x', 'z']);
  for (const limit of [1, 7])
    assert.deepEqual(await paged(`${base}/long/documents`, 'documents', limit), listed.documents);
});

test('the chunks of a document stand by position, in pages or not', async () => {
  await call('POST', `${base}/chunks`, { chunking: { strategy: 'fixed', size: 16, overlap: 0 } });
  await call('POST', `${base}/chunks/documents`, {
    docid: 'large',
    text: 'sixteen letters '.repeat(2500),
    metadata: { shelf: 'A' },
  });
  const path = `${base}/chunks/documents/large/chunks`;
  const { json } = await call('GET', path);
  assert.deepEqual(Object.keys(json), [
    'ok',
    'tenant',
    'collection',
    'docid',
    'chunks',
    'count',
    'latency_ms',
    'request_id',
  ]);
  assert.deepEqual(
    json.chunks.map(({ rid }: Record_) => rid),
    Array.from({ length: 2500 }, (_, i) => `large::chunk_${i}`),
  );
  assert.deepEqual(
    [json.chunks[1].chunk_path, json.chunks[1].meta.shelf, json.chunks[1].meta.docid, json.chunks[1].meta.offset],
    ['chunk_1', 'A', 'large', 16],
  );
  for (const limit of [2500, 1024, 333]) assert.deepEqual(await paged(path, 'chunks', limit), json.chunks);
});

test('collections by name, in pages too, while some come and go', async () => {
  const names = Array.from({ length: 30 }, (_, i) => `c${String(i * 2).padStart(2, '0')}`);
  for (const name of names) await call('POST', `/v1/collections/many/${name}`);
  const { json } = await call('GET', '/v1/collections/many');
  assert.deepEqual(Object.keys(json), ['ok', 'tenant', 'collections', 'count', 'latency_ms', 'request_id']);
  assert.deepEqual(
    json.collections.map(({ name }: Record_) => name),
    names,
  );
  assert.deepEqual(Object.keys(json.collections[0]), [
    'name',
    'display_name',
    'embedder_label',
    'vector_space_key',
    'language',
  ]);
  assert.deepEqual(await paged('/v1/collections/many', 'collections', 7), json.collections);
  let made = 1;
  const seen = await paged('/v1/collections/many', 'collections', 4, async () => {
    await call('POST', `/v1/collections/many/c${String(made).padStart(2, '0')}`);
    await call('DELETE', `/v1/collections/many/${names[29 - (made >> 1)]}`);
    made += 2;
  });
  const found = seen.map(({ name }) => name);
  assert.deepEqual(found, [...new Set(found)].sort());
  await call('POST', '/v1/collections/many/c00/move', { new_name: 'z' });
  const { json: after } = await call('GET', '/v1/collections/many');
  assert.equal(after.collections.at(-1).name, 'z');
  assert.equal(new Set(after.collections.map(({ name }: Record_) => name)).size, after.count);
});

test('listings of a missing collection or document are empty', async () => {
  for (const path of [
    `${base}/none/documents`,
    `${base}/none/documents/D/chunks`,
    `${base}/docs/documents/none/chunks`,
    '/v1/collections/nobody',
  ]) {
    for (const query of ['', '?limit=5']) {
      const { status, json } = await call('GET', path + query);
      assert.deepEqual([status, json.count, json.next_cursor], [200, 0, undefined], path);
    }
  }
});

test('a limit or a cursor that is none: 422, naming the field', async () => {
  const cursors = ['', 'x', encodeCursor('chunks', '5'), encodeCursor('documents', 'D').slice(1), 'A'.repeat(3000)];
  for (const [query, field] of [
    ...['0', '-1', '1.5', 'x', '', '10001', '1e3'].map((limit) => [`limit=${limit}`, 'limit']),
    ...cursors.map((cursor) => [`cursor=${cursor}`, 'cursor']),
  ]) {
    const { status, json } = await call('GET', `${base}/docs/documents?${query}`);
    assert.deepEqual([status, json.code, json.detail?.[0]?.loc], [422, 'validation_error', ['query', field]], query);
  }
  assert.equal(
    (await call('GET', `${base}/docs/documents/D0/chunks?cursor=${encodeCursor('chunks', '-1')}`)).status,
    422,
  );
});

test('under writes, replacements and deletions nothing shows twice, and what stays is seen', async () => {
  const seed = 12;
  const prng = createPrng(seed);
  const stable = Array.from({ length: 300 }, (_, i) => `S${String(i * 2).padStart(4, '0')}`);
  const docs = (ids: string[]): unknown => ({ documents: ids.map((docid) => ({ docid, text: 'x' })) });
  await call('POST', `${base}/busy/documents:batch`, docs(stable));
  let running = true;
  const churn = async (): Promise<void> => {
    while (running) {
      const docid = `S${String(prng.int(600) | 1).padStart(4, '0')}`;
      if (prng.int(3) === 0) await call('DELETE', `${base}/busy/documents/${docid}`);
      else await call('POST', `${base}/busy/documents:batch`, docs([docid, stable[prng.int(300)] as string]));
    }
  };
  const work = [churn(), churn()];
  for (let round = 0; round < 6; round++) {
    const listed = await paged(`${base}/busy/documents`, 'documents', [37, 150, 1000][round % 3] as number);
    const ids = listed.map(({ docid }) => docid);
    assert.deepEqual(ids, [...new Set(ids)].sort(), `seed ${seed}`);
    const present = new Set(ids);
    assert.deepEqual(
      stable.filter((docid) => !present.has(docid)),
      [],
      `seed ${seed}`,
    );
  }
  running = false;
  await Promise.all(work);
});

test('a collection that is deleted while it is listed ends the listing', async () => {
  await call('POST', `${base}/doomed/documents:batch`, {
    documents: docids.slice(0, 200).map((docid) => ({ docid, text: 'x' })),
  });
  const found = await paged(
    `${base}/doomed/documents`,
    'documents',
    50,
    async () => void (await call('DELETE', `${base}/doomed`)),
  );
  assert.equal(found.length, 50);
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
