// Writes with an `Idempotency-Key`: a repetition is answered what the first request was answered and writes nothing, over
// any connection and after a restart; another request with the key is refused, and so is one beside the first.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, type TestServer, fileForm, refused, startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const BASE = '/v1/collections/acme/docs';
const DOCUMENTS = `${BASE}/documents`;
const ONE = `${DOCUMENTS}/one`;

type Send = (method: string, path: string, body: unknown, key: string) => Promise<Answer>;

const keyedBy =
  ({ call }: Pick<TestServer, 'call'>): Send =>
  (method, path, body, key) =>
    call(method, path, body, { 'idempotency-key': key });

/** The answer without what tells one reply from another. */
function told({ status, json }: Answer): unknown {
  const { latency_ms: _, request_id: _id, ...rest } = json;
  return { status, ...rest };
}

async function documentsOf({ call }: Pick<TestServer, 'call'>): Promise<{ docid: string; version: number }[]> {
  const { json } = await call('GET', DOCUMENTS);
  return (json.documents as { docid: string; version: number }[]).map(({ docid, version }) => ({ docid, version }));
}

for (const threads of ['0', '2'])
  test(`a repetition gets the first answer and writes nothing; front threads: ${threads}`, async () => {
    const server = await startTestServer({ SHEAF_SERVER__THREADS: threads });
    const send = keyedBy(server);
    const twice = async (...request: Parameters<Send>): Promise<Answer> => {
      const first = await send(...request);
      assert.deepEqual(told(await send(...request)), told(first));
      return first;
    };
    // The quotes belong to the syntax of the header, not to the key.
    const { json: made } = await send('POST', DOCUMENTS, { text: 'no id' }, '"key 1"');
    const again = await server.call('POST', DOCUMENTS, { text: 'no id' }, { 'idempotency-key': '"key 1"' });
    assert.deepEqual(told(again), told({ ...again, status: 201, json: made }));
    assert.equal((await twice('POST', DOCUMENTS, { docid: 'one', text: 'a text' }, 'put')).json.version, 1);
    assert.equal((await twice('PATCH', ONE, { metadata: { a: 1 } }, 'patch')).json.version, 2);
    const form = (text: string) => fileForm('a b.txt', text);
    assert.equal((await send('POST', DOCUMENTS, form('a file'), 'file')).json.docid, 'A_B_TXT');
    assert.equal((await send('POST', DOCUMENTS, form('a file'), 'file')).json.version, 1);
    const distinct = await send('POST', DOCUMENTS, fileForm('a-b.txt', 'other'), 'distinct');
    assert.deepEqual(told(await send('POST', DOCUMENTS, fileForm('a-b.txt', 'other'), 'distinct')), told(distinct));
    assert.equal(distinct.json.docid_taken, 'A_B_TXT');
    await refused(send('POST', DOCUMENTS, form('another'), 'file'), 422, 'idempotency_key_reused');
    assert.deepEqual(
      new Map((await documentsOf(server)).map(({ docid, version }) => [docid, version])),
      new Map([
        [made.docid, 1],
        ['one', 2],
        ['A_B_TXT', 1],
        [distinct.json.docid, 1],
      ]),
    );
    assert.equal((await twice('DELETE', ONE, undefined, 'delete')).json.chunks_deleted, 1);
    assert.deepEqual(server.faults, []);
  });

test('another request with the key is refused, whichever shard its document is in', async () => {
  const server = await startTestServer();
  const send = keyedBy(server);
  assert.equal((await send('POST', DOCUMENTS, { docid: 'one', text: 'a text' }, 'k')).status, 201);
  for (let i = 0; i < 8; i++)
    await refused(send('POST', DOCUMENTS, { docid: `other ${i}`, text: 'a text' }, 'k'), 422, 'idempotency_key_reused');
  await refused(send('PATCH', ONE, { metadata: { a: 1 } }, 'k'), 422, 'idempotency_key_reused');
  await refused(send('DELETE', ONE, undefined, 'k'), 422, 'idempotency_key_reused');
  assert.deepEqual(await documentsOf(server), [{ docid: 'one', version: 1 }]);
  // The keys of another collection and of another tenant are others.
  for (const place of ['acme/others', 'other/docs'])
    assert.equal((await send('POST', `/v1/collections/${place}/documents`, { text: 'x' }, 'k')).status, 201);
});

