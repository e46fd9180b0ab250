// Batches of writes on a real store and a real kernel: one commit for all, each write applied completely or rejected by
// itself, and nothing changed in memory or on disk when the commit fails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../src/api/errors.js';
import type { CollectionId, Ordinal } from '../../../src/api/ids.js';
import { ShardStore } from '../../../src/storage/shard-store.js';
import type { Kernel } from '../../../src/engine/memory/arena.js';
import { type Shard } from '../../../src/engine/shard.js';
import { countsOf } from '../../../src/engine/documents.js';
import type { DocumentWrite } from '../../../src/engine/write/commands.js';
import { applyWrites } from '../../../src/engine/write/write.js';
import { tempDirectory } from '../../kit/temp.js';
import { ranked } from '../../kit/engine/search.js';
import { createKernel, shardOn } from '../../kit/engine/arena.js';
import { putOf, removalOf } from '../../kit/engine/writes.js';

const DIM = 4;
const ref = { id: 1 as CollectionId, generation: 1, dim: DIM, language: 'none' as const, precision: 'int16' as const };

interface Opened {
  shard: Shard;
  kernel: Kernel;
  directory: string;
  store: ShardStore;
  commits: () => number;
}

function openShard(): Opened {
  const [kernel, directory] = [createKernel(), tempDirectory()];
  const store = ShardStore.open(directory, false);
  let commits = 0;
  const write = store.write.bind(store);
  store.write = (work) => (commits++, write(work));
  const shard = shardOn(store, [kernel]);
  return { shard, kernel, directory, store, commits: () => commits };
}

/** A put of a document with one chunk for each vector. */
function put(docid: string, vectors: number[][], priority = 0): DocumentWrite {
  const chunks = vectors.map((_, i) => ({ path: `chunk_${i}`, metaJson: '{}', text: `${docid} ${i}` }));
  return putOf(ref, docid, { chunks, vectors, priority });
}

const remove = (docid: string): DocumentWrite => removalOf(ref, docid);

/** The texts of all chunks that a search for [1, 0, 0, 0] finds, best first. */
function found(opened: Opened): string[] {
  const hits = ranked(opened, ref, { vector: Float32Array.of(1, 0, 0, 0), k: 100 });
  assert.ok(hits);
  const { ordinals } = hits.vector;
  return opened.store.read((txn) =>
    Array.from(ordinals, (ordinal) => txn.text(ref.id, ordinal as Ordinal)?.toString() ?? 'no text'),
  );
}

test('a batch is one commit, and its writes take effect in order', () => {
  const opened = openShard();
  const results = applyWrites(opened.shard, [
    put('A', [[1, 0, 0, 0]]),
    put('B', [
      [1, 1, 0, 0],
      [1, 2, 0, 0],
    ]),
    put('A', [
      [1, 0.5, 0, 0],
      [1, 3, 0, 0],
    ]),
    remove('B'),
    put('C', [[1, 0.1, 0, 0]]),
    remove('NOBODY'),
  ]);
  assert.equal(opened.commits(), 1);
  assert.deepEqual(
    results.map((result) => 'value' in result && result.value),
    [
      { chunks: 1, version: 1 },
      { chunks: 2, version: 1 },
      { chunks: 2, version: 2 },
      { chunks: 2 },
      { chunks: 1, version: 1 },
      { chunks: 0 },
    ],
  );
  assert.deepEqual(found(opened), ['C 0', 'A 0', 'A 1']);
  assert.deepEqual(countsOf(opened.shard, [ref.id]), [{ documents: 2, chunks: 3 }]);
});

test('a write that is refused harms no other of its batch', () => {
  const opened = openShard();
  applyWrites(opened.shard, [put('A', [[1, 0, 0, 0]])]);
  opened.shard.drop(ref.id);
  const other = { ...ref, id: 2 as CollectionId };
  const results = applyWrites(opened.shard, [
    put('A', [[1, 0, 0, 0]]),
    { ...put('B', [[1, 0, 0, 0]]), collection: other },
  ]);
  assert.deepEqual(
    results.map((result) => ('error' in result ? result.error.code : 'stored')),
    ['collection_not_found', 'stored'],
  );
});

test('a commit that fails changes nothing, and the next one works', () => {
  const opened = openShard();
  applyWrites(opened.shard, [put('A', [[1, 0, 0, 0]], 0.5), put('B', [[0.5, 1, 0, 0]])]);
  const write = opened.store.write;
  opened.store.write = (work) =>
    write((txn) => {
      work(txn);
      throw new AppError('storage_full');
    });
  assert.throws(() => applyWrites(opened.shard, [put('A', [[0, 1, 0, 0]]), remove('B'), put('C', [[1, 0, 0, 0]])]), {
    code: 'storage_full',
  });
  opened.store.write = write;
  assert.deepEqual(found(opened), ['A 0', 'B 0']);
  assert.deepEqual(countsOf(opened.shard, [ref.id]), [{ documents: 2, chunks: 2 }]);
  applyWrites(opened.shard, [put('C', [[1, 0.2, 0, 0]]), remove('A')]);
  assert.deepEqual(found(opened), ['C 0', 'B 0']);
});

test('a shard that is loaded again from its store gives the same hits', () => {
  const opened = openShard();
  applyWrites(opened.shard, [
    put('A', [
      [1, 0, 0, 0],
      [1, 1, 0, 0],
    ]),
    put('B', [[1, 3, 0, 0]], 1),
    put('X', [[1, 0, 0, 0]]),
    remove('X'),
  ]);
  const before = found(opened);
  const kernel = createKernel();
  const again = shardOn(opened.store, [kernel], [ref]);
  assert.deepEqual(found({ ...opened, shard: again, kernel }), before);
  assert.deepEqual(countsOf(again, [ref.id]), [{ documents: 2, chunks: 3 }]);
});
