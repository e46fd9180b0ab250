// What limits tenants holds over all front threads together, on whichever connections their requests arrive; and a
// collection that a reindex switches is switched on all of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Socket } from 'node:net';
import { holdRequests } from '../../kit/conformance/faults.js';
import { type Connection, type FrontAnswer, connections } from '../../kit/fronts.js';
import { fileForm, startTestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const FRONTS = 3;
const DOCUMENTS = 30;
/** Searches of a batch of the tenant that floods. */
const BATCH = 200;
const settings = { SHEAF_SERVER__THREADS: String(FRONTS) };

test('a client that has its answer has its place back, on every connection', async () => {
  const server = await startTestServer({ ...settings, SHEAF_LIMITS__TENANT__MAX_IN_FLIGHT: '1' });
  const all = await connections(server, 2 * FRONTS);
  const docs = '/v1/collections/acme/docs';
  await server.call('POST', `${docs}/documents`, { docid: 'a', text: 'the captain' });
  // The ids of its chunks are more than 64 KiB, which are written as the socket takes them.
  const large = 'l'.repeat(60);
  const rows = `text\n${Array.from({ length: 1500 }, (_, row) => `row ${row}\n`).join('')}`;
  const form = fileForm('rows.csv', rows, { docid: large });
  assert.equal((await server.call('POST', `${docs}/documents?csv_has_header=yes`, form)).status, 201);
  const kinds: ((connection: Connection) => Promise<FrontAnswer>)[] = [
    (connection) => connection.call('GET', `${docs}/documents/a`),
    (connection) => connection.call('POST', `${docs}/search`, { q: 'captain', k: 1 }),
    (connection) => connection.call('GET', `${docs}/documents/${large}`),
    (connection) => connection.call('GET', `${docs}/documents`),
    (connection) => connection.call('GET', `${docs}/detail`),
    (connection) => connection.call('POST', `${docs}/documents`, { docid: 'b', text: 'put again' }),
  ];
  for (let request = 0; request < 600; request++) {
    const { status, text } = await (kinds[request % kinds.length] as (typeof kinds)[number])(
      all[(request * 5) % all.length] as Connection,
    );
    assert.ok(status === 200 || status === 201, `request ${request}: ${status} ${text.slice(0, 200)}`);
  }
});

test('requests in progress are capped over all front threads together', async () => {
  const CAP = 5;
  const server = await startTestServer({ ...settings, SHEAF_LIMITS__TENANT__MAX_IN_FLIGHT: String(CAP) });
  const all = await connections(server, 2 * FRONTS);
  let held: Socket[] = [];
  try {
    held = await holdRequests(server, CAP);
    const refused = await Promise.all(all.map((connection) => connection.call('GET', '/v1/collections/acme')));
    assert.deepEqual(
      refused.map(({ status, json }) => [status, json.code]),
      all.map(() => [429, 'tenant_rate_limited']),
    );
    for (const { status } of await Promise.all(
      all.map((connection) => connection.call('GET', '/v1/collections/quiet')),
    ))
      assert.ok(status === 200 || status === 429);
    (held.pop() as Socket).destroy();
    await until(async () => (await (all[0] as Connection).call('GET', '/v1/collections/acme')).status === 200);
    for (const connection of all) assert.equal((await connection.call('GET', '/v1/collections/acme')).status, 200);
  } finally {
    for (const socket of held) socket.destroy();
  }
});

test('quotas of collections and chunks hold over all front threads together', async () => {
  const server = await startTestServer({
    ...settings,
    SHEAF_LIMITS__TENANT__MAX_COLLECTIONS: '3',
    SHEAF_LIMITS__TENANT__MAX_CHUNKS_PER_COLLECTION: '10',
  });
  const all = await connections(server, 4 * FRONTS);
  const made = await Promise.all(all.map((connection, at) => connection.call('POST', `/v1/collections/acme/c${at}`)));
  assert.equal(made.filter(({ status }) => status === 201).length, 3);
  assert.ok(made.every(({ status, json }) => status === 201 || json.code === 'collection_limit_reached'));
  const name = made.findIndex(({ status }) => status === 201);
  const docs = `/v1/collections/acme/c${name}`;
  const puts = await Promise.all(
    [...all, ...all].map((connection, at) =>
      connection.call('POST', `${docs}/documents`, { docid: `d${at}`, text: `text ${at}` }),
    ),
  );
  assert.equal(puts.filter(({ status }) => status === 201).length, 10);
  assert.ok(puts.every(({ status, json }) => status === 201 || json.code === 'chunk_limit_reached'));
  assert.equal((await server.call('GET', `${docs}/detail`)).json.chunk_count, 10);
});

test('a tenant that floods every front thread takes no answer from another', async () => {
  const server = await startTestServer(settings);
  const flooding = await connections(server, 8 * FRONTS);
  const light = await connections(server, FRONTS);
  for (const tenant of ['heavy', 'light'])
    for (let i = 0; i < 40; i++)
      await server.call('POST', `/v1/collections/${tenant}/docs/documents`, { docid: `d${i}`, text: `captain ${i}` });
  const at = (tenant: string): string => `/v1/collections/${tenant}/docs/search`;
  const searches = Array.from({ length: BATCH }, (_, i) => ({ q: `captain ${i % 40}`, k: 5 }));
  let flooded = 0;
  let isOver = false;
  const flood = flooding.map(async (connection) => {
    while (!isOver) {
      const { status, json } = await connection.call('POST', `${at('heavy')}:batch`, { searches });
      assert.deepEqual([status, json.results?.length], [200, BATCH]);
      flooded++;
    }
  });
  await until(() => flooded > flooding.length, 'the flood does not begin');
  /** Batches of the flood that were answered between a request of the light tenant and its answer. */
  const between: number[] = [];
  for (let i = 0; i < 60; i++) {
    const before = flooded;
    const { status, text } = await (light[i % light.length] as Connection).call('POST', at('light'), { q: 'captain' });
    assert.equal(status, 200, text);
    between.push(flooded - before);
  }
  isOver = true;
  await Promise.all(flood);
  // First come, first served would be all batches that had arrived before.
  const median = between.sort((a, b) => a - b)[between.length >> 1] as number;
  assert.ok(median < flooding.length / 2, `${median} batches of the flood for a search of the light tenant`);
});

test('from the answer of a switch on, no front thread serves the old collection', async () => {
  const server = await startTestServer(settings);
  const all = await connections(server, 2 * FRONTS);
  const docs = '/v1/collections/acme/docs';
  for (let i = 0; i < DOCUMENTS; i++)
    await server.call('POST', `${docs}/documents`, { docid: `d${i}`, text: `the captain ${i} of the ship` });
  let isOver = false;
  const searching = all.map(async (connection, at) => {
    while (!isOver) {
      const search = await connection.call('POST', `${docs}/search`, { q: 'captain', k: 50 });
      assert.equal(search.status, 200, search.text);
      const docids = (search.json.matches as { meta: { docid: string } }[]).map(({ meta }) => meta.docid);
      assert.equal(docids.filter((docid) => docid.startsWith('d')).length, DOCUMENTS);
      const read = await connection.call('GET', `${docs}/documents/d${at}`);
      assert.equal(read.status, 200, read.text);
    }
  });
  try {
    for (let round = 0; round < 6; round++) {
      const started = await server.call('POST', `${docs}/reindex`, { compact: true });
      assert.ok(started.status < 300, started.text);
      const id = started.json.job_id as string;
      await until(async () => (await server.call('GET', `${docs}/reindex/${id}`)).json.status === 'succeeded');
      // Only the collection that is served now has this document.
      const docid = `after-${round}`;
      await server.call('DELETE', `${docs}/documents/after-${round - 1}`);
      const { status } = await server.call('POST', `${docs}/documents`, { docid, text: 'a sailor' });
      assert.equal(status, 201);
      for (const connection of all) {
        assert.equal((await connection.call('GET', `${docs}/documents/${docid}`)).status, 200, `round ${round}`);
        const { json } = await connection.call('POST', `${docs}/search`, { q: 'sailor', k: 1 });
        assert.equal(json.matches[0].meta.docid, docid, `round ${round}`);
      }
      await server.call('DELETE', `${docs}/documents/${docid}`);
    }
  } finally {
    isOver = true;
  }
  await Promise.all(searching);
});
