// A client that disconnects during an ingest, over a real socket that is destroyed: what was not embedded yet is not
// stored, no document is stored in part, no internal error is logged, and the embed workers are free for others. The
// test looks at the documents after a stop, which waits for all requests in flight, and a restart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { RawClient } from '../../kit/http/raw-client.js';

const docs = '/v1/collections/acme/docs';
const TYPE = { 'Content-Type': 'application/json' };
/** Takes the built-in embedder half a second. */
const LONG = 'words to be embedded '.repeat(400_000);

/** Resolves when documents are given to the embedder for the nth time. */
function embedding(server: TestServer, nth: number): Promise<void> {
  const { embedders } = server.parts;
  const embed = embedders.embedDocuments.bind(embedders);
  return new Promise((resolve) => {
    let times = 0;
    embedders.embedDocuments = (...given) => {
      const embedded = embed(...given);
      if (++times === nth) resolve();
      return embedded;
    };
  });
}

/** Sends a request and destroys its socket when documents are embedded for the nth time. */
async function goAway(
  server: TestServer,
  path: string,
  headers: Record<string, string>,
  body: string,
  nth = 1,
): Promise<void> {
  const begun = embedding(server, nth);
  const client = await RawClient.open(server.port);
  client.request('POST', path, { ...headers, 'Content-Length': String(Buffer.byteLength(body)) }, body);
  await begun;
  client.destroy();
}

/** The documents of the server after a stop and a restart. */
async function documentsLater(server: TestServer): Promise<string[]> {
  await server.stop();
  assert.deepEqual(server.faults, []);
  const again = await startTestServer({ SHEAF_DATA_DIR: server.dataDir });
  const { json } = await again.call('GET', `${docs}/documents`);
  return json.documents.map(({ docid }: { docid: string }) => docid);
}

test('a large document is not stored, and the one that it was to replace stays', async () => {
  const server = await startTestServer();
  const metrics = async (): Promise<Record<string, any>> => (await server.call('GET', '/health/metrics')).json;
  await server.call('POST', `${docs}/documents`, { docid: 'LARGE', text: 'before' });
  const before = await metrics();
  await goAway(server, `${docs}/documents`, TYPE, JSON.stringify({ docid: 'LARGE', text: LONG }));
  assert.equal((await server.call('POST', `${docs}/documents`, { docid: 'NEXT', text: 'next' })).status, 201);
  const after = await metrics();
  const gained = ['errors_total', 'documents_indexed_total', 'ingest_latency_count'].map(
    (name) => after[name] - before[name],
  );
  assert.deepEqual(gained, [0, 1, 1]);
  assert.equal((await server.call('GET', `${docs}/documents/LARGE`)).json.version, 1);
  assert.deepEqual(await documentsLater(server), ['LARGE', 'NEXT']);
});

test('a JSON batch: nothing of it is stored', async () => {
  const server = await startTestServer();
  const documents = Array.from({ length: 40 }, (_, i) => ({ docid: `D${i}`, text: LONG.slice(0, 200_000) }));
  await goAway(server, `${docs}/documents:batch`, TYPE, JSON.stringify({ documents }));
  assert.equal((await server.call('POST', `${docs}/documents`, { docid: 'NEXT', text: 'next' })).status, 201);
  assert.deepEqual(await documentsLater(server), ['NEXT']);
});

test('NDJSON: the first of its documents are stored, whole, and none behind them', async () => {
  const server = await startTestServer();
  const names = Array.from({ length: 60 }, (_, i) => `D${String(i).padStart(2, '0')}`);
  const lines = names.map((docid) => `${JSON.stringify({ docid, text: LONG.slice(0, 200_000) })}\n`).join('');
  await goAway(server, `${docs}/documents:batch`, { 'Content-Type': 'application/x-ndjson' }, lines, 20);
  assert.equal((await server.call('POST', `${docs}/documents`, { docid: 'NEXT', text: 'next' })).status, 201);
  const stored = await documentsLater(server);
  assert.equal(stored.pop(), 'NEXT');
  assert.ok(stored.length < names.length, `${stored.length} documents`);
  assert.deepEqual(stored, names.slice(0, stored.length));
});