test('a request that was refused is tried again', async () => {
  const server = await startTestServer();
  const send = keyedBy(server);
  await refused(send('POST', DOCUMENTS, { docid: 'one', text: 'a text', if_version: 1 }, 'k'), 409, 'version_conflict');
  await server.call('POST', DOCUMENTS, { docid: 'one', text: 'a text' });
  assert.equal((await send('POST', DOCUMENTS, { docid: 'one', text: 'a text', if_version: 1 }, 'k')).json.version, 2);
  assert.equal((await send('POST', DOCUMENTS, { docid: 'one', text: 'a text', if_version: 1 }, 'k')).json.version, 2);
  await refused(send('PATCH', `${DOCUMENTS}/two`, { metadata: { a: 1 } }, 'p'), 404, 'document_not_found');
  await server.call('POST', DOCUMENTS, { docid: 'two', text: 'a text' });
  assert.equal((await send('PATCH', `${DOCUMENTS}/two`, { metadata: { a: 1 } }, 'p')).json.version, 2);
});

test('a key that is none is refused', async () => {
  const send = keyedBy(await startTestServer());
  for (const key of ['""', 'a b', '"open', 'x'.repeat(256), `"${'x'.repeat(256)}"`, 'aäa'])
    await refused(send('POST', DOCUMENTS, { text: key }, key), 400, 'invalid_idempotency_key');
  assert.equal((await send('POST', DOCUMENTS, { text: 'x' }, 'x'.repeat(255))).status, 201);
  const quoted = `"${'\\"'.repeat(255)}"`;
  assert.equal((await send('POST', DOCUMENTS, { text: 'x' }, quoted)).status, 201);
});

test('of requests with one key at a time one writes, and the others wait their turn', async () => {
  const server = await startTestServer({ SHEAF_SERVER__THREADS: '2' });
  const send = keyedBy(server);
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => send('POST', DOCUMENTS, { text: 'at the same time' }, 'k')),
  );
  const stored = answers.filter(({ status }) => status === 201);
  assert.ok(stored.length > 0);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    assert.deepEqual([answer.status, answer.json.code], [409, 'idempotency_key_in_use']);
    assert.equal(answer.headers.get('retry-after'), '1');
  }
  assert.equal(new Set(stored.map(({ json }) => json.docid)).size, 1);
  assert.equal((await documentsOf(server)).length, 1);
});

test('answers are kept over a restart, and when another vector space or spread takes the name over', async () => {
  const dataDir = tempDirectory();
  const env = { SHEAF_DATA_DIR: dataDir };
  const before = await startTestServer(env);
  const requests = Array.from({ length: 12 }, (_, i) => [`key ${i}`, { text: `text ${i}` }] as const);
  const sendAll = (server: TestServer): Promise<Answer[]> =>
    Promise.all(requests.map(([key, body]) => keyedBy(server)('POST', DOCUMENTS, body, `"${key}"`)));
  const first = (await sendAll(before)).map(told);
  await before.stop();
  const server = await startTestServer(env);
  assert.deepEqual((await sendAll(server)).map(told), first);
  const { json: job } = await server.call('POST', `${BASE}/reindex`, { partitions: 1 });
  await until(
    async () => (await server.call('GET', `${BASE}/reindex/${job.job_id}`)).json.status === 'succeeded',
    () => 'the reindex does not end',
  );
  assert.deepEqual((await sendAll(server)).map(told), first);
  assert.equal((await documentsOf(server)).length, requests.length);
});
