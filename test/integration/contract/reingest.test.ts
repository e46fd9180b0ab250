// Documents that are ingested again, with the real model: unchanged chunks are not embedded, whichever endpoint is
// used, and searches find what they would find had everything been embedded again.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { startTestServer, type Answer } from '../../kit/server.js';

const MODEL = '../shared/data/model-minilm-l6';
const skip = existsSync(MODEL) ? false : `${MODEL} is not there`;
const CHUNK = 60;
const chunking = { strategy: 'fixed', size: CHUNK, overlap: 0 };
const SUBJECTS = [
  'a lighthouse keeper',
  'the orbit of a moon',
  'bread that rises',
  'an election in spring',
  'whales under ice',
];

/** A text of exactly the size of a chunk. */
const chunk = (i: number, revision = ''): string =>
  `${i}: ${SUBJECTS[i % SUBJECTS.length]} ${revision}`.padEnd(CHUNK, ' ~');
const documentOf = (docid: string, chunks: readonly string[]): { docid: string; text: string } => ({
  docid,
  text: chunks.join(''),
});
const first = [0, 1, 2, 3, 4].map((i) => chunk(i));
/** One chunk changed, one moved to the end, one new. */
const second = [chunk(0), chunk(1, 'again'), chunk(3), chunk(4), chunk(7), chunk(2)];
const SECOND_REUSED = 4;

const server = await startTestServer(skip ? {} : { SHEAF_EMBEDDER__MODEL: resolve(MODEL) });

const create = (name: string, tenant = 'acme'): Promise<Answer> =>
  server.call('POST', `/v1/collections/${tenant}/${name}`, { chunking });
const path = (name: string, rest: string): string => `/v1/collections/acme/${name}/${rest}`;
const reused = (): number => server.parts.metrics.counts.chunksReused;

async function ingest(name: string, docid: string, chunks: readonly string[]): Promise<void> {
  const { status, text } = await server.call('POST', path(name, 'documents'), documentOf(docid, chunks));
  assert.equal(status, 201, text);
}

/** All chunks by their ids, with their scores for each of the subjects. */
async function scores(name: string): Promise<Map<string, number>> {
  const found = SUBJECTS.map(async (q): Promise<[string, number][]> => {
    const { json } = await server.call('POST', path(name, 'search'), { q, k: 50 });
    return json.matches.map(({ id, score }: { id: string; score: number }) => [`${id} for ${q}`, score]);
  });
  return new Map((await Promise.all(found)).flat().sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Scores are compared with a tolerance: the texts of a model run are padded to the longest one, so the last digits of a
 * vector depend on the other texts.
 */
async function assertFindsTheSame(name: string, other: string): Promise<void> {
  const [found, expected] = await Promise.all([scores(name), scores(other)]);
  assert.deepEqual([...found.keys()], [...expected.keys()]);
  for (const [id, score] of found)
    assert.ok(Math.abs(score - (expected.get(id) ?? NaN)) < 1e-4, `${id}: ${score}, ${expected.get(id)}`);
}

test('a single document: only what changed is embedded, and its searches are those of a new one', {
  skip,
}, async () => {
  for (const name of ['single', 'fresh']) await create(name);
  await ingest('single', 'A', first);
  assert.equal(reused(), 0);
  await ingest('single', 'A', second);
  assert.equal(reused(), SECOND_REUSED);
  await ingest('fresh', 'A', second);
  assert.equal(reused(), SECOND_REUSED);
  await assertFindsTheSame('single', 'fresh');
  const before = reused();
  await ingest('single', 'A', second);
  assert.equal(reused() - before, second.length);
  await assertFindsTheSame('single', 'fresh');
  assert.equal((await server.call('GET', path('single', 'documents/A'))).json.version, 3);
});

for (const [type, bodyOf] of [
  ['application/json', (documents: object[]) => JSON.stringify({ documents })],
  ['application/x-ndjson', (documents: object[]) => documents.map((document) => JSON.stringify(document)).join('\n')],
] as const) {
  test(`a batch as ${type}: the same, with new documents and vectors of one’s own between`, { skip }, async () => {
    const name = type.replace(/\W/g, '-');
    await create(name);
    await create(`${name}-fresh`);
    const vector = Array.from({ length: 384 }, (_, i) => Math.sin(i + 1));
    const revisions = (chunks: readonly string[]): object[] => [
      documentOf('A', chunks),
      { docid: 'OWN', vector },
      documentOf('B', [...chunks].reverse()),
    ];
    const post = async (to: string, documents: object[]): Promise<void> => {
      const { status, text } = await server.call('POST', path(to, 'documents:batch'), bodyOf(documents), {
        'content-type': type,
      });
      assert.equal(status, 201);
      assert.doesNotMatch(text, /"ok":false/);
    };
    await post(name, revisions(first));
    const before = reused();
    await post(name, [...revisions(second), documentOf('C', second)]);
    assert.ok(reused() - before >= 2 * SECOND_REUSED, `${reused() - before} reused`);
    await post(`${name}-fresh`, [...revisions(second), documentOf('C', second)]);
    await assertFindsTheSame(name, `${name}-fresh`);
  });
}

test('a chunk that the model cuts off says so the second time too', { skip }, async () => {
  await server.call('POST', '/v1/collections/acme/whole', { chunking: { strategy: 'none' } });
  const long = { docid: 'LONG', text: 'many words '.repeat(400) };
  for (let times = 0; times < 2; times++) {
    const before = reused();
    assert.equal((await server.call('POST', path('whole', 'documents'), long)).status, 201);
    assert.equal(reused() - before, times);
    assert.equal((await server.call('GET', path('whole', 'chunks/LONG::chunk_0'))).json.meta.embedding_truncated, true);
  }
});

test('a document that is deleted, and a collection that is made anew, give nothing', { skip }, async () => {
  await create('gone');
  await ingest('gone', 'A', first);
  await server.call('DELETE', path('gone', 'documents/A'));
  const before = reused();
  await ingest('gone', 'A', first);
  await server.call('DELETE', '/v1/collections/acme/gone');
  await create('gone');
  await ingest('gone', 'A', first);
  assert.equal(reused(), before);
});

test('the counter is in the Prometheus text, and no internal error was logged', { skip }, async () => {
  const { text } = await server.call('GET', '/metrics');
  assert.match(text, new RegExp(`^sheaf_chunks_reused_total ${reused()}$`, 'm'));
  assert.deepEqual(server.faults, []);
});
