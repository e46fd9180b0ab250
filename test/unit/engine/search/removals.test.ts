// A search during which rows are removed knows that it may have missed a document, and runs again; one during which
// rows are only added does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionId } from '../../../../src/api/ids.js';
import { ShardStore } from '../../../../src/storage/shard-store.js';
import { finish, score } from '../../../../src/engine/search/search.js';
import { rankSegment, withVectorAnew } from '../../../../src/engine/search/rank.js';
import type { DocumentWrite } from '../../../../src/engine/write/commands.js';
import { applyWrites } from '../../../../src/engine/write/write.js';
import { tempDirectory } from '../../../kit/temp.js';
import { createKernel, shardOn } from '../../../kit/engine/arena.js';
import { NO_STATISTICS, searchFor, viewed } from '../../../kit/engine/search.js';
import { putOf, removalOf } from '../../../kit/engine/writes.js';

const ref = { id: 1 as CollectionId, generation: 1, dim: 2, language: 'none' as const, precision: 'int16' as const };
const search = searchFor(ref, { k: 1, vector: Float32Array.of(1, 0) });
const FAR = Float32Array.of(-1, 0.1);

const put = (docid: string, vector: Float32Array): DocumentWrite =>
  putOf(ref, docid, { chunks: [{ path: 'c', metaJson: '{}' }], vectors: [vector] });

/**
 * Runs a search and applies `between` after it has begun and before it ranks. Returns the chunk ids of the answer, and
 * whether the search has to run again.
 */
function searched(between: DocumentWrite[]): [string[], boolean] {
  const [kernel, directory] = [createKernel(), tempDirectory()];
  const shard = shardOn(ShardStore.open(directory, false), [kernel]);
  try {
    applyWrites(shard, [put('near', Float32Array.of(1, 0)), put('next', Float32Array.of(1, 1))]);
    return viewed({ shard, kernel, directory }, ref, (view) => {
      applyWrites(shard, between);
      const timing = { embed_ms: 0, filter_ms: 0, hydrate_ms: 0, search_ms: 0 };
      const lists = [rankSegment(view, search, NO_STATISTICS)];
      const ranking = { lists, hits: score([view], lists, search) };
      const { found, hasChanged } = finish([view], ranking, search, NO_STATISTICS, timing);
      return [found.ids, hasChanged];
    });
  } finally {
    shard.close();
  }
}

test('rows that are added during a search change nothing for it', () => {
  assert.deepEqual(searched([put('far', FAR)]), [['near::c'], false]);
});

test('a search runs again where rows were removed meanwhile, although none of its hits is one of them', () => {
  assert.deepEqual(searched([put('near', FAR)]), [['next::c'], true]);
  assert.deepEqual(searched([removalOf(ref, 'near')]), [['next::c'], true]);
});

test('rescoring uses the current vectors, but the first row versions, so that removals are noticed', () => {
  const [kernel, directory] = [createKernel(), tempDirectory()];
  const shard = shardOn(ShardStore.open(directory, false), [kernel]);
  try {
    applyWrites(shard, [put('near', Float32Array.of(1, 0)), put('next', Float32Array.of(1, 1))]);
    const anew = viewed({ shard, kernel, directory }, ref, (view) => {
      const first = rankSegment(view, search, NO_STATISTICS);
      applyWrites(shard, [put('near', FAR)]);
      return { first, again: withVectorAnew(view, search, NO_STATISTICS, first) };
    });
    const { first, again } = anew;
    assert.ok(Math.abs((first.vector.scores[0] as number) - 1) < 1e-3, 'the nearest of then');
    assert.ok(Math.abs((again.vector.scores[0] as number) - Math.SQRT1_2) < 1e-3, 'the nearest of now');
    assert.deepEqual([again.before, again.removals, again.chunks], [first.before, first.removals, first.chunks]);
    assert.ok(again.vectorMs >= first.vectorMs);
  } finally {
    shard.close();
  }
});
