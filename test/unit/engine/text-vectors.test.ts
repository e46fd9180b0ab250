// The vectors of stored texts, which an ingest of the same document reuses: page by page, from a real store and a real
// kernel, compared with what the test put there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import type { CollectionId, DocId } from '../../../src/api/ids.js';
import type { ShardAnswer, DocumentWrite } from '../../../src/engine/write/commands.js';
import type { CollectionRef } from '../../../src/api/collections.js';
import { ShardStore } from '../../../src/storage/shard-store.js';
import { DIGEST_BYTES, textDigest } from '../../../src/text/chunking.js';
import { type Shard } from '../../../src/engine/shard.js';
import { listOrdinals, textVectors } from '../../../src/engine/documents.js';
import { applyWrites } from '../../../src/engine/write/write.js';
import { tempDirectory } from '../../kit/temp.js';
import { createKernel, SEEDS, shardOn } from '../../kit/engine/arena.js';
import { putOf, removalOf } from '../../kit/engine/writes.js';

const ref: CollectionRef = { id: 1 as CollectionId, generation: 1, dim: 4, language: 'none', precision: 'int16' };

function openShard(): Shard {
  const shard = shardOn(ShardStore.open(tempDirectory(), false), [createKernel()]);
  return shard;
}

interface Chunk {
  text?: string;
  vector: number[];
}

function put(docid: string, chunks: readonly Chunk[], collection = ref): DocumentWrite {
  const prepared = chunks.map(({ text }, i) => ({
    path: `chunk_${i}`,
    metaJson: '{}',
    ...(text !== undefined && { text }),
  }));
  return putOf(collection, docid, { chunks: prepared, vectors: chunks.map(({ vector }) => vector) });
}

const idsOf = (...docids: string[]): DocId[] => docids as DocId[];
const keyOf = (digest: Uint8Array): string => Buffer.from(digest).toString('hex');
const ordinalsOf = (shard: Shard, ...docids: string[]): Uint32Array =>
  listOrdinals(shard, { op: 'listOrdinals', collection: ref.id, docids: idsOf(...docids) });
const pageOf = (shard: Shard, ordinals: Uint32Array, collection = ref): ShardAnswer<'textVectors'> =>
  textVectors(shard, { op: 'textVectors', collection, ordinals });

/** Digests with their vectors over all pages, in order; each page has at least one. */
function allPages(shard: Shard, ordinals: Uint32Array): [string, number[]][] {
  const rows: [string, number[]][] = [];
  for (let from = 0; from < ordinals.length; ) {
    const { digests, vectors, taken } = pageOf(shard, ordinals.slice(from));
    assert.ok(taken > 0);
    from += taken;
    const count = digests.length / DIGEST_BYTES;
    assert.equal(vectors.length, count * ref.dim);
    for (let i = 0; i < count; i++)
      rows.push([
        keyOf(digests.subarray(i * DIGEST_BYTES, (i + 1) * DIGEST_BYTES)),
        [...vectors.subarray(i * ref.dim, (i + 1) * ref.dim)],
      ]);
  }
  return rows;
}

test('each text of the requested documents comes with its vector, in order, at random with replaced and deleted documents', () => {
  for (const seed of SEEDS) {
    const prng = createPrng(seed);
    const shard = openShard();
    const stored = new Map<string, Chunk[]>();
    for (let write = 0; write < 60; write++) {
      const docid = `D${prng.int(12)}`;
      if (prng.next() < 0.2) {
        applyWrites(shard, [removalOf(ref, docid)]);
        stored.delete(docid);
        continue;
      }
      const chunks = Array.from(
        { length: 1 + prng.int(5) },
        (): Chunk => ({
          ...(prng.next() < 0.8 && { text: `text ${prng.int(20)} é` }),
          vector: Array.from({ length: 4 }, () => prng.int(100)),
        }),
      );
      applyWrites(shard, [put(docid, chunks)]);
      stored.set(docid, chunks);
    }
    const asked = ['D1', 'D5', 'D7', 'D1', 'NOBODY', 'D11'];
    const wanted = [...new Set(asked)]
      .flatMap((docid) => stored.get(docid) ?? [])
      .flatMap(({ text, vector }) => (text === undefined ? [] : [[keyOf(textDigest(text)), vector]]));
    assert.deepEqual(allPages(shard, ordinalsOf(shard, ...asked)), wanted, `seed ${seed}`);
  }
});

test('long texts come in several pages', () => {
  const shard = openShard();
  const chunks = Array.from({ length: 100 }, (_, i) => ({ text: `${i} `.repeat(10_000), vector: [i, 1, 1, 1] }));
  applyWrites(shard, [put('LONG', chunks)]);
  const ordinals = ordinalsOf(shard, 'LONG');
  assert.equal(ordinals.length, 100);
  assert.ok(pageOf(shard, ordinals).taken < 100);
  assert.deepEqual(
    allPages(shard, ordinals).map(([, [first]]) => first),
    chunks.map((_, i) => i),
  );
});

test('a text has the digest of its bytes, however it is given', () => {
  assert.deepEqual(textDigest('Füße'), textDigest(Buffer.from('Füße')));
  assert.equal(textDigest('').length, DIGEST_BYTES);
});

test('a missing or dropped collection, freed ordinals and another generation give nothing', () => {
  const shard = openShard();
  assert.deepEqual(
    [ordinalsOf(shard, 'A'), pageOf(shard, Uint32Array.of(0, 1))],
    [new Uint32Array(), { digests: new Uint8Array(), vectors: new Float32Array(), taken: 2 }],
  );
  applyWrites(shard, [put('A', [{ text: 'a', vector: [1, 2, 3, 4] }])]);
  const ordinals = ordinalsOf(shard, 'A');
  assert.equal(pageOf(shard, ordinals).vectors.length, 4);
  assert.equal(pageOf(shard, ordinals, { ...ref, generation: 2 }).vectors.length, 0);
  assert.deepEqual(pageOf(shard, Uint32Array.of(900)), {
    digests: new Uint8Array(),
    vectors: new Float32Array(),
    taken: 1,
  });
  applyWrites(shard, [removalOf(ref, 'A')]);
  assert.deepEqual([ordinalsOf(shard, 'A').length, pageOf(shard, ordinals).vectors.length], [0, 0]);
  applyWrites(shard, [put('A', [{ text: 'a', vector: [1, 2, 3, 4] }])]);
  shard.drop(ref.id);
  assert.equal(ordinalsOf(shard, 'A').length, 0);
});
