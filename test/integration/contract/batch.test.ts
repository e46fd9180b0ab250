// Batch ingest over a real socket: results by item and in order, one bad item harms no other, the same document twice.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { startTestServer } from '../../kit/server.js';

const server = await startTestServer({
  SHEAF_LIMITS__MAX_BATCH_ITEMS: '1500',
  SHEAF_LIMITS__MAX_METADATA_BYTES: '1024',
});
const { call } = server;
const base = '/v1/collections/acme';
const batchOf = (name: string, documents: unknown): ReturnType<typeof call> =>
  call('POST', `${base}/${name}/documents:batch`, { documents });

test('every item has its result, in order; one bad item harms no other', async () => {
  const bad: [unknown, string][] = [
    [{ docid: 'empty', text: ' \n' }, 'no_text_extracted'],
    [{ docid: 'neither' }, 'invalid_item'],
    [{ docid: 'both', text: 'a', vector: [1] }, 'invalid_item'],
    [{ text: 'a', metadata: { docid: 'another' } }, 'invalid_metadata_keys'],
    [{ docid: 'a\u0001', text: 'a' }, 'invalid_docid'],
    [{ text: 'a', metadata: { long: 'x'.repeat(2000) } }, 'metadata_too_large'],
    [{ vector: [1, 2, 3] }, 'dim_mismatch'],
    [{ text: 'a', metadata: [] }, 'invalid_item'],
    [{ text: 5 }, 'invalid_item'],
    [{ text: 'a', other: 1 }, 'invalid_item'],
    ['text', 'invalid_item'],
    [null, 'invalid_item'],
    [[], 'invalid_item'],
    [{ text: 'a', vector: null, docid: 7 }, 'invalid_item'],
  ];
  const documents = bad.flatMap(([item], i) => [
    item,
    { docid: `good ${i}`, text: `submarine ${i}`, metadata: null, vector: null },
  ]);
  const { status, json } = await batchOf('mixed', documents);
  assert.equal(status, 201);
  assert.deepEqual(
    [json.ok, json.tenant, json.collection, json.count, json.succeeded, json.failed],
    [true, 'acme', 'mixed', 28, 14, 14],
  );
  assert.deepEqual(
    json.documents.map(({ index }: { index: number }) => index),
    documents.map((_, i) => i),
  );
  bad.forEach(([, code], i) => {
    const [refused, stored] = [json.documents[2 * i], json.documents[2 * i + 1]];
    assert.deepEqual(
      [refused.ok, refused.code, typeof refused.error],
      [false, code, 'string'],
      JSON.stringify(refused),
    );
    assert.deepEqual(stored, { index: 2 * i + 1, ok: true, docid: `good ${i}`, chunks: 1, version: 1 });
  });
  assert.equal(json.documents[0].docid, 'empty');
  assert.equal((await call('GET', `${base}/mixed/detail`)).json.doc_count, 14);
  assert.equal((await call('GET', `${base}/mixed/search?q=submarine&k=50`)).json.matches.length, 14);
});

test('a batch in which every item fails is answered 201, and makes no collection', async () => {
  const { status, json } = await batchOf('nothing', [{ text: '' }, { docid: '' }]);
  assert.deepEqual([status, json.succeeded, json.failed], [201, 0, 2]);
  assert.equal((await call('GET', `${base}/nothing/detail`)).status, 404);
});

test('the same document several times in one batch: applied in order, each a version, the last one stays', async () => {
  const documents = Array.from({ length: 900 }, (_, i) => ({
    docid: `D${i % 3}`,
    text: `revision ${i} `.repeat(1 + (i % 40)),
  }));
  const { json } = await batchOf('twice', documents);
  assert.equal(json.succeeded, 900);
  for (const n of [0, 1, 2]) {
    const { json: document } = await call('GET', `${base}/twice/documents/D${n}`);
    assert.equal(document.version, 300);
    const { text } = await call('GET', `${base}/twice/chunks/D${n}::chunk_0/content`);
    assert.match(text, new RegExp(`^revision ${897 + n} `));
  }
  assert.equal((await call('GET', `${base}/twice/detail`)).json.doc_count, 3);
});

test('text and vector of one document in turn keep their order too', async () => {
  const dim = (await call('GET', `${base}/twice/search?q=x`)).status === 200 ? 512 : 0;
  const vector = Array.from({ length: dim }, (_, i) => (i === 0 ? 1 : 0));
  const documents = Array.from({ length: 40 }, (_, i) => ({
    docid: `D${i >> 1}`,
    ...(i % 2 === 0 ? { text: `text ${i}` } : { vector }),
  }));
  const { json } = await batchOf('turns', documents);
  assert.equal(json.succeeded, 40, JSON.stringify(json.documents[0]));
  for (let n = 0; n < 20; n++)
    assert.deepEqual((await call('GET', `${base}/turns/documents/D${n}`)).json.chunk_ids, [`D${n}::0`]);
});

