// Documents as NDJSON: what is exported makes an equal collection when it is ingested, in the order of the ids, in parts
// by `after` and `limit`, by a filter, as of one moment; and the vectors are those that were ingested.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExportedDocument } from '../../../src/api/archives.js';
import { createPrng } from '../../../src/base/prng.js';
import { SheafClient } from '../../../src/client/client.js';
import { contentsOf, download } from '../../kit/archives.js';
import { type TestServer, fileForm, refused, startTestServer } from '../../kit/server.js';
import { pick, randomDocument, sentence } from '../../kit/service/random-documents.js';

const SEED = 20_261_125;
const BASE = '/v1/collections/acme';
const NDJSON = { 'content-type': 'application/x-ndjson' };

async function exported(server: TestServer, path: string): Promise<ExportedDocument[]> {
  const { status, headers, bytes } = await download(server, path);
  const text = Buffer.from(bytes).toString();
  assert.equal(status, 200, text);
  assert.equal(headers.get('content-type'), 'application/x-ndjson');
  assert(text === '' || text.endsWith('\n'));
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as ExportedDocument);
}

/** The contents of a collection, without versions and times of ingest. */
async function withoutTimes(server: TestServer, name: string): Promise<unknown> {
  const contents = (await contentsOf(server, 'acme', name)) as { settings: any; documents: any[] };
  const { created_at: _created, log_id: _log, ...settings } = contents.settings;
  const documents = contents.documents.map(
    ({ version: _version, ingested_at: _time, metadata, chunks, ...document }) => ({
      ...document,
      metadata: { ...metadata, ingested_at: undefined },
      chunks: chunks.map(({ meta, ingested_at: _at, ...chunk }: any) => ({
        ...chunk,
        meta: { ...meta, ingested_at: undefined },
      })),
    }),
  );
  return { settings, documents };
}

for (const fronts of ['0', '2'])
  test(`an export makes an equal collection when it is ingested, ${fronts} front threads, seed ${SEED}`, async () => {
    const prng = createPrng(SEED);
    const server = await startTestServer({ SHEAF_SERVER__THREADS: fronts, SHEAF_STORAGE__PARTITIONS: '3' });
    const { call } = server;
    const settings = { chunking: { strategy: 'fixed', size: 40, overlap: 7 }, partitions: 3 };
    for (const name of ['docs', 'copy']) await call('POST', `${BASE}/${name}`, settings);
    const ids = Array.from({ length: 90 }, (_, i) => pick(prng, [`D${i}`, `ä/${i} b`, `${'long '.repeat(101)}${i}`]));
    const documents = ids.map((docid, i) => {
      const { text, metadata } = randomDocument(prng, docid);
      const spaced = pick(prng, [
        text,
        `${' '.repeat(90)}${text}`,
        `${text}\n${' '.repeat(99)}😀 ${sentence(prng, 30)}`,
      ]);
      const expiry = pick<object>(prng, [{}, { expires_at: '2090-01-01T00:00:00.000Z' }]);
      return { docid, text: spaced, metadata: { ...metadata, n: i }, ...expiry };
    });
    assert.equal((await call('POST', `${BASE}/docs/documents:batch`, { documents })).json.succeeded, 90);
    await call('POST', `${BASE}/docs/documents`, { docid: 'past', text: 'whale', expires_at: 1 });
    await call('POST', `${BASE}/docs/documents`, fileForm('notes.txt', 'A file of whales.'));

    const all = await exported(server, `${BASE}/docs/documents:export`);
    assert.equal(all.length, 91);
    const lines = all.map((line) => `${JSON.stringify(line)}\n`).join('');
    const ingested = await call('POST', `${BASE}/copy/documents:batch`, lines, NDJSON);
    assert.match(ingested.text, /"succeeded":91,"failed":0/);
    assert.deepEqual(await withoutTimes(server, 'copy'), await withoutTimes(server, 'docs'));
    const again = await exported(server, `${BASE}/copy/documents:export`);
    assert.deepEqual(again, all);

    // In parts, each behind the last document of the one before.
    const parts: ExportedDocument[] = [];
    for (;;) {
      const limit = 20 + prng.int(30);
      const after = encodeURIComponent(parts.at(-1)?.docid ?? '');
      const part = await exported(server, `${BASE}/docs/documents:export?limit=${limit}&after=${after}`);
      if (part.length === 0) break;
      assert(part.length <= limit);
      parts.push(...part);
    }
    assert.deepEqual(parts, all);

    const filters = encodeURIComponent(JSON.stringify({ lang: 'de', n: { $lt: 60 } }));
    const filtered = await exported(server, `${BASE}/docs/documents:export?filters=${filters}`);
    const wanted = all.filter(({ metadata: { lang, n } }) => lang === 'de' && (n as number) < 60);
    assert(wanted.length > 3);
    assert.deepEqual(filtered, wanted);

    const client = new SheafClient({ url: server.url });
    const read: ExportedDocument[] = [];
    for await (const document of client.archives.eachExported('acme', 'docs', { filters: { lang: 'de' }, limit: 7 }))
      read.push(document);
    assert.deepEqual(read, all.filter(({ metadata: { lang } }) => lang === 'de').slice(0, 7));
    assert.deepEqual(server.faults, []);
  });

