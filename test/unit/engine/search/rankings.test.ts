// The vector ranking of a segment, compared with a naive version that scores every chunk: few or many priorities, with
// and without a bitmap, and equal scores in the order of documents and chunks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../../src/base/prng.js';
import type { CollectionId, Ordinal } from '../../../../src/api/ids.js';
import { comparePositions } from '../../../../src/ranking/top-k.js';
import { withPriority } from '../../../../src/ranking/scores.js';
import { ShardStore } from '../../../../src/storage/shard-store.js';
import { bitmapOf, isSet } from '../../../../src/engine/filter/bitmap.js';
import type { Segment } from '../../../../src/engine/segments/segment.js';
import { type Shard } from '../../../../src/engine/shard.js';
import type { DocumentWrite } from '../../../../src/engine/write/commands.js';
import { applyWrites } from '../../../../src/engine/write/write.js';
import { rankByVector } from '../../../../src/engine/search/rank.js';
import { breakTies } from '../../../../src/engine/search/merge.js';
import { tempDirectory } from '../../../kit/temp.js';
import { createKernel, shardOn } from '../../../kit/engine/arena.js';
import { searchFor, viewed } from '../../../kit/engine/search.js';
import { putOf, removalOf } from '../../../kit/engine/writes.js';

const ref = { id: 1 as CollectionId, generation: 1, dim: 3, language: 'none' as const, precision: 'int16' as const };
const QUERY = Float32Array.of(1, 0.5, 0);
/** Mode hybrid ranks by vector without priorities. */
const NO_TERMS = { mode: 'hybrid' as const, terms: [], counts: [] };

function put(prng: Prng, docid: string, priority: number): DocumentWrite {
  const chunks = Array.from({ length: 1 + prng.int(4) }, (_, i) => ({ path: `c${i}`, metaJson: '{}' }));
  // Vectors have few directions, so that many scores are equal.
  const vectors = chunks.map(() => [1 + prng.int(3), prng.int(4), prng.int(3)]);
  return putOf(ref, docid, { chunks, vectors, priority });
}

function naive(
  shard: Shard,
  segment: Segment,
  k: number,
  fits: (ordinal: number) => boolean,
  prioritized: boolean,
): [number, number][] {
  const cosines = segment.index.scoresOf(QUERY, Uint32Array.from(Array(segment.ordinals.end).keys()));
  return shard.store.read((txn) => {
    const scored = [...cosines.keys()]
      .filter((ordinal) => !Number.isNaN(cosines[ordinal]) && fits(ordinal))
      .map((ordinal) => {
        const cosine = cosines[ordinal] as number;
        const priority = segment.priorities.of(ordinal as Ordinal);
        return {
          ordinal,
          score: prioritized ? withPriority(cosine, priority) : cosine,
          chunk: txn.chunk(ref.id, ordinal as Ordinal),
        };
      });
    scored.sort((a, b) => b.score - a.score || comparePositions(a.chunk, b.chunk));
    return scored.slice(0, k).map(({ ordinal, score }) => [ordinal, score]);
  });
}

for (const share of [0, 0.05, 0.6]) {
  test(`the ranking is as if every chunk were scored, with ${share * 100} % of the documents prioritized`, () => {
    const prng = createPrng(7);
    const [kernel, directory] = [createKernel(), tempDirectory()];
    const shard = shardOn(ShardStore.open(directory, false), [kernel]);
    const priorityOf = (): number => (prng.next() < share ? ([1, 0.5, -0.5, -1][prng.int(4)] as number) : 0);
    applyWrites(
      shard,
      Array.from({ length: 200 }, (_, i) => put(prng, `D${i}`, priorityOf())),
    );
    applyWrites(
      shard,
      Array.from({ length: 50 }, (_, i) =>
        i % 2 === 0 ? removalOf(ref, `D${3 * i}`) : put(prng, `D${3 * i}`, priorityOf()),
      ),
    );
    const segment = shard.segments.of(ref.id)[0] as Segment;
    for (const k of [1, 5, 40, 1000]) {
      for (const matching of [1, 0.5, 0.1, 0.01, undefined]) {
        const ordinals = [...Array(segment.ordinals.end).keys()].filter(() => prng.next() < (matching ?? 1));
        const allowed = matching === undefined ? undefined : bitmapOf(ordinals, segment.ordinals.end);
        for (const prioritized of [true, false]) {
          const search = searchFor(ref, { k, vector: QUERY, ...(!prioritized && { lexical: NO_TERMS }) });
          const ranked = viewed({ shard, kernel, directory }, ref, (view) =>
            breakTies(view, view.segment!, rankByVector(view.segment!, search, { allowed }), k),
          ).map(({ ordinal, score }) => [ordinal, score]);
          assert.deepEqual(
            ranked,
            naive(shard, segment, k, (ordinal) => !allowed || isSet(allowed, ordinal), prioritized),
            `k ${k}, ${matching} matching, ${prioritized}`,
          );
        }
      }
    }
  });
}
