// Searches by filters alone against a naive version that sorts everything: by every kind of value and by documents, in
// both orders, with filters, offsets and cursors, in a small collection and in one that the index has to take apart; with
// and without front threads, over a restart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import type { NaiveChunk } from '../../kit/service/naive-search.js';
import { FILTERS, PATH, chunksFor, fill, pick, randomDocument } from '../../kit/service/random-documents.js';
import { tempDirectory } from '../../kit/temp.js';

const SEED = 20_261_126;
const FIELDS = ['docid', 'year', 'when', 'topic', 'tags', 'lang', 'offset', 'none', undefined];
/** More rows than a search reads and sorts at once. */
const MANY = 9000;
const VECTORS = '/v1/collections/acme/many';

const prng = createPrng(SEED);
const directory = tempDirectory();
const start = (fronts: string): Promise<TestServer> =>
  startTestServer({ SHEAF_SERVER__THREADS: fronts, ...(fronts === '2' && { SHEAF_DATA_DIR: directory }) });
let servers = await Promise.all(['0', '2'].map(start));
await fill(
  servers,
  Array.from({ length: 120 }, (_, i) => randomDocument(prng, `D${i}`)),
);
const small = await chunksFor(servers[0] as TestServer, 'sea');

const many: NaiveChunk[] = Array.from({ length: MANY }, (_, i) => {
  const { metadata } = randomDocument(prng, '');
  const docid = i === 7 ? `L${'x'.repeat(505)}` : `V${(i * 7919) % MANY}`;
  const meta = {
    ...metadata,
    docid,
    n: prng.int(4) === 0 ? String(prng.int(5000)) : prng.int(1_000_000) / 100,
    half: i % 2,
  };
  return { id: `${docid}::0`, docid, index: 0, text: '', meta, priority: 0, cosine: 0 };
});
for (const { call } of servers) {
  await call('POST', VECTORS, { embedder_type: 'identity', embedder_config: { dim: 2 } });
  for (let from = 0; from < MANY; from += 3000) {
    const documents = many
      .slice(from, from + 3000)
      .map(({ docid, meta: { docid: _, ...metadata } }) => ({ docid, metadata, vector: [1, 2] }));
    assert.equal((await call('POST', `${VECTORS}/documents:batch`, { documents })).json.succeeded, documents.length);
  }
}

/** The kind of a value and what is compared within it. */
function keyOf(value: unknown): [number, number | string] {
  if (typeof value === 'number') return [0, value];
  if (typeof value === 'boolean') return [3, String(value)];
  if (typeof value !== 'string') return [4, ''];
  if (/^-?(0|[1-9]\d*)(\.\d+)?$/.test(value)) return [0, Number(value)];
  if (/^\d{4}-/.test(value)) return [1, Date.parse(value)];
  return [2, value.slice(0, 200)];
}

const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
const compareKeys = (a: number | string, b: number | string): number =>
  typeof a === 'number' && typeof b === 'number' ? Math.sign(a - b) : compareBytes(String(a), String(b));

function naiveSorted(chunks: readonly NaiveChunk[], field = 'docid', descending = false): string[] {
  const sign = descending ? -1 : 1;
  const keyed = chunks.map((chunk) => {
    const keys = [chunk.meta[field]].flat().map(keyOf);
    keys.sort((a, b) => a[0] - b[0] || sign * compareKeys(a[1], b[1]));
    return { chunk, key: field === 'docid' ? ([0, chunk.docid] as const) : (keys[0] ?? ([4, ''] as const)) };
  });
  keyed.sort(
    (a, b) =>
      a.key[0] - b.key[0] ||
      sign * compareKeys(a.key[1], b.key[1]) ||
      compareBytes(a.chunk.docid, b.chunk.docid) ||
      a.chunk.index - b.chunk.index,
  );
  return keyed.map(({ chunk }) => chunk.id);
}

async function ids({ call }: TestServer, path: string, body: object): Promise<{ found: string[]; next?: string }> {
  const { status, json } = await call('POST', `${path}/search`, body);
  assert.equal(status, 200, JSON.stringify(json));
  return { found: json.matches.map(({ id }: any) => id), next: json.next_cursor };
}

const order = (): { descending: boolean; order: 'asc' | 'desc' } =>
  prng.int(2) === 0 ? { descending: false, order: 'asc' } : { descending: true, order: 'desc' };

