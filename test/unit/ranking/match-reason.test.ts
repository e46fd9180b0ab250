// The match_reason of hits, as the contract words it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Basis } from '../../../src/ranking/scores.js';
import type { FusionSettings } from '../../../src/api/search.js';
import { matchReason, rerankReason } from '../../../src/engine/search/hit-json.js';

const PLAIN = { key: 'prio_boost', value: 0, before: 0, after: 0 };
const NO_META = (): never => assert.fail('metadata is not wanted');

const fusion: FusionSettings = { method: 'rank', k: 60, weights: { vector: 1, lexical: 1 } };
const weighed: FusionSettings = { method: 'rank', k: 10, weights: { vector: 2, lexical: 0.5 } };
const scores: FusionSettings = { method: 'score', weights: { vector: 0.6, lexical: 0.4 } };

const bases: [Basis, string][] = [
  [{ mode: 'vector', cosine: 0.7123 }, 'vector: cosine 0.712'],
  [
    { mode: 'boost', cosine: 0.7123, boost: 0.2 / 3, matched: 2, wanted: 3, isWidened: false },
    'boost: cosine 0.712 + 0.067 for exact tokens 2/3',
  ],
  [
    { mode: 'hybrid', fusion, cosine: 0.7123, vectorRank: 1, lexicalRank: 3 },
    'hybrid: vector rank 1 (cosine 0.712) + lexical rank 3, each 1/(60+rank)',
  ],
  [{ mode: 'hybrid', fusion, cosine: 0.7123, vectorRank: 1 }, 'hybrid: vector rank 1 (cosine 0.712), each 1/(60+rank)'],
  [{ mode: 'hybrid', fusion, lexicalRank: 3 }, 'hybrid: lexical rank 3, each 1/(60+rank)'],
  [
    { mode: 'hybrid', fusion: weighed, cosine: 0.7123, vectorRank: 1, lexicalRank: 3 },
    'hybrid: 2 * vector rank 1 (cosine 0.712) + 0.5 * lexical rank 3, each weight/(10+rank)',
  ],
  [
    { mode: 'hybrid', fusion: scores, cosine: 0.7123, bm25: 3, share: 0.25, vectorRank: 1 },
    'hybrid: 0.6 * cosine 0.712 + 0.4 * lexical 0.250',
  ],
  [{ mode: 'hybrid', fusion: scores, bm25: 3, share: 0.25, lexicalRank: 1 }, 'hybrid: 0.4 * lexical 0.250'],
];
for (const [basis, expected] of bases)
  test(expected, () => assert.equal(matchReason(basis, { fields: [] }, NO_META, PLAIN), expected));

test('filters, content and priority follow in this order', () => {
  const meta = () => [{ row: 3 }, { lang: 'de', tags: ['a', 'b'], row: 1 }];
  const filteredBy = { fields: ['lang', 'tags', 'row', 'gone'], contentOp: 'phrase' as const };
  const reason = matchReason({ mode: 'vector', cosine: 0.712 }, filteredBy, meta, {
    key: 'prio_boost',
    value: 0.5,
    before: 0.712,
    after: 1.068,
  });
  assert.equal(
    reason,
    'vector: cosine 0.712; filters: lang=de, tags=["a","b"], row=3, gone=null; content phrase match; priority: prio_boost +0.50, 0.712 -> 1.068',
  );
});

test('a long stored value is cut, between characters', () => {
  const reason = matchReason(
    { mode: 'vector', cosine: 1 },
    { fields: ['a'] },
    () => [{ a: `${'x'.repeat(199)}😀y` }],
    PLAIN,
  );
  assert.equal(reason, `vector: cosine 1.000; filters: a=${'x'.repeat(199)}…`);
});

test('a reranker tells its score, and what the priority made of it', () => {
  assert.equal(
    rerankReason('vector: cosine 0.712', 'cross', 0.98, { ...PLAIN, before: 0.98, after: 0.98 }),
    'vector: cosine 0.712; rerank: cross 0.980',
  );
  const lowered = rerankReason('hybrid: lexical rank 3, each 1/(60+rank)', 'cross', 0.98, {
    key: 'prio_boost',
    value: -0.5,
    before: 0.98,
    after: 0.49,
  });
  assert.equal(
    lowered,
    'hybrid: lexical rank 3, each 1/(60+rank); rerank: cross 0.980; priority: prio_boost -0.50, 0.980 -> 0.490',
  );
});
