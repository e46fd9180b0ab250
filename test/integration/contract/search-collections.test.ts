// Searches of several collections of a tenant: merged by score and by rank as a naive merge of the single searches does
// it, over random vectors and texts and several front threads; what each collection logs; and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { SheafClient } from '../../../src/client/client.js';
import { type Answer, type TestServer, refused, startTestServer } from '../../kit/server.js';
import { randomDocument } from '../../kit/service/random-documents.js';
import { tempDirectory } from '../../kit/temp.js';

const SEED = 2611;
const DIM = 8;
const PATH = '/v1/search/acme';
const VECTORS = ['left', 'right', 'middle'];

interface Hit {
  collection: string;
  id: string;
  score: number;
}

const post = (server: TestServer, path: string, body: unknown, headers?: Record<string, string>): Promise<Answer> =>
  server.call('POST', path, body, headers);

async function alone(server: TestServer, name: string, body: object): Promise<Hit[]> {
  const { status, json } = await post(server, `/v1/collections/acme/${name}/search`, body);
  assert.equal(status, 200, JSON.stringify(json));
  return json.matches;
}

async function together(server: TestServer, body: object): Promise<Answer['json']> {
  const { status, json } = await post(server, PATH, body);
  assert.equal(status, 200, JSON.stringify(json));
  return json;
}

const docidOf = ({ id }: Hit): string => id.slice(0, id.lastIndexOf('::'));

/** Sorts by score, then by document id, then in the order of the collections. */
function byScore(lists: readonly Hit[][]): Hit[] {
  const all = lists.flatMap((hits, place) => hits.map((hit) => ({ hit, place })));
  const compared = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
  all.sort((a, b) => b.hit.score - a.hit.score || compared(docidOf(a.hit), docidOf(b.hit)) || a.place - b.place);
  return all.map(({ hit }) => hit);
}

/** Takes the first of each list, then the second of each, and so on. */
const byRank = (lists: readonly Hit[][]): Hit[] =>
  Array.from({ length: Math.max(...lists.map(({ length }) => length)) }, (_, rank) =>
    lists.flatMap((hits) => hits[rank] ?? []),
  ).flat();

async function fill(server: TestServer): Promise<void> {
  const prng = createPrng(SEED);
  const numbers = (): number[] => Array.from({ length: DIM }, () => Math.round(prng.normal() * 4) / 4);
  for (const name of VECTORS) {
    await post(server, `/v1/collections/acme/${name}`, { embedder_type: 'identity', embedder_config: { dim: DIM } });
    const documents = Array.from({ length: 80 }, (_, n) => ({
      docid: `D${n}`,
      vector: numbers(),
      metadata: { half: n % 2 },
    }));
    await post(server, `/v1/collections/acme/${name}/documents:batch`, { documents });
  }
  for (const name of ['one', 'two']) {
    const documents = Array.from({ length: 40 }, (_, n) => randomDocument(prng, `${name}-${n}`));
    await post(server, `/v1/collections/acme/${name}/documents:batch`, { documents });
  }
  await server.call('PUT', '/v1/aliases/acme/best', { collection: 'left' });
}

for (const fronts of ['0', '2'])
  test(`hits are merged as the single searches give them, ${fronts} front threads, seed ${SEED}`, async () => {
    const directory = tempDirectory();
    const env = { SHEAF_SERVER__THREADS: fronts, SHEAF_DATA_DIR: directory };
    let server = await startTestServer(env);
    await fill(server);
    const prng = createPrng(SEED + 1);
    const check = async (): Promise<void> => {
      for (let turn = 0; turn < 12; turn++) {
        const v = Array.from({ length: DIM }, () => prng.normal());
        const k = 1 + prng.int(30);
        const offset = prng.int(3) * prng.int(20);
        const asked = { v, exact: true, ...(prng.int(2) === 0 && { filters: { half: 1 } }) };
        const collections = VECTORS.slice(0, 1 + prng.int(3));
        const lists = await Promise.all(collections.map((name) => alone(server, name, { ...asked, k: k + offset })));
        const scored = await together(server, { ...asked, k, offset, collections });
        assert.equal(scored.merge, 'score');
        assert.deepEqual(scored.matches, byScore(lists).slice(offset, offset + k));
        const ranked = await together(server, { ...asked, k, offset, collections, merge: 'rank' });
        assert.deepEqual(ranked.matches, byRank(lists).slice(offset, offset + k));
      }
      for (const mode of ['vector', 'boost', 'hybrid']) {
        const asked = { q: 'captain of the nautilus and the whale', mode, k: 12 };
        const lists = await Promise.all(['one', 'two'].map((name) => alone(server, name, asked)));
        const found = await together(server, { ...asked, collections: ['one', 'two'] });
        assert.equal(found.merge, mode === 'vector' ? 'score' : 'rank');
        assert.deepEqual(found.matches, (mode === 'vector' ? byScore : byRank)(lists).slice(0, 12));
        assert.deepEqual(
          found.searches.map((search: any) => [search.collection, search.mode]),
          [
            ['one', mode],
            ['two', mode],
          ],
        );
      }
    };
    await check();
    await server.stop();
    server = await startTestServer(env);
    await check();
    assert.deepEqual(server.faults, []);
    await server.stop();
  });