test('vectors are exported as they were ingested, and chunks with their vectors where that is asked for', async () => {
  const server = await startTestServer();
  const { call } = server;
  const prng = createPrng(SEED);
  for (const name of ['vectors', 'copy'])
    await call('POST', `${BASE}/${name}`, { embedder_type: 'identity', embedder_config: { dim: 5 } });
  const documents = Array.from({ length: 20 }, (_, i) => ({
    docid: `V${i}`,
    vector: Array.from({ length: 5 }, () => Math.fround(prng.normal())),
    metadata: { i },
  }));
  await call('POST', `${BASE}/vectors/documents:batch`, { documents });
  const all = await exported(server, `${BASE}/vectors/documents:export`);
  const vectorOf = (base64: string | undefined): number[] => {
    const bytes = Buffer.from(base64 as string, 'base64');
    return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
  };
  const byId = new Map(documents.map((document) => [document.docid, document]));
  assert.equal(all.length, 20);
  for (const { docid, v_base64, metadata } of all)
    assert.deepEqual({ docid, vector: vectorOf(v_base64), metadata }, byId.get(docid));
  const lines = all.map((line) => `${JSON.stringify(line)}\n`).join('');
  assert.match((await call('POST', `${BASE}/copy/documents:batch`, lines, NDJSON)).text, /"succeeded":20,"failed":0/);
  assert.deepEqual(await exported(server, `${BASE}/copy/documents:export`), all);

  await call('POST', `${BASE}/texts`, { chunking: { strategy: 'fixed', size: 16, overlap: 0 } });
  await call('POST', `${BASE}/texts/documents`, { docid: 'T', text: 'whales and submarines', metadata: { a: 1 } });
  const [text] = await exported(server, `${BASE}/texts/documents:export?vectors=true`);
  assert.deepEqual([text?.docid, text?.metadata, text?.text, text?.chunks?.length], ['T', { a: 1 }, undefined, 2]);
  const { json } = await call('POST', `${BASE}/texts/search`, { q: 'whales', k: 10, with_vector: true });
  for (const { chunk_path, text: shown, v_base64 } of text?.chunks ?? []) {
    const hit = json.matches.find(({ id }: { id: string }) => id === `T::${chunk_path}`);
    assert.deepEqual([shown, vectorOf(v_base64)], [hit.text, hit.vector]);
  }
  assert.deepEqual(server.faults, []);
});

test('an export is of one moment, though its documents go and others come while it is read', async () => {
  const server = await startTestServer();
  const { call } = server;
  const documents = Array.from({ length: 400 }, (_, i) => ({ docid: `D${i}`, text: `${i} ${'whale '.repeat(3000)}` }));
  await call('POST', `${BASE}/docs`, { chunking: { strategy: 'none' } });
  assert.equal((await call('POST', `${BASE}/docs/documents:batch`, { documents })).json.succeeded, 400);
  const reply = await fetch(`${server.url}${BASE}/docs/documents:export`);
  assert.equal(reply.status, 200);
  await call('POST', `${BASE}/docs/documents`, { docid: 'new', text: 'sea' });
  assert.equal((await call('POST', `${BASE}/docs/documents:delete`, { filters: {}, all: true })).json.documents, 401);
  const lines = (await reply.text()).split('\n').slice(0, -1);
  const read = lines.map((line) => JSON.parse(line) as ExportedDocument);
  assert.deepEqual(
    read
      .map(({ docid, text }) => ({ docid, text }))
      .sort((a, b) => Number(a.docid.slice(1)) - Number(b.docid.slice(1))),
    documents,
  );
  assert.equal((await exported(server, `${BASE}/docs/documents:export`)).length, 0);
  assert.deepEqual(server.faults, []);
});

test('requests that are wrong are refused', async () => {
  const { call } = await startTestServer();
  await call('POST', `${BASE}/docs`);
  for (const query of [
    'limit=0',
    'limit=-1',
    'limit=x',
    'limit=1.5',
    'limit=1000000001',
    'filters=x',
    'filters=[]',
    'filters=null',
    'filters={"a":{"$no":1}}',
    'vectors=perhaps',
    'order=id',
  ])
    await refused(call('GET', `${BASE}/docs/documents:export?${query}`), 422, 'validation_error');
  await refused(call('GET', `${BASE}/none/documents:export`), 404, 'collection_not_found');
});

for (const strategy of ['sentence', 'paragraph'])
  test(`no word of a text is lost or doubled by an export and another ingest, ${strategy}, seed ${SEED}`, async () => {
    const prng = createPrng(SEED);
    const server = await startTestServer();
    for (const name of ['first', 'second'])
      await server.call('POST', `${BASE}/${name}`, { chunking: { strategy, size: 120, overlap: 30 } });
    const texts = new Map<string, string>();
    for (let n = 0; n < 60; n++) {
      const made = Array.from({ length: 1 + prng.int(12) }, () => `${sentence(prng, 2 + prng.int(30))}.`);
      texts.set(`D${n}`, made.map((text) => text + pick(prng, [' ', '\n', '\n\n', '  ', ' 😀 '])).join(''));
    }
    const documents = Array.from(texts, ([docid, text]) => ({ docid, text }));
    assert.equal((await server.call('POST', `${BASE}/first/documents:batch`, { documents })).json.succeeded, 60);
    let from = 'first';
    for (const name of ['second', undefined]) {
      const lines = await exported(server, `${BASE}/${from}/documents:export`);
      assert.equal(lines.length, 60);
      for (const { docid, text = '' } of lines) assert.equal(wordsOf(text), wordsOf(texts.get(docid) ?? ''), docid);
      if (name === undefined) return;
      const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
      const ingested = await server.call('POST', `${BASE}/${name}/documents:batch`, body, NDJSON);
      assert.match(ingested.text, /"succeeded":60,"failed":0/);
      from = name;
    }
  });

const wordsOf = (text: string): string => text.split(/\s+/).join(' ').trim();
