// BM25, the boost and the fusion: their formulas at points computed by hand, and at their limits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bm25Of, greatestBm25, sumStatistics } from '../../../src/ranking/bm25.js';
import { boostOf, fusedScore, fuseRankings, fusionSettings } from '../../../src/ranking/scores.js';

test('a BM25 weight by hand', () => {
  // 10 chunks of 5 tokens on average, 2 of them with the term; a chunk of 10 tokens that has it 3 times.
  const { factors, norm, normPerToken, scale } = bm25Of({ chunks: 10, tokens: 50, frequencies: [2] });
  const weight = (factors[0] as number) / (1 + (norm + normPerToken * 10) / 3) / scale;
  const idf = Math.log(1 + 8.5 / 2.5);
  assert.ok(Math.abs(weight - (idf * 3 * 2.2) / (3 + 1.2 * (0.25 + 0.75 * 2))) < 1e-6);
});

test('a term that every chunk has still weighs something, and no statistics give no NaN', () => {
  assert.ok((bm25Of({ chunks: 4, tokens: 4, frequencies: [4] }).factors[0] as number) > 0);
  const none = bm25Of({ chunks: 0, tokens: 0, frequencies: [] });
  assert.ok([none.norm, none.normPerToken, none.scale].every(Number.isFinite));
  assert.ok(
    (bm25Of({ chunks: 1, tokens: 1, frequencies: [3] }).factors[0] as number) > 0,
    'counted while chunks were being removed',
  );
});

test('statistics of shards add up', () => {
  const parts = [
    { chunks: 1, tokens: 5, frequencies: [1, 0] },
    { chunks: 2, tokens: 7, frequencies: [2, 1] },
  ];
  assert.deepEqual(sumStatistics(parts, [1, 4]), { chunks: 3, tokens: 12, frequencies: [3, 1], counts: [1, 4] });
  assert.deepEqual(sumStatistics([], [1]), { chunks: 0, tokens: 0, frequencies: [0], counts: [1] });
});

test('a term that stands three times in the query counts three times', () => {
  const statistics = { chunks: 10, tokens: 50, frequencies: [2, 5] };
  const [once, thrice] = [
    [1, 1],
    [3, 1],
  ].map((counts) => bm25Of({ ...statistics, counts }));
  const weights = ({ factors, scale }: ReturnType<typeof bm25Of>): number[] => [...factors].map((one) => one / scale);
  const [first, second] = weights(once as ReturnType<typeof bm25Of>) as [number, number];
  const [tripled, same] = weights(thrice as ReturnType<typeof bm25Of>) as [number, number];
  assert.ok(Math.abs(tripled / first - 3) < 1e-6 && Math.abs(same / second - 1) < 1e-6);
  const most = greatestBm25({ ...statistics, counts: [3, 1] });
  assert.ok(Math.abs(most - 3 * first - second) < 1e-6, String(most));
});

test('a boost is the weight times the share of tokens', () => {
  assert.equal(boostOf(0.1, 2, 4), 0.05);
  assert.equal(boostOf(0.1, 0, 0), 0);
});

test('fusion adds reciprocal ranks', () => {
  const ranks = fuseRankings(['a', 'b'], ['b', 'c']);
  assert.deepEqual(
    [...ranks],
    [
      ['a', { vectorRank: 1 }],
      ['b', { vectorRank: 2, lexicalRank: 1 }],
      ['c', { lexicalRank: 2 }],
    ],
  );
  const plain = fusionSettings({ method: 'rank' });
  assert.deepEqual(
    [...ranks.values()].map((halves) => fusedScore(plain, halves)),
    [1 / 61, 1 / 62 + 1 / 61, 1 / 62],
  );
  const weighed = fusionSettings({ method: 'rank', k: 0, weights: { vector: 2, lexical: 0.5 } });
  assert.deepEqual(
    [...ranks.values()].map((halves) => fusedScore(weighed, halves)),
    [2, 1 + 0.5, 0.25],
  );
});

test('fusion of scores adds the cosine and the share of the best BM25, each by its weight', () => {
  const scores = fusionSettings({ method: 'score', weights: { vector: 0.5, lexical: 2 } });
  assert.equal(fusedScore(scores, { vectorRank: 9, cosine: 0.5, share: 0.25 }), 0.75);
  assert.equal(fusedScore(scores, { cosine: -0.5 }), -0.25);
});

test("fusion fields that a search leaves out come from the server's setting where the method is the same, else from the defaults", () => {
  const [rank, score] = [
    fusionSettings({ method: 'rank', k: 5, weights: { vector: 3, lexical: 4 } }),
    fusionSettings({ method: 'score' }),
  ];
  assert.deepEqual(score, { method: 'score', weights: { vector: 0.6, lexical: 0.4 } });
  assert.deepEqual(fusionSettings({ method: 'rank', k: null, weights: null }, rank), rank);
  assert.deepEqual(fusionSettings({ method: 'rank', k: 0 }, rank), { ...rank, k: 0 });
  assert.deepEqual(fusionSettings({ method: 'score' }, rank), score);
  assert.deepEqual(fusionSettings({ method: 'rank' }, score), {
    method: 'rank',
    k: 60,
    weights: { vector: 1, lexical: 1 },
  });
});