const server = await startTestServer({
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__ADMIN_KEY: 'root',
  SHEAF_AUTH__KEYS:
    '[{name: all, tenant: acme, key: k-all}, {name: some, tenant: acme, key: k-some, collections: [left, right]}, {name: odd, tenant: acme, key: k-odd, filters: {half: 1}}, {name: other, tenant: beta, key: k-beta}]',
});
const asKey = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const asRoot = server.call;
const all: TestServer = {
  ...server,
  call: (method, path, body, headers) => asRoot(method, path, body, { ...asKey('k-all'), ...headers }),
};
await fill(all);
const v = Array.from({ length: DIM }, (_, i) => i - 3);

test('each search is logged in its collection, and can be replayed there; an alias stands for its collection', async () => {
  const found = await together(all, { v, k: 4, collections: ['best', 'right'] });
  assert.deepEqual(
    found.searches.map(({ collection }: { collection: string }) => collection),
    ['left', 'right'],
  );
  for (const { collection, query_id: id } of found.searches) {
    const { json } = await all.call('GET', `/v1/collections/acme/${collection}/queries/${id}`);
    assert.equal(json.query.k, 4, JSON.stringify(json));
    const replayed = await post(all, `/v1/collections/acme/${collection}/queries/${id}/replay`, {});
    assert.equal(replayed.json.matches.length, 4, JSON.stringify(replayed.json));
  }
  const client = new SheafClient({ url: server.url, key: 'k-all', encoding: 'msgpack' });
  const packed = await client.searchCollections('acme', {
    v: Float32Array.from(v),
    k: 4,
    collections: ['best', 'right'],
  });
  assert.deepEqual(packed.matches, found.matches);
});

test('a key searches only what it may, under its filters', async () => {
  const body = { v, k: 20, collections: ['left', 'middle'] };
  await refused(post(server, PATH, body, asKey('k-some')), 403, 'auth_forbidden');
  await refused(post(server, PATH, body, asKey('k-beta')), 403, 'auth_forbidden');
  await refused(post(server, PATH, body), 401, 'auth_invalid');
  const { json } = await post(server, PATH, body, asKey('k-odd'));
  assert.equal(json.matches.length, 20);
  assert(json.matches.every(({ meta }: any) => meta.half === 1));
  const beta = await post(server, '/v1/search/beta', body, asKey('k-beta'));
  assert.deepEqual([beta.status, beta.json.details], [404, { collection: 'left' }]);
});

test('what cannot be merged or searched is refused with what to do', async () => {
  const of = (body: object): Promise<Answer> => post(all, PATH, { v, k: 3, collections: ['left', 'right'], ...body });
  for (const body of [
    { collections: [] },
    { collections: Array.from({ length: 17 }, (_, i) => `c${i}`) },
    { collections: ['left', 'best'] },
    { collections: undefined },
    { merge: 'both' },
    { cursor: '*' },
    { group_by: 'docid' },
    { diversity: {} },
    { v: undefined, like: { docids: ['D1'] } },
    { v: undefined, sort: 'half' },
    { q: 'two at once' },
    { unknown: 1 },
  ])
    await refused(of(body), 422, 'validation_error');
  const words = await refused(
    of({ v: undefined, q: 'whale', mode: 'hybrid', merge: 'score', collections: ['one', 'two'] }),
    422,
    'validation_error',
  );
  assert.match(JSON.stringify(words), /Merge by `rank`, search in mode `vector`, or rerank/);
  const spaces = await refused(of({ merge: 'score', collections: ['left', 'one'] }), 422, 'validation_error');
  assert.match(JSON.stringify(spaces), /different vector spaces/);
  await refused(of({ collections: ['left', 'nothing'] }), 404, 'collection_not_found');
  await refused(of({ v: [1, 2], collections: ['left', 'right'] }), 422, 'dim_mismatch');
  for (const name of ['one', 'two', 'left']) {
    const { json } = await all.call('GET', `/v1/collections/acme/${name}/queries?limit=100`);
    assert(!json.queries.some((entry: { k: number }) => entry.k === 3), 'a refused search is not logged');
  }
  assert.deepEqual(server.faults, []);
});
