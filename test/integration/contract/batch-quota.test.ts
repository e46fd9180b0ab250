// A batch into a collection with a limit of chunks: what fits is stored, the rest is reported, and replacing a document
// is not growth.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../kit/server.js';

const MAX = 20;
const server = await startTestServer({ SHEAF_LIMITS__TENANT__MAX_CHUNKS_PER_COLLECTION: String(MAX) });
const { call } = server;
const documents = (from: number, to: number): unknown => ({
  documents: Array.from({ length: to - from }, (_, i) => ({ docid: `D${from + i}`, text: `text ${from + i}` })),
});

test('the chunks that a collection may have are stored, and those beyond are refused by item', async () => {
  const { status, json } = await call('POST', '/v1/collections/acme/docs/documents:batch', documents(0, 50));
  assert.deepEqual([status, json.succeeded, json.failed], [201, MAX, 50 - MAX]);
  for (const item of json.documents) assert.equal(item.code, item.ok ? undefined : 'chunk_limit_reached');
  assert.equal((await call('GET', '/v1/collections/acme/docs/detail')).json.chunk_count, MAX);
});

test('a full collection takes new revisions of what it has', async () => {
  const { json: listed } = await call('GET', '/v1/collections/acme/docs/documents');
  const again = listed.documents.map(({ docid }: { docid: string }) => ({ docid, text: 'again' }));
  const { json } = await call('POST', '/v1/collections/acme/docs/documents:batch', {
    documents: [...again, { docid: 'new', text: 'new' }],
  });
  assert.deepEqual([json.succeeded, json.failed, json.documents.at(-1).code], [MAX, 1, 'chunk_limit_reached']);
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
