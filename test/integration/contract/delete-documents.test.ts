// Deleting documents by list and by filter: exactly those that a naive version selects, over front threads, in the middle
// of a reindex, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { type TestServer, refused, startTestServer } from '../../kit/server.js';

const SEED = 20_261_124;
const BASE = '/v1/collections/acme/docs';
const REMOVE = `${BASE}/documents:delete`;

interface Doc {
  docid: string;
  text: string;
  metadata: { lang: string; year: number; tags: string[] };
}

type Case = [Record<string, unknown>, (doc: Doc) => boolean];

const servers = await Promise.all(['0', '2'].map((threads) => startTestServer({ SHEAF_SERVER__THREADS: threads })));
const prng = createPrng(SEED);
const pick = <T>(items: readonly T[]): T => items[prng.int(items.length)] as T;

function randomDocs(count: number): Map<string, Doc> {
  const docs = Array.from({ length: count }, (_, i): Doc => {
    const metadata = { lang: pick(['de', 'en', 'fr']), year: 1990 + prng.int(30), tags: pick([['a'], ['a', 'b'], []]) };
    return { docid: `d${i}`, text: `whale ${i} `.repeat(1 + prng.int(4)), metadata };
  });
  return new Map(docs.map((doc) => [doc.docid, doc]));
}

const randomCase = (): Case => {
  const [lang, year] = [pick(['de', 'en', 'fr']), 1990 + prng.int(30)];
  return pick<Case>([
    [{ lang, year: { $lt: year } }, ({ metadata }) => metadata.lang === lang && metadata.year < year],
    [{ tags: 'b', lang: { $ne: lang } }, ({ metadata }) => metadata.tags.includes('b') && metadata.lang !== lang],
    [
      { $or: [{ year }, { docid: { $in: ['d1', 'd2'] } }] },
      ({ metadata, docid }) => metadata.year === year || docid === 'd1' || docid === 'd2',
    ],
    [{ $not: { tags: { $exists: true } } }, () => false],
  ]);
};

async function idsIn({ call }: TestServer): Promise<string[]> {
  const { json } = await call('GET', `${BASE}/documents`);
  return json.documents.map(({ docid }: Doc) => docid).sort();
}

test(`random filters and lists delete what a naive version selects; seed ${SEED}`, async () => {
  for (const server of servers) {
    const { call } = server;
    const docs = randomDocs(300);
    await call('POST', `${BASE}/documents:batch`, { documents: [...docs.values()] });
    for (let round = 0; round < 8; round++) {
      const [filters, fits] = randomCase();
      const listed = Array.from({ length: 12 }, () => `d${prng.int(320)}`);
      const body = round % 2 === 0 ? { filters } : { docids: listed };
      const expected = [...docs.values()].filter((doc) => (round % 2 === 0 ? fits(doc) : listed.includes(doc.docid)));
      const counted = await call('POST', REMOVE, { ...body, dry_run: true });
      const deleted = await call('POST', REMOVE, body);
      assert.deepEqual([counted.status, deleted.status], [200, 200], deleted.text);
      assert.equal(counted.json.documents, expected.length, JSON.stringify(body));
      assert.deepEqual(
        [deleted.json.documents, deleted.json.chunks, deleted.json.dry_run],
        [counted.json.documents, counted.json.chunks, false],
      );
      for (const { docid } of expected) docs.delete(docid);
      assert.deepEqual(await idsIn(server), [...docs.keys()].sort(), JSON.stringify(body));
      const { json } = await call('POST', `${BASE}/search`, { q: 'whale', k: 1000 });
      const found = new Set(json.matches.map(({ id }: { id: string }) => id.split('::')[0]));
      assert.deepEqual([...found].sort(), [...docs.keys()].sort());
    }
    const { json: detail } = await call('GET', `${BASE}/detail`);
    assert.equal(detail.doc_count, docs.size);
    const rest = await call('POST', REMOVE, { filters: {}, all: true });
    assert.equal(rest.json.documents, docs.size);
    assert.deepEqual(await idsIn(server), []);
  }
});

test('a page with many chunks is several commits, and every document goes', async () => {
  const { call } = servers[0] as TestServer;
  const documents = Array.from({ length: 12 }, (_, i) => ({
    docid: `long${i}`,
    text: `word ${i} `.repeat(12_000),
    metadata: { kind: 'long' },
  }));
  await call('POST', `${BASE}/documents:batch`, { documents });
  const { json } = await call('POST', REMOVE, { filters: { kind: 'long' } });
  assert.equal(json.documents, 12);
  assert.ok(json.chunks > 1000, `${json.chunks} chunks`);
});

test('the metadata of a chunk does not select its document', async () => {
  const { call } = servers[0] as TestServer;
  await call('POST', `${BASE}/documents`, { docid: 'one', text: 'a text' });
  const { json } = await call('POST', REMOVE, { filters: { offset: { $exists: true } } });
  assert.equal(json.documents, 0);
  assert.equal((await call('POST', REMOVE, { docids: ['one', 'one'] })).json.documents, 1);
});

test('a filter without conditions needs `all`; lists and filters exclude each other; a missing collection has nothing', async () => {
  const { call } = servers[1] as TestServer;
  for (const filters of [{}, { $and: [] }, { $not: { $or: [] } }, { $or: [{ lang: 'x' }, {}] }]) {
    const { detail } = await refused(call('POST', REMOVE, { filters }), 422, 'validation_error');
    assert.match(detail[0].msg, /"all": true/);
  }
  for (const body of [{}, { docids: ['a'], filters: { a: 1 } }, { docids: [] }, { docids: ['a'], all: true }])
    await refused(call('POST', REMOVE, body), 422, 'validation_error');
  await refused(call('POST', REMOVE, { docids: [''] }), 422, 'invalid_docid');
  await refused(call('POST', REMOVE, { filters: { a: { $like: 'x' } } }), 422, 'validation_error');
  const { json } = await call('POST', '/v1/collections/acme/none/documents:delete', { filters: { a: 1 } });
  assert.deepEqual([json.documents, json.chunks], [0, 0]);
});
