// Groups of hits, by document and by metadata fields, against a naive version: in every mode, with filters, with and
// without front threads, over a restart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { naiveGroups } from '../../kit/service/naive-groups.js';
import type { NaiveHit, NaiveQuery } from '../../kit/service/naive-search.js';
import { FILTERS, PATH, chunksFor, fill, pick, randomDocument, sentence } from '../../kit/service/random-documents.js';
import { tempDirectory } from '../../kit/temp.js';

const SEED = 20_261_125;
const MODES = ['vector', 'boost', 'hybrid'] as const;
const FUSIONS = [undefined, { method: 'score', weights: { vector: 0.6, lexical: 0.4 } }] as const;

const prng = createPrng(SEED);
const directory = tempDirectory();
const start = (fronts: string): Promise<TestServer> =>
  startTestServer({ SHEAF_SERVER__THREADS: fronts, ...(fronts === '2' && { SHEAF_DATA_DIR: directory }) });
let servers = await Promise.all(['0', '2'].map(start));
await fill(servers, [
  ...Array.from({ length: 100 }, (_, i) => randomDocument(prng, `D${i}`)),
  // A document whose chunks are most of the best for many searches.
  {
    docid: 'LONG',
    text: Array.from({ length: 150 }, () => sentence(prng, 9)).join(' '),
    metadata: { topic: 'sea', lang: 'de' },
  },
]);

type Answered = NaiveHit & { group: unknown };

async function grouped({ call }: TestServer, body: object): Promise<{ matches: Answered[]; next?: string }> {
  const { status, json } = await call('POST', `${PATH}/search`, body);
  assert.equal(status, 200, JSON.stringify(json));
  return { matches: json.matches, next: json.next_cursor };
}

async function assertLikeNaive(searches: number): Promise<void> {
  for (let i = 0; i < searches; i++) {
    const [filter, fits] = pick(prng, FILTERS);
    const mode = MODES[i % 3]!;
    const fusion = mode === 'hybrid' ? pick(prng, FUSIONS) : undefined;
    const query: NaiveQuery = {
      q: sentence(prng, 1 + prng.int(3)),
      mode,
      k: pick(prng, [1, 3, 10]),
      fits,
      ...(fusion && { fusion }),
    };
    const [by, size] = [
      pick(prng, ['docid', 'docid', 'topic', 'lang', 'tags', 'year', 'none']),
      pick(prng, [1, 1, 2, 5]),
    ];
    const offset = pick(prng, [0, 0, 2, 15]);
    const body = { q: query.q, mode, k: query.k, fusion, ...filter, group_by: by, group_size: size, offset };
    const all = await chunksFor(servers[0] as TestServer, query.q);
    const expected = naiveGroups(all, query, { by, size, wanted: offset + query.k }).slice(offset);
    const what = `seed ${SEED}, search ${i}: ${JSON.stringify(body)}`;
    for (const server of servers) {
      const { matches } = await grouped(server, body);
      assert.deepEqual(
        matches.map(({ id, group }) => [id, group]),
        expected.flatMap(({ value, hits }) => hits.map(({ id }) => [id, value])),
        what,
      );
      const scores = expected.flatMap(({ hits }) => hits.map(({ score }) => score));
      matches.forEach(({ score }, at) => assert.ok(Math.abs(score - (scores[at] ?? NaN)) < 1e-9, what));
    }
  }
}

test('random searches', () => assertLikeNaive(90));

test('as many groups as there are, although the best chunks are of one document', async () => {
  for (const mode of MODES)
    for (const server of servers) {
      const { matches } = await grouped(server, { q: 'whale captain sea', mode, k: 101, group_by: 'docid' });
      assert.equal(new Set(matches.map(({ group }) => group)).size, 101, mode);
    }
});

test('a cursor leads through all groups', async () => {
  for (const mode of MODES) {
    const body = { q: 'whale captain', mode, k: 9, group_by: 'docid' };
    const found: unknown[] = [];
    let cursor: string | undefined = '*';
    for (let page = 0; cursor !== undefined; page++) {
      const { matches, next } = await grouped(servers[page % 2] as TestServer, { ...body, cursor });
      found.push(...matches.map(({ group }) => group));
      cursor = next;
    }
    assert.deepEqual([found.length, new Set(found).size], [101, 101], mode);
  }
});

const REFUSED: [string, object, RegExp][] = [
  ['a group size without groups', { group_size: 2 }, /group_by/],
  ['too many hits', { group_by: 'docid', group_size: 101, k: 10 }, /at most 1000/],
  [
    'groups of several hits with a reranker',
    { group_by: 'docid', group_size: 2, rerank: { instance: 'x' } },
    /one hit/,
  ],
  ['groups with the common collection', { group_by: 'docid', include_common: true }, /include_common/],
];
for (const [name, body, message] of REFUSED) {
  test(`422 for ${name}`, async () => {
    const { status, json } = await (servers[0] as TestServer).call('POST', `${PATH}/search`, { q: 'sea', ...body });
    assert.deepEqual([status, json.code], [422, 'validation_error']);
    assert.match(json.error, message);
  });
}

test('422 for more vectors in groups than an answer may have', async () => {
  const { call } = servers[0] as TestServer;
  await call('POST', '/v1/collections/acme/wide', { embedder_type: 'identity', embedder_config: { dim: 2048 } });
  const v = [1, ...Array<number>(2047).fill(0)];
  const body = { v, k: 10, group_by: 'docid', group_size: 50, with_vector: true };
  const { json: many } = await call('POST', '/v1/collections/acme/wide/search', { ...body, group_size: 52 });
  assert.match(many.error, /at most 512 hits of 2048 dimensions/);
  assert.equal((await call('POST', '/v1/collections/acme/wide/search', body)).status, 200);
});

test('a replay groups too', async () => {
  const { call } = servers[1] as TestServer;
  const { json } = await call('POST', `${PATH}/search`, { q: 'whale', group_by: 'topic', group_size: 2, k: 3 });
  const { json: replay } = await call('POST', `${PATH}/queries/${json.query_id}/replay`);
  assert.deepEqual(replay.matches, json.matches);
});

test('the same after a restart', async () => {
  const stopped = servers.pop() as TestServer;
  await stopped.stop();
  servers = [...servers, await start('2')];
  await assertLikeNaive(12);
});
