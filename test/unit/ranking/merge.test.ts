// The merge of ranked lists, compared with a naive version: concatenate, sort, cut.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { crossShardTies, mergeRanked } from '../../../src/ranking/top-k.js';
import { compareUtf8 } from '../../../src/base/bytes.js';

test('merges like sorting everything, for random lists with many equal scores', () => {
  const seed = 20261121;
  const prng = createPrng(seed);
  for (let round = 0; round < 500; round++) {
    const lists = Array.from({ length: 1 + prng.int(5) }, () =>
      Float64Array.from({ length: prng.int(12) }, () => prng.int(6) / 8)
        .sort()
        .reverse(),
    );
    const k = 1 + prng.int(10);
    const merged = mergeRanked(lists, k).map(({ shard, at }) => lists[shard]?.[at]);
    const all = lists.flatMap((list) => [...list]).sort((a, b) => b - a);
    const kth = all[k - 1];
    const expected = kth === undefined ? all : all.filter((score, i) => i < k || score === kth);
    assert.deepEqual(merged, expected, `seed ${seed} round ${round}`);
  }
});

test('an entry of a list is taken once and in order', () => {
  const places = mergeRanked([Float64Array.of(0.9, 0.5), Float64Array.of(0.7, 0.6)], 4);
  assert.deepEqual(places, [
    { shard: 0, at: 0 },
    { shard: 1, at: 0 },
    { shard: 1, at: 1 },
    { shard: 0, at: 1 },
  ]);
});

test('ties are told only where they span shards and reach into the first k', () => {
  const lists = [Float64Array.of(0.9, 0.9, 0.5), Float64Array.of(0.8, 0.5)];
  assert.deepEqual(crossShardTies(lists, mergeRanked(lists, 4), 4), [[3, 5]]);
  assert.deepEqual(crossShardTies(lists, mergeRanked(lists, 3), 3), []);
});

test('document ids order by UTF-8 bytes', () => {
  const prng = createPrng(31);
  const id = (): string =>
    Array.from(
      { length: prng.int(4) },
      () => ['a', 'b', '\u00e9', '\ud7ff', '\ue000', '\uffee', '\u{10000}', '\u{1f600}', '\u{10ffff}'][prng.int(9)],
    ).join('');
  for (let n = 0; n < 5000; n++) {
    const [a, b] = [id(), id()];
    assert.equal(Math.sign(compareUtf8(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)), JSON.stringify([a, b]));
  }
  assert.deepEqual(['\u{1f600}', '\uffee', 'b', 'a'].sort(compareUtf8), ['a', 'b', '\uffee', '\u{1f600}']);
});
