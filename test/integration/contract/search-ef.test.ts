// `ef` and `exact` over a real socket: what they find in a collection with a graph, which values are rejected, the
// query log and a replay.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cosine } from '../../../load/kit/cosine.js';
import { createPrng } from '../../../src/base/prng.js';
import { startTestServer, type Answer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const PATH = '/v1/collections/acme/docs';
const DIM = 48;
/** Enough rows for a graph in the only shard. */
const ROWS = 6000;
const QUERIES = 60;
const SEED = 11;

const prng = createPrng(SEED);
const vector = (): number[] => Array.from({ length: DIM }, () => Math.fround(prng.next() - 0.5));
const rows = Array.from({ length: ROWS }, vector);
const queries = Array.from({ length: QUERIES }, vector);
const nearest = queries.map((query) =>
  rows.map((row) => cosine(query, row)).reduce((best, score, i, all) => (score > all[best]! ? i : best), 0),
);

const { call } = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '1' });
await call('POST', PATH, { embedder_type: 'identity', embedder_config: { dim: DIM } });
for (let from = 0; from < ROWS; from += 1000) {
  const documents = rows.slice(from, from + 1000).map((row, i) => ({ docid: `V${from + i}`, vector: row }));
  assert.equal((await call('POST', `${PATH}/documents:batch`, { documents })).status, 201);
}

const search = (body: object): Promise<Answer> => call('POST', `${PATH}/search`, { k: 1, ...body });
const docidOf = ({ json }: Answer): string => json.matches[0].meta.docid;

/** How many of the queries find their nearest row. */
async function found(ef: object): Promise<number> {
  const answers = await Promise.all(queries.map((v) => search({ v, ...ef })));
  return answers.filter((answer, i) => docidOf(answer) === `V${nearest[i]}`).length;
}

test('exact finds the nearest always, a narrow graph search not always, a wide one nearly always', async () => {
  assert.equal(await found({ exact: true }), QUERIES);
  let narrow = QUERIES;
  // Unindexed rows are scanned, so a small ef misses neighbours only once most rows are in the graph.
  await until(
    async () => (narrow = await found({ ef: 1 })) <= QUERIES / 2,
    () => `${narrow} of ${QUERIES} at ef 1`,
  );
  assert.ok((await found({ ef: 5000 })) >= QUERIES - 1);
  assert.equal(await found({ exact: true, ef: null }), QUERIES);
});

test('ef and exact work under a filter', async () => {
  const docids = nearest.map((i) => `V${i}`);
  const filters = { docid: { $in: docids } };
  for (const ef of [{ ef: 50 }, { exact: true }]) {
    const { json } = await search({ v: queries[0], k: 100, filters, ...ef });
    assert.deepEqual(new Set(json.matches.map(({ meta }: any) => meta.docid)), new Set(docids));
  }
});

test('the query log has ef and exact, and a replay uses them', async () => {
  const { json } = await search({ v: queries[0], exact: true });
  const { json: entry } = await call('GET', `${PATH}/queries/${json.query_id}`);
  assert.deepEqual([entry.query.exact, entry.query.ef], [true, undefined]);
  const { json: walked } = await search({ v: queries[0], ef: 7 });
  const { json: replay } = await call('POST', `${PATH}/queries/${walked.query_id}/replay`);
  const { json: again } = await call('GET', `${PATH}/queries/${replay.replay_query_id}`);
  assert.deepEqual([again.query.exact, again.query.ef], [undefined, 7]);
});

const refused: [string, object, RegExp][] = [
  ['ef 0', { ef: 0 }, /ef/],
  ['ef beyond the bound', { ef: 10_001 }, /ef/],
  ['half an ef', { ef: 1.5 }, /ef/],
  ['exact that is no boolean', { exact: 1 }, /exact/],
  ['ef of an exact search', { ef: 100, exact: true }, /one of `ef` and `exact`/],
];
for (const [name, body, message] of refused) {
  test(`422 for ${name}`, async () => {
    const { status, json } = await search({ v: queries[0], ...body });
    assert.deepEqual([status, json.code], [422, 'validation_error']);
    assert.match(json.error, message);
  });
}

test('the query-string form has neither ef nor exact', async () => {
  await call('POST', '/v1/collections/acme/texts/documents', { docid: 'A', text: 'whale' });
  const { status, json } = await call('GET', '/v1/collections/acme/texts/search?q=whale&ef=0&exact=1');
  const names = json.detail.map(({ loc }: { loc: string[] }) => loc[1]);
  assert.deepEqual([status, names], [422, ['ef', 'exact']]);
});