async function assertSmall(searches: number): Promise<void> {
  for (let i = 0; i < searches; i++) {
    const [filter, fits] = pick(prng, FILTERS);
    const [field, { descending, order: by }] = [pick(prng, FIELDS), order()];
    const [k, offset] = [pick(prng, [1, 10, 200]), pick(prng, [0, 1, 50])];
    const body = { ...filter, k, offset, sort: { field, order: by } };
    const expected = naiveSorted(small.filter(fits), field, descending).slice(offset, offset + k);
    for (const server of servers)
      assert.deepEqual(
        (await ids(server, PATH, body)).found,
        expected,
        `seed ${SEED}, search ${i}: ${JSON.stringify(body)}`,
      );
  }
}

test('a small collection', () => assertSmall(60));

test('a collection that the index takes apart', async () => {
  const filters: [object, (chunk: NaiveChunk) => boolean][] = [
    [{}, () => true],
    [{ filters: { half: 1 } }, ({ meta }) => meta.half === 1],
    [{ filters: { n: { $gte: 9000 } } }, ({ meta }) => Number(meta.n) >= 9000],
  ];
  for (let i = 0; i < 45; i++) {
    const [filter, fits] = pick(prng, filters);
    const [field, { descending, order: by }] = [pick(prng, ['n', 'n', ...FIELDS]), order()];
    const [k, offset] = [pick(prng, [1, 10, 100]), pick(prng, [0, 3, 1000, 6000])];
    const body = { ...filter, k, offset, with_text: false, sort: { field, order: by } };
    const expected = naiveSorted(many.filter(fits), field, descending).slice(offset, offset + k);
    for (const server of servers)
      assert.deepEqual(
        (await ids(server, VECTORS, body)).found,
        expected,
        `seed ${SEED}, search ${i}: ${JSON.stringify(body)}`,
      );
  }
});

test('a cursor leads through everything', async () => {
  for (const [path, chunks, k] of [
    [PATH, small, 40],
    [VECTORS, many, 1000],
  ] as const)
    for (const field of ['docid', 'when', 'lang', 'tags', ...(path === VECTORS ? ['n'] : [])])
      for (const descending of [false, true]) {
        const sort = { field, order: descending ? 'desc' : 'asc' };
        const all: string[] = [];
        let cursor: string | undefined = '*';
        for (let page = 0; cursor !== undefined; page++) {
          const { found, next } = await ids(servers[page % 2] as TestServer, path, { sort, k, cursor });
          all.push(...found);
          cursor = next;
        }
        assert.deepEqual(all, naiveSorted(chunks, field, descending), `${path} ${JSON.stringify(sort)}`);
      }
});

const REFUSED: [string, object, RegExp][] = [
  ['a text beside it', { q: 'sea', sort: {} }, /exactly one of/],
  ['a mode', { sort: {}, mode: 'hybrid' }, /leave out `sort`/],
  ['a lowest score', { sort: {}, min_score: 1 }, /leave out `sort`/],
  ['an unknown order', { sort: { order: 'up' } }, /order/],
  ['a field that is no text', { sort: { field: '\ud800' } }, /UTF-16/],
  ['a forged cursor', { sort: {}, cursor: Buffer.from('["x",[-1,"",""]]').toString('base64url') }, /first page/],
];
for (const [name, body, message] of REFUSED) {
  test(`422 for ${name}`, async () => {
    const { status, json } = await (servers[0] as TestServer).call('POST', `${PATH}/search`, body);
    assert.deepEqual([status, json.code], [422, 'validation_error']);
    assert.match(json.error, message);
  });
}

test('what hits tell, the query log and a replay', async () => {
  const { call } = servers[1] as TestServer;
  const sort = { field: 'year', order: 'desc' };
  const { json: first } = await call('POST', `${PATH}/search`, { sort, filters: { lang: 'de' }, k: 3, cursor: '*' });
  assert.match(first.matches[0].match_reason, /^sorted by year; filters: lang=de/);
  const { json } = await call('POST', `${PATH}/search`, {
    sort,
    filters: { lang: 'de' },
    k: 3,
    cursor: first.next_cursor,
  });
  const { json: entry } = await call('GET', `${PATH}/queries/${json.query_id}`);
  assert.deepEqual([entry.query.sort, entry.query.query_text, entry.query.after], [sort, '', undefined]);
  const { json: replay } = await call('POST', `${PATH}/queries/${json.query_id}/replay`);
  assert.deepEqual(
    replay.matches.map(({ id }: any) => id),
    json.matches.map(({ id }: any) => id),
  );
});

test('the same after a restart', async () => {
  const stopped = servers.pop() as TestServer;
  await stopped.stop();
  servers = [...servers, await start('2')];
  await assertSmall(15);
});