test('vectors of one’s own: zero, too large for float32 and of another length are refused by item', async () => {
  await call('POST', `${base}/vectors`, { embedder_type: 'identity', embedder_config: { dim: 3 } });
  const { json } = await batchOf('vectors', [
    { docid: 'a', vector: [1, 2, 3] },
    { vector: [0, 0, 0] },
    { vector: [1e300, 1, 1] },
    { vector: [1] },
    { text: 'a' },
    { vector: [] },
  ]);
  assert.deepEqual(
    json.documents.map((item: { code?: string }) => item.code),
    [undefined, 'invalid_item', 'invalid_item', 'dim_mismatch', 'vectors_only', 'invalid_item'],
  );
  const { json: found } = await call('POST', `${base}/vectors/search`, { v: [1, 2, 3] });
  assert.deepEqual(
    found.matches.map(({ id }: { id: string }) => id),
    ['a::0'],
  );
});

test('an invalid batch is rejected as a whole, and none of it is stored', async () => {
  const refused = async (body: string): Promise<(string | number)[]> => {
    const { status, json } = await call('POST', `${base}/refused/documents:batch`, body);
    return [status, json.code];
  };
  const good = '{"docid":"a","text":"a"}';
  for (const body of [
    '',
    '{',
    '[',
    `{"documents":[${good},]}`,
    `{"documents":[${good},{"text":"a}]}`,
    `{"documents":[,${good}]}`,
    `{"documents":[${good}]`,
    `{"documents":[${good}]} x`,
    `{"documents":[{"text":"a\nb"}]}`,
  ]) {
    assert.deepEqual(await refused(body), [400, 'invalid_json'], body);
  }
  for (const body of [
    '{}',
    '[]',
    'null',
    '"a"',
    '{"documents":[]}',
    '{"documents":[ \n ]}',
    '{"documents":null}',
    '{"documents":{}}',
    `{"documents":[${good}],"more":1}`,
  ]) {
    assert.deepEqual(await refused(body), [422, 'validation_error'], body);
  }
  assert.deepEqual(await refused(JSON.stringify({ documents: Array.from({ length: 1501 }, () => ({ text: 'a' })) })), [
    413,
    'request_too_large',
  ]);
  const other = await call('POST', `${base}/refused/documents:batch`, 'a', { 'content-type': 'text/plain' });
  assert.deepEqual([other.status, other.json.code], [400, 'unsupported_media_type']);
  assert.equal((await call('GET', `${base}/refused/detail`)).status, 404);
});

test('white space, escapes and nesting in the body change nothing', async () => {
  const body = ` {\r\n "docum\\u0065nts" : [\n {"docid":"a", "text":"one ] } , \\" \\\\",\n"metadata":{"a":[1,{"b":"]"}]}} ,\t{"docid":"b","text":"two"} ] } \n`;
  const { status, json } = await call('POST', `${base}/shapes/documents:batch`, body);
  assert.deepEqual(
    [status, json.succeeded, json.documents.map(({ docid }: { docid: string }) => docid)],
    [201, 2, ['a', 'b']],
  );
  assert.deepEqual((await call('GET', `${base}/shapes/documents/a`)).json.metadata.a, [1, { b: ']' }]);
  assert.equal((await call('GET', `${base}/shapes/chunks/a::chunk_0/content`)).text, 'one ] } , " \\');
});

test('1,500 documents of all sizes arrive whole', async () => {
  const seed = 3;
  const prng = createPrng(seed);
  const documents = Array.from({ length: 1500 }, (_, i) => ({
    docid: `D${i}`,
    text: `number ${i} ${'word '.repeat(prng.int(prng.next() < 0.02 ? 4000 : 30))}`,
  }));
  const { json } = await batchOf('many', documents);
  assert.equal(json.succeeded, 1500);
  for (const { index, docid, chunks } of json.documents) {
    if (index % 97 !== 0) continue;
    const { json: stored } = await call('GET', `${base}/many/documents/D${index}`);
    assert.deepEqual([docid, stored.chunk_count], [`D${index}`, chunks], `seed ${seed}`);
  }
  assert.equal((await call('GET', `${base}/many/detail`)).json.doc_count, 1500);
});

test('metadata nested beyond reason is refused, not a fault', async () => {
  const nested = (levels: number): string => `{"text":"a","metadata":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}`;
  const { json } = await call('POST', `${base}/deep/documents:batch`, `{"documents":[${nested(400)},${nested(90)}]}`);
  assert.deepEqual(
    json.documents.map(({ code }: { code?: string }) => code),
    ['invalid_item', undefined],
  );
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
