// What a reindex job guarantees when it switches: a vector space with its graph, and every write that was acknowledged
// around the switch.
import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { type IndexingState } from '../../../src/api/collections.js';
import type { Placement } from '../../../src/api/placement.js';
import { refOf } from '../../../src/storage/catalog-commands.js';
import { asCollectionName, asTenant, type CollectionName, type Tenant } from '../../../src/api/ids.js';
import { download, upload } from '../../kit/archives.js';
import { BASE, found, ingest, jobUntil, start, startReindexServer, status, textOf } from '../../kit/reindex.js';
import { startTestServer, type TestServer } from '../../kit/server.js';

/** Enough rows for a graph in one shard. */
const ROWS = 5000;
const DIM = 64;

async function fill({ call }: TestServer): Promise<void> {
  await call('POST', BASE, { embedder_type: 'identity', embedder_config: { dim: DIM } });
  for (let from = 0; from < ROWS; from += 1000) {
    const documents = Array.from({ length: 1000 }, (_, i) => ({
      docid: `d${from + i}`,
      vector: Array.from({ length: DIM }, (_, n) => Math.sin((from + i) * 7.3 + n * n)),
    }));
    assert.equal((await call('POST', `${BASE}/documents:batch`, { documents })).json.succeeded, 1000);
  }
}

/** Makes the shards report half-built graphs until `end` is called; the rest of their reports is real. */
function withHalfGraphs({ parts: { shards } }: TestServer): { end(): void } {
  type Ask = (of: Placement, op: string, request: object) => Promise<IndexingState | null>[];
  const ask = shards.requestOf.bind(shards) as Ask;
  const half = (state: IndexingState | null): IndexingState | null => state && { ...state, unindexed: state.rows / 2 };
  const { mock: held } = mock.method(shards, 'requestOf', (of: Placement, op: string, request: object) =>
    ask(of, op, request).map((answer) => (op === 'indexing' ? answer.then(half) : answer)),
  );
  return { end: () => held.restore() };
}

test('a space takes over when its graph is there, and the record tells how many chunks it waits for', async () => {
  const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '1' });
  await fill(server);
  const before = server.parts.catalog.get('acme' as Tenant, 'docs' as CollectionName);
  const graphs = withHalfGraphs(server);
  const { json: job } = await start(server, { compact: true });
  const waiting = await jobUntil(
    server,
    job.job_id,
    (record) => record.unindexed_chunks > 0 || record.status === 'succeeded',
  );
  assert.deepEqual(
    [waiting.status, waiting.unindexed_chunks, waiting.unlinked_chunks],
    ['running', ROWS / 2, ROWS / 2],
  );
  assert.equal(server.parts.catalog.get('acme' as Tenant, 'docs' as CollectionName).id, before.id);
  graphs.end();
  const done = await jobUntil(server, job.job_id, status('succeeded'));
  const after = server.parts.catalog.get('acme' as Tenant, 'docs' as CollectionName);
  assert.notEqual(after.id, before.id);
  const [linking] = await Promise.all(server.parts.shards.requestAll('indexing', { collection: refOf(after) }));
  assert.ok(
    linking && linking.rows === ROWS && linking.unindexed <= ROWS / 100 && !linking.isTuning,
    JSON.stringify(linking),
  );
  assert.deepEqual([done.unindexed_chunks, done.unlinked_chunks, done.rate], [undefined, undefined, undefined]);
  assert.deepEqual(server.faults, []);
});

test('searches of the log that an archive brings along stand beside those that were there, each once', async (t) => {
  const { server } = await startReindexServer(t);
  const { call } = server;
  await ingest(server, 5);
  await call('POST', `${BASE}/search`, { q: 'before the archive' });
  const { bytes: archive } = await download(server, `${BASE}/archive`);
  await call('POST', `${BASE}/search`, { q: 'after the archive' });
  for (let round = 0; round < 2; round++) {
    assert.equal((await upload(server, 'PUT', `${BASE}/archive`, archive)).status, 200);
    const { json } = await call('GET', `${BASE}/queries`);
    assert.deepEqual(
      json.queries.map(({ query_text }: { query_text: string }) => query_text),
      ['after the archive', 'before the archive'],
    );
  }
});

test('a write that an archive holds at the gate while a job begins and ends is in what has the name then', async (t) => {
  const { server } = await startReindexServer(t);
  const { call, parts } = server;
  await ingest(server, 3);
  const { id } = parts.catalog.get(asTenant('acme'), asCollectionName('docs'));
  let release = (): void => {};
  const holding = parts.shards.gate.exclusive(id, () => new Promise<void>((resolve) => (release = resolve)));
  const writing = call('POST', `${BASE}/documents`, { docid: 'd1', text: textOf(1, 2) });
  // By then the write has reached the gate, and knows of no job.
  await new Promise((resolve) => setTimeout(resolve, 300));
  const { json: job } = await start(server, { compact: true });
  // Enough time for a job that did not wait for the gate.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  release();
  await holding;
  assert.equal((await writing).status, 201);
  await jobUntil(server, job.job_id, status('succeeded'));
  assert.equal((await call('GET', `${BASE}/documents/d1`)).json.version, 2);
  assert.equal((await found(server, textOf(1, 2)))[0], 'd1::chunk_0');
});
