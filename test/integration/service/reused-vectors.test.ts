// Which chunks of a document that is ingested again need no embedding, on a real server below HTTP: compared with a
// naive version that remembers every text and its vector.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { type DocId, asCollectionName, asTenant } from '../../../src/api/ids.js';
import { slotOf } from '../../../src/api/placement.js';
import type { Collection } from '../../../src/api/collections.js';
import { reusedVectors } from '../../../src/service/ingest/embed.js';
import { DIGEST_BYTES, textDigest } from '../../../src/text/chunking.js';
import { startTestServer } from '../../kit/server.js';

const server = await startTestServer();
const { call, parts, services } = server;
const SPACE_DIM = 512;

const collectionOf = (name: string): Collection => parts.catalog.get(asTenant('acme'), asCollectionName(name));
const digestsOf = (texts: readonly string[]): Uint8Array => Buffer.concat(texts.map(textDigest));

async function ingest(name: string, docid: string, chunks: readonly string[]): Promise<void> {
  const { status, text } = await call('POST', `/v1/collections/acme/${name}/documents`, {
    docid,
    text: chunks.map((chunk) => chunk.padEnd(16, '.')).join(''),
  });
  assert.equal(status, 201, text);
}

/** Which texts of a document, with 16 characters to a chunk, reuse a stored vector. */
async function reuse(
  name: string,
  docid: string,
  chunks: readonly string[],
  planned: Omit<Collection, 'id'> = collectionOf(name),
): Promise<Awaited<ReturnType<typeof reusedVectors>>> {
  const texts = chunks.map((chunk) => chunk.padEnd(16, '.'));
  return reusedVectors(services.ingest, planned, {
    ...placeOf(docid),
    docids: [docid as DocId],
    digests: digestsOf(texts),
  });
}

const placeOf = (docid: string): { slot: number; spread: number } => ({
  slot: slotOf(docid, parts.shards.size),
  spread: parts.shards.size,
});

async function embed(text: string): Promise<number[]> {
  return [...(await parts.embedders.embedQuery(collectionOf('docs'), { text: text.padEnd(16, '.') }))];
}

await call('POST', '/v1/collections/acme/docs', { chunking: { strategy: 'fixed', size: 16, overlap: 0 } });

test('revisions at random: the rows whose text the stored one has are given, with the vector of that text', async () => {
  const seed = 4;
  const prng = createPrng(seed);
  const random = (): string[] => Array.from({ length: 1 + prng.int(12) }, () => `sentence ${prng.int(12)}`);
  for (let round = 0; round < 30; round++) {
    const docid = `D${prng.int(3)}`;
    const [stored, coming] = [random(), random()];
    await ingest('docs', docid, stored);
    const before = parts.metrics.counts.chunksReused;
    const { given, vectors } = await reuse('docs', docid, coming);
    const expected = coming.map((text) => Number(stored.includes(text)));
    assert.deepEqual([...(given ?? coming.map(() => 0))], expected, `seed ${seed}`);
    assert.equal(parts.metrics.counts.chunksReused - before, expected.filter(Boolean).length);
    for (const [row, text] of coming.entries()) {
      if (expected[row])
        assert.deepEqual(
          [...(vectors?.subarray(row * SPACE_DIM, (row + 1) * SPACE_DIM) ?? [])],
          await embed(text),
          `seed ${seed}`,
        );
    }
  }
});

test('a document of many pages is reused whole', async () => {
  const chunks = Array.from({ length: 1500 }, (_, i) => `chunk ${i}`);
  await ingest('docs', 'MANY', chunks);
  const { given } = await reuse('docs', 'MANY', [...chunks].reverse());
  assert.equal(
    given?.reduce((sum, each) => sum + each, 0),
    1500,
  );
});

test('vectors that the caller gave stay, and are given to nobody', async () => {
  const vector = Array.from({ length: SPACE_DIM }, (_, i) => i + 1);
  await call('POST', '/v1/collections/acme/docs/documents', { docid: 'OWN', vector });
  assert.deepEqual(await reuse('docs', 'OWN', ['any']), { vectors: undefined });
  await ingest('docs', 'OWN', ['one', 'two']);
  const vectors = Float32Array.from([...vector, ...new Array<number>(SPACE_DIM).fill(0)]);
  const digests = Buffer.concat([Buffer.alloc(DIGEST_BYTES), textDigest('two'.padEnd(16, '.'))]);
  const reused = await reusedVectors(services.ingest, collectionOf('docs'), {
    ...placeOf('OWN'),
    docids: ['OWN' as DocId],
    digests,
    vectors,
  });
  assert.deepEqual([[...(reused.given ?? [])], [...(reused.vectors?.subarray(0, SPACE_DIM) ?? [])]], [[0, 1], vector]);
  assert.deepEqual([...(reused.vectors?.subarray(SPACE_DIM) ?? [])], await embed('two'));
});

test('nothing is reused of a missing collection, another space, another document, or without digests', async () => {
  const docs = collectionOf('docs');
  await ingest('docs', 'A', ['same']);
  assert.equal((await reuse('docs', 'A', ['same'])).given?.[0], 1);
  assert.equal((await reuse('docs', 'B', ['same'])).given, undefined);
  assert.equal((await reuse('docs', 'A', ['same'], { ...docs, name: asCollectionName('missing') })).given, undefined);
  assert.equal((await reuse('docs', 'A', ['same'], { ...docs, vector_space_key: 'another' })).given, undefined);
  assert.deepEqual(await reusedVectors(services.ingest, docs, { ...placeOf('A'), docids: ['A' as DocId] }), {
    vectors: undefined,
  });
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
