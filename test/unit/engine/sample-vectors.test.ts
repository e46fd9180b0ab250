// Samples of stored vectors from a real store and a real kernel: only live rows, each with its id, whatever has been
// deleted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import type { CollectionId, DocId } from '../../../src/api/ids.js';
import type { CollectionRef } from '../../../src/api/collections.js';
import { ShardStore } from '../../../src/storage/shard-store.js';
import { sampleVectors } from '../../../src/engine/documents.js';
import type { Kernel } from '../../../src/engine/memory/arena.js';
import { type Shard } from '../../../src/engine/shard.js';
import type { DocumentWrite } from '../../../src/engine/write/commands.js';
import { applyWrites } from '../../../src/engine/write/write.js';
import { tempDirectory } from '../../kit/temp.js';
import { createKernel, createMemory, SEEDS, shardOn } from '../../kit/engine/arena.js';
import { putOf } from '../../kit/engine/writes.js';

const ref: CollectionRef = { id: 1 as CollectionId, generation: 1, dim: 3, language: 'none', precision: 'int16' };

const put = (docid: string, vector: number[]): DocumentWrite =>
  putOf(ref, docid, { chunks: [{ path: 'chunk_0', metaJson: '{}' }], vectors: [vector] });

const sampleOf = (shard: Shard, places: number[], collection = ref) =>
  sampleVectors(shard, { op: 'sampleVectors', collection, places: Float64Array.from(places) });

test('every sampled id has its vector, and every live row can be sampled, at random with deleted documents', () => {
  for (const seed of SEEDS) {
    const prng = createPrng(seed);
    const shard = shardOn(ShardStore.open(tempDirectory(), false), [createKernel()]);
    const stored = new Map<string, number[]>();
    for (let i = 0; i < 60; i++) {
      const docid = `D${prng.int(40)}`;
      const vector = [prng.normal(), prng.normal(), prng.normal()].map(Math.fround);
      const isGone = stored.has(docid) && prng.int(2) === 0;
      applyWrites(shard, [
        isGone ? { op: 'deleteDocument', collection: ref, docid: docid as DocId } : put(docid, vector),
      ]);
      if (isGone) stored.delete(docid);
      else stored.set(docid, vector);
    }
    const { ids, vectors } = sampleOf(
      shard,
      Array.from({ length: 1000 }, (_, i) => i / 1000),
    );
    assert.deepEqual(ids.slice().sort(), [...stored.keys()].map((docid) => `${docid}::chunk_0`).sort(), `seed ${seed}`);
    ids.forEach((id, i) =>
      assert.deepEqual([...vectors.subarray(3 * i, 3 * i + 3)], stored.get(id.split('::')[0]!), `seed ${seed}`),
    );
    shard.store.close();
  }
});

test('a sample has each row at most once; a missing or empty collection has none', () => {
  const shard = shardOn(ShardStore.open(tempDirectory(), false), [createKernel()]);
  applyWrites(shard, [put('A', [1, 2, 3])]);
  assert.deepEqual(sampleOf(shard, [0, 0.5, 0.999]), { ids: ['A::chunk_0'], vectors: Float32Array.of(1, 2, 3) });
  assert.deepEqual(sampleOf(shard, [0], { ...ref, id: 7 as CollectionId }), { ids: [], vectors: new Float32Array() });
  applyWrites(shard, [{ op: 'deleteDocument', collection: ref, docid: 'A' as DocId }]);
  assert.deepEqual(sampleOf(shard, [0, 0.9]).ids, []);
  shard.store.close();
});

test('places are spread over all arenas that a collection is in', () => {
  const dim = 512;
  const wide = { ...ref, dim };
  const small = (): Kernel => createKernel(createMemory(24));
  const shard = shardOn(ShardStore.open(tempDirectory(), false), [small(), small()]);
  const prng = createPrng(1);
  for (let i = 0; shard.segments.of(wide.id).length < 2 || i < 300; i++) {
    const vectors = [Array.from({ length: dim }, () => prng.normal())];
    applyWrites(shard, [putOf(wide, `D${i}`, { chunks: [{ path: 'chunk_0', metaJson: '{}' }], vectors })]);
    assert.ok(i < 5000, 'one arena takes all');
  }
  const ends = shard.segments.of(wide.id).map(({ ordinals }) => ordinals.end);
  const places = Array.from({ length: 40 }, (_, i) => i / 40);
  const { ids } = sampleOf(shard, places, wide);
  assert.ok(ids.length >= 39, `${ids.length} of 40 places in ${ends.join(' and ')} rows`);
  shard.store.close();
});
