// Writes with an `Idempotency-Key`: a repetition is answered what the first request was answered and writes nothing, over
// any connection and after a restart; another request with the key is refused, and so is one beside the first.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pack } from 'msgpackr';
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

const BATCH = `${BASE}/documents:batch`;
const NDJSON = 'application/x-ndjson';
const items = (from: number, to: number): { docid?: string; text: string }[] =>
  Array.from({ length: to - from }, (_, i) => ({
    // Some items get their ids from the server.
    ...((from + i) % 3 === 0 ? {} : { docid: `d ${from + i}` }),
    text: `the text of item ${from + i}`,
  }));

interface ItemAnswer {
  index: number;
  ok: boolean;
  docid?: string;
  version?: number;
  code?: string;
}

/** Sends a batch in one of its forms. */
async function sendBatch(
  server: TestServer,
  form: 'json' | 'msgpack' | 'ndjson',
  documents: readonly object[],
  key: string,
): Promise<ItemAnswer[]> {
  const headers = { 'idempotency-key': key };
  const [type, body] = {
    json: ['application/json', JSON.stringify({ documents })],
    msgpack: ['application/msgpack', pack({ documents })],
    ndjson: [NDJSON, documents.map((document) => JSON.stringify(document)).join('\n')],
  }[form] as [string, string];
  const response = await fetch(`${server.url}${BATCH}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': type },
    body,
  });
  const text = await response.text();
  assert.equal(response.status, 201, text);
  if (form !== 'ndjson') return (JSON.parse(text) as { documents: ItemAnswer[] }).documents;
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ItemAnswer)
    .filter((line) => 'index' in line);
}

for (const form of ['json', 'msgpack', 'ndjson'] as const)
  for (const threads of ['0', '2'])
    test(`a repeated batch in ${form} stores what was not stored, and nothing twice; front threads: ${threads}`, async () => {
      const server = await startTestServer({ SHEAF_SERVER__THREADS: threads });
      const first = await sendBatch(server, form, items(0, 250), 'k');
      assert.ok(first.every(({ ok, version }) => ok && version === 1));
      const stored = await documentsOf(server);
      // The batch grows: its first items are those that have been stored.
      const second = await sendBatch(server, form, items(0, 400), 'k');
      assert.deepEqual(second.slice(0, 250), first);
      assert.ok(second.every(({ ok, version }) => ok && version === 1));
      const third = await sendBatch(server, form, items(0, 400), 'k');
      assert.deepEqual(third, second);
      assert.equal(stored.length, 250);
      assert.equal((await documentsOf(server)).length, 400);
      const other = items(0, 400).map((item, i) => (i === 7 || i === 300 ? { ...item, text: 'another' } : item));
      const fourth = await sendBatch(server, form, other, 'k');
      for (const [i, answer] of fourth.entries())
        if (i === 7 || i === 300) assert.equal(answer.code, 'idempotency_key_reused');
        else assert.deepEqual(answer, second[i]);
      assert.deepEqual(server.faults, []);
    });

test('items of a batch that were refused are tried again, and one key does not serve a batch and a document', async () => {
  const server = await startTestServer();
  const send = keyedBy(server);
  const batch = { documents: [{ docid: 'a', text: 'a', if_version: 1 }, { docid: 'b', text: 'b' }, { docid: 1 }] };
  const first = (await send('POST', BATCH, batch, 'k')).json.documents as ItemAnswer[];
  assert.deepEqual(
    first.map(({ code }) => code),
    ['version_conflict', undefined, 'invalid_item'],
  );
  await server.call('POST', DOCUMENTS, { docid: 'a', text: 'a' });
  const second = (await send('POST', BATCH, batch, 'k')).json.documents as ItemAnswer[];
  assert.deepEqual(
    second.map(({ code, version }) => code ?? version),
    [2, 1, 'invalid_item'],
  );
  await refused(send('POST', DOCUMENTS, { text: 'x' }, 'k'), 422, 'idempotency_key_reused');
  assert.equal((await send('POST', DOCUMENTS, { text: 'x' }, 'one')).status, 201);
  await refused(send('POST', BATCH, batch, 'one'), 422, 'idempotency_key_reused');
  const lines = await fetch(`${server.url}${BATCH}`, {
    method: 'POST',
    headers: { 'content-type': NDJSON, 'idempotency-key': 'one' },
    body: '{"text":"x"}',
  });
  assert.equal(lines.status, 422);
  assert.deepEqual(server.faults, []);
});

test('a key whose batch is under way is refused, and free again when the client has gone', async () => {
  const server = await startTestServer({ SHEAF_SERVER__THREADS: '2' });
  const send = keyedBy(server);
  const client = new AbortController();
  const open = fetch(`${server.url}${BATCH}`, {
    method: 'POST',
    headers: { 'content-type': NDJSON, 'idempotency-key': 'k' },
    body: new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from('{"docid":"a","text":"a"}\n{"docid":"b",')),
    }),
    duplex: 'half',
    signal: client.signal,
  } as RequestInit);
  open.catch(() => undefined);
  await until(
    async () => (await documentsOf(server)).length === 1,
    () => 'the first line is not stored',
  );
  const batch = { documents: [{ docid: 'a', text: 'a' }] };
  await refused(send('POST', BATCH, batch, 'k'), 409, 'idempotency_key_in_use');
  client.abort();
  await until(
    async () => (await send('POST', BATCH, batch, 'k')).status === 201,
    () => 'the key is still taken',
  );
  assert.deepEqual(await documentsOf(server), [{ docid: 'a', version: 1 }]);
});

test('changes by filter and by list are made once', async () => {
  const server = await startTestServer();
  const send = keyedBy(server);
  const put = async (from: number, to: number): Promise<void> =>
    void (await server.call('POST', BATCH, {
      documents: Array.from({ length: to - from }, (_, i) => ({
        docid: `d${from + i}`,
        text: 'a text',
        metadata: { n: (from + i) % 2 },
      })),
    }));
  await put(0, 40);
  const patch = { filters: { n: 1 }, metadata: { seen: true } };
  const first = await send('POST', `${DOCUMENTS}:patch`, patch, 'p');
  assert.equal(first.json.documents, 20);
  // What matches only now is not changed by a repetition.
  await put(40, 60);
  assert.deepEqual(told(await send('POST', `${DOCUMENTS}:patch`, patch, 'p')), told(first));
  assert.equal((await server.call('POST', `${BASE}/count`, { filters: { seen: true } })).json.count, 20);
  await refused(
    send('POST', `${DOCUMENTS}:patch`, { ...patch, metadata: { seen: false } }, 'p'),
    422,
    'idempotency_key_reused',
  );
  const dry = await send('POST', `${DOCUMENTS}:delete`, { filters: { n: 1 }, dry_run: true }, 'd');
  assert.equal(dry.json.documents, 30);
  const deleted = await send('POST', `${DOCUMENTS}:delete`, { filters: { n: 1 } }, 'd');
  assert.equal(deleted.json.documents, 30);
  await put(0, 10);
  assert.deepEqual(told(await send('POST', `${DOCUMENTS}:delete`, { filters: { n: 1 } }, 'd')), told(deleted));
  const list = await send('POST', `${DOCUMENTS}:delete`, { docids: ['d0', 'd1', 'none'] }, 'l');
  assert.equal(list.json.documents, 2);
  assert.deepEqual(told(await send('POST', `${DOCUMENTS}:delete`, { docids: ['d0', 'd1', 'none'] }, 'l')), told(list));
  assert.deepEqual(server.faults, []);
});
