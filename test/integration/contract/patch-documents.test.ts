// Changes of metadata: a collection whose documents are patched answers as one whose documents are ingested again with
// the changed metadata: gets, counts, searches with and without filters, priorities, in every mode; after restarts, in the
// middle of a reindex, and beside searches that never see a document that does not match.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { download, upload } from '../../kit/archives.js';
import { jobUntil, status } from '../../kit/reindex.js';
import { type TestServer, refused, startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const SEED = 20_261_125;
const PATCHED = '/v1/collections/acme/patched';
const AGAIN = '/v1/collections/acme/again';
const WORDS = ['whale', 'captain', 'sea', 'violin', 'oven', 'graph', 'budget', 'dough'];

type Metadata = Record<string, unknown>;

const prng = createPrng(SEED);
const pick = <T>(items: readonly T[]): T => items[prng.int(items.length)] as T;
const texts = new Map<string, string>();
const naive = new Map<string, Metadata>();

const randomMetadata = (): Metadata => ({
  lang: pick(['de', 'en', 'fr']),
  year: 1990 + prng.int(5),
  author: { name: pick(['Ned', 'Conseil']), born: 1800 + prng.int(5) },
  ...(prng.int(3) === 0 && { prio_boost: pick([0.5, -0.5, 1]) }),
});

function randomPatch(): { metadata: Metadata; replace?: boolean } {
  if (prng.int(6) === 0) return { metadata: randomMetadata(), replace: true };
  return {
    metadata: pick<Metadata>([
      { lang: pick(['de', 'en', 'fr', null]) },
      { year: null, tag: pick(['a', 'b']) },
      { author: { born: null, name: 'Nemo' } },
      { prio_boost: pick([0.5, null, -1]), year: 1990 + prng.int(5) },
    ]),
  };
}

/** JSON merge patch, as RFC 7396 words it. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target);
  const result: Metadata = isObject ? { ...(target as Metadata) } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatch(result[name], value);
  }
  return result;
}

async function change({ call }: TestServer, docid: string): Promise<void> {
  const body = randomPatch();
  const { status: patched, json } = await call('PATCH', `${PATCHED}/documents/${docid}`, body);
  assert.equal(patched, 200, JSON.stringify(json));
  const metadata = body.replace ? body.metadata : (mergePatch(naive.get(docid), body.metadata) as Metadata);
  naive.set(docid, metadata);
  const again = await call('POST', `${AGAIN}/documents`, { docid, text: texts.get(docid), metadata });
  assert.equal(again.status, 201);
  const stored = await call('GET', `${AGAIN}/documents/${docid}`);
  assert.equal(json.version, stored.json.version);
}

async function assertSame({ call }: TestServer, label: string): Promise<void> {
  const shown = async (path: string, body: object): Promise<unknown> => {
    const { json, status: searched } = await call('POST', `${path}/search`, {
      q: 'whale captain violin',
      k: 12,
      ...body,
    });
    assert.equal(searched, 200, JSON.stringify(json));
    return json.matches.map(({ id, score, meta, match_reason: reason }: Metadata & { meta: Metadata }) => {
      const { ingested_at: _, ...rest } = meta;
      return { id, score, rest, reason };
    });
  };
  for (const mode of ['vector', 'boost', 'hybrid'])
    for (const filters of [
      {},
      { lang: 'de' },
      { tag: { $exists: true } },
      { 'author.name': 'Nemo', year: { $gte: 1991 } },
      { $not: { lang: ['de', 'en'] } },
    ])
      assert.deepEqual(
        await shown(PATCHED, { mode, filters }),
        await shown(AGAIN, { mode, filters }),
        `${label}, ${mode}, ${JSON.stringify(filters)}`,
      );
  const { json: detail } = await call('GET', `${PATCHED}/detail`);
  assert.equal(detail.doc_count, naive.size, label);
}

async function fill({ call }: TestServer, documents: number): Promise<void> {
  texts.clear();
  naive.clear();
  for (let i = 0; i < documents; i++) {
    texts.set(`d${i}`, Array.from({ length: 5 + prng.int(400) }, () => pick(WORDS)).join(' '));
    naive.set(`d${i}`, randomMetadata());
  }
  const items = [...texts].map(([docid, text]) => ({ docid, text, metadata: naive.get(docid) }));
  for (const path of [PATCHED, AGAIN])
    assert.equal((await call('POST', `${path}/documents:batch`, { documents: items })).json.failed, 0);
}

test(`patched documents answer as those that are ingested again; seed ${SEED}`, async () => {
  for (const threads of ['0', '2']) {
    const dataDir = tempDirectory();
    const env = { SHEAF_DATA_DIR: dataDir, SHEAF_SERVER__THREADS: threads };
    let server = await startTestServer(env);
    await fill(server, 60);
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 25; i++) await change(server, pick([...naive.keys()]));
      await assertSame(server, `threads ${threads}, round ${round}`);
      if (round === 0) await server.parts.shards.kill(0);
      if (round === 1) {
        await server.stop();
        server = await startTestServer(env);
      }
      await until(async () => (await server.call('GET', '/health/ready')).status === 200, 'not ready again');
      await assertSame(server, `threads ${threads}, after round ${round}`);
    }
    const many = await server.call('POST', `${PATCHED}/documents:patch`, {
      filters: { lang: 'de' },
      metadata: { tag: 'bulk' },
    });
    const fitting = [...naive].filter(([, { lang }]) => lang === 'de');
    assert.equal(many.json.documents, fitting.length);
    for (const [docid, metadata] of fitting) {
      naive.set(docid, { ...metadata, tag: 'bulk' });
      const document = { docid, text: texts.get(docid), metadata: naive.get(docid) };
      await server.call('POST', `${AGAIN}/documents`, document);
    }
    await assertSame(server, `threads ${threads}, in bulk`);
    const { bytes } = await download(server, `${PATCHED}/archive`);
    assert.equal((await upload(server, 'PUT', `${PATCHED}/archive`, bytes)).status, 200);
    await assertSame(server, `threads ${threads}, restored`);
    assert.deepEqual(server.faults, []);
    await server.stop();
  }
});

test('a reindex in the middle of patches has every change', async () => {
  const server = await startTestServer();
  const { call } = server;
  await fill(server, 80);
  const { json: job } = await call('POST', `${PATCHED}/reindex`, { compact: true });
  for (let i = 0; i < 60; i++) await change(server, pick([...naive.keys()]));
  await jobUntil(server, job.job_id, status('succeeded'));
  for (let i = 0; i < 20; i++) await change(server, pick([...naive.keys()]));
  await assertSame(server, 'after the switch');
});

test('no search beside patches shows a document that does not match its filter, and none is missed', async () => {
  const server = await startTestServer({ SHEAF_SERVER__THREADS: '2' });
  const { call } = server;
  const documents = Array.from({ length: 20 }, (_, i) => ({ docid: `r${i}`, text: `whale ${i}`, metadata: { n: 0 } }));
  await call('POST', `${PATCHED}/documents:batch`, { documents });
  let isOver = false;
  const patches = (async () => {
    for (let n = 1; n <= 150; n++)
      await call('PATCH', `${PATCHED}/documents/r${n % 20}`, { metadata: { n: n % 2, parity: n } });
    isOver = true;
  })();
  const searches = Array.from({ length: 4 }, async (_, i) => {
    while (!isOver) {
      const { json } = await call('POST', `${PATCHED}/search`, { q: 'whale', k: 50, filters: { n: i % 2 } });
      for (const { meta } of json.matches) assert.equal(meta.n, i % 2);
      const all = await call('POST', `${PATCHED}/search`, { q: 'whale', k: 50, filters: { n: [0, 1] } });
      assert.equal(all.json.matches.length, 20);
    }
  });
  await Promise.all([patches, ...searches]);
});

test('what a document cannot take is refused, and changes nothing', async () => {
  const { call } = await startTestServer();
  const path = `${PATCHED}/documents/one`;
  await refused(call('PATCH', path, { metadata: { a: 1 } }), 404, 'collection_not_found');
  await call('POST', `${PATCHED}/documents`, { docid: 'one', text: 'a text', metadata: { a: 1 } });
  await refused(call('PATCH', `${PATCHED}/documents/two`, { metadata: { a: 1 } }), 404, 'document_not_found');
  await refused(call('PATCH', path, { metadata: { docid: 'two' } }), 422, 'invalid_metadata_keys');
  await refused(call('PATCH', path, { metadata: { ingested_at: null } }), 422, 'invalid_metadata_keys');
  await refused(call('PATCH', path, { metadata: { offset: 7 } }), 422, 'invalid_metadata_keys');
  await refused(call('PATCH', path, { metadata: [] }), 422, 'validation_error');
  await refused(call('PATCH', path, {}), 422, 'validation_error');
  await refused(call('PATCH', path, { metadata: { long: 'x'.repeat(100_000) } }), 413, 'metadata_too_large');
  await refused(call('POST', `${PATCHED}/documents:patch`, { metadata: { a: 2 } }), 422, 'validation_error');
  const { json } = await call('GET', path);
  assert.deepEqual([json.version, json.metadata.a], [1, 1]);
});
