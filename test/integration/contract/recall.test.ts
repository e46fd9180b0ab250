// The measured recall of a collection over a real socket, compared with the test's own count for the same searches:
// from the query log and from stored vectors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { SheafClient } from '../../../src/client/client.js';
import { startTestServer, type Answer } from '../../kit/server.js';

const PATH = '/v1/collections/acme/docs';
const DIM = 48;
/** Enough rows for a graph in the only shard. */
const ROWS = 6000;
const QUERIES = 40;
const K = 10;

const prng = createPrng(5);
const vector = (): number[] => Array.from({ length: DIM }, () => Math.fround(prng.next() - 0.5));
const queries = Array.from({ length: QUERIES }, vector);

const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '1' });
const { call } = server;
await call('POST', PATH, { embedder_type: 'identity', embedder_config: { dim: DIM } });
for (let from = 0; from < ROWS; from += 1000) {
  const documents = Array.from({ length: 1000 }, (_, i) => ({ docid: `V${from + i}`, vector: vector() }));
  assert.equal((await call('POST', `${PATH}/documents:batch`, { documents })).status, 201);
}

const recall = (body?: object, path = PATH): Promise<Answer> => call('POST', `${path}/recall`, body);

/** The recall as the test counts it. */
async function recallOf(ef: object): Promise<number> {
  const searched = async (v: number[], how: object): Promise<string[]> =>
    (await call('POST', `${PATH}/search`, { v, k: K, ...how })).json.matches.map(({ id }: any) => id);
  let found = 0;
  for (const v of queries) {
    const [near, true_] = await Promise.all([searched(v, ef), searched(v, { exact: true })]);
    found += near.filter((id) => true_.includes(id)).length;
  }
  return found / (QUERIES * K);
}

/**
 * Waits until all rows are indexed: before that a search also scans unindexed rows, and finds more than its graph
 * search.
 */
async function untilSettled(): Promise<void> {
  await recallOf({ ef: 1 });
  for (let tries = 0; tries < 300; tries++) {
    if ((await recall({ source: 'log', ef: 1, sample: 1 })).json.graph_complete) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error('the graph is never complete');
}

test('the vectors of logged searches: the recall is that of these searches', async () => {
  await untilSettled();
  for (const ef of [1, 40]) {
    const expected = await recallOf({ ef });
    const { status, json } = await recall({ source: 'log', ef, k: K });
    assert.equal(status, 200, JSON.stringify(json));
    assert.deepEqual(
      [json.tenant, json.collection, json.queries, json.k, json.source, json.ef, json.graph_complete, json.settled],
      ['acme', 'docs', QUERIES, K, 'log', ef, true, true],
    );
    assert.ok(Math.abs(json.recall - expected) < 1e-4, `${json.recall} is not ${expected}`);
    assert.ok(json.lowest <= json.recall && json.qps > 0 && json.exact_qps > 0, JSON.stringify(json));
  }
});

test('by default the query log is used and recall is good, and a larger ef finds more', async () => {
  const { json } = await recall();
  assert.deepEqual([json.source, json.queries, json.k], ['log', QUERIES, 10]);
  assert.ok(json.recall >= 0.9, `recall ${json.recall}`);
  // Where graph searches find too little in these vectors, all rows are scanned by their quantized vectors, which is an
  // `ef` of 0.
  assert.ok(json.ef === 0 || json.ef >= 64, `ef ${json.ef}`);
  const named = await recall({ ef: json.ef || 32 });
  assert.ok(json.recall >= named.json.recall, `by default ${json.recall}, ef ${named.json.ef}: ${named.json.recall}`);
  const [narrow, wide] = await Promise.all([recall({ sample: 20, ef: 2 }), recall({ sample: 20, ef: 4000 })]);
  assert.ok(
    narrow.json.recall < wide.json.recall && wide.json.recall >= 0.999,
    `${narrow.json.recall}, ${wide.json.recall}`,
  );
});

test('stored vectors do not count themselves, and the same are taken each time', async () => {
  const [first, second] = [
    await recall({ source: 'stored', sample: 50, ef: 1, k: 1 }),
    await recall({ source: 'stored', sample: 50, ef: 1, k: 1 }),
  ];
  assert.deepEqual([first.json.queries, first.json.source], [50, 'stored']);
  assert.equal(first.json.recall, second.json.recall);
  const path = '/v1/collections/acme/one';
  await call('POST', `${path}/documents`, { docid: 'A', text: 'whale' });
  assert.deepEqual((await recall({}, path)).json.queries, 0);
  await call('POST', `${path}/documents`, { docid: 'B', text: 'boat' });
  const { json } = await recall({}, path);
  assert.deepEqual([json.queries, json.recall], [2, 1]);
});

test('few searches in the log: stored vectors; and of texts those of the log are embedded', async () => {
  const path = '/v1/collections/acme/texts';
  const words = Array.from({ length: 30 }, (_, i) => `whale number ${i}`);
  for (const text of words) await call('POST', `${path}/documents`, { docid: text, text });
  const { json: stored } = await recall({}, path);
  assert.deepEqual([stored.source, stored.queries, stored.recall, stored.k], ['stored', 30, 1, 10]);
  for (const q of [...words, ...words]) await call('POST', `${path}/search`, { q });
  const { json: logged } = await recall({ k: 100 }, path);
  assert.deepEqual([logged.source, logged.queries, logged.recall], ['log', 30, 1]);
});

test('an empty collection has no recall, a missing one is 404, a third measurement at a time 503', async () => {
  await call('POST', '/v1/collections/acme/empty');
  const { status, json } = await recall({}, '/v1/collections/acme/empty');
  assert.deepEqual(
    [status, json.recall, json.lowest, json.queries, json.qps, json.exact_qps],
    [200, null, null, 0, null, null],
  );
  const missing = await recall({}, '/v1/collections/acme/none');
  assert.deepEqual([missing.status, missing.json.code], [404, 'collection_not_found']);
  const answers = await Promise.all(Array.from({ length: 6 }, () => recall({ sample: 1000, source: 'stored' })));
  const codes = answers.filter((answer) => answer.status === 503).map((answer) => answer.json.code);
  assert.ok(codes.length > 0 && codes.every((code) => code === 'overloaded'), String(codes));
  assert.ok(answers.filter((answer) => answer.status === 200).length >= 2);
});

test('the client measures recall too', async () => {
  const client = new SheafClient({ url: server.url });
  const { recall: share, queries: compared } = await client.recall('acme', 'docs', { sample: 5 });
  assert.deepEqual([typeof share, compared], ['number', 5]);
});

for (const body of [
  { sample: 0 },
  { sample: 1001 },
  { k: 0 },
  { k: 101 },
  { ef: 0 },
  { source: 'thin air' },
  { queries: 3 },
  [],
]) {
  test(`422 for ${JSON.stringify(body)}`, async () => {
    const { status, json } = await recall(body);
    assert.deepEqual([status, json.code], [422, 'validation_error']);
  });
}
