// Vector search in one collection's part: the exact order of the contract out of the kernel's scores. Priorities change
// the score before the k best are chosen; equal scores are ordered by document id and chunk order. Shard worker only.
import type { CollectionId, Ordinal } from '../../src/contract/ids.js';
import type { ShardAnswer, ShardHits, ShardRequest } from '../../src/contract/messages.js';
import { comparePositions, type Position } from '../../src/rank/merge.js';
import { withPriority } from '../../src/rank/priority.js';
import type { ShardTxn } from '../../src/store/shard-store.js';
import type { Part } from './part.js';
import type { Shard } from './shard.js';

interface Scored {
  ordinal: Ordinal;
  stamp: number;
  cosine: number;
  score: number;
}

/** The k best chunks of this shard's part of the collection, and no more. */
export function search(shard: Shard, { collection, vector, k }: ShardRequest<'search'>): ShardHits {
  const part = shard.part(collection.id);
  if (!part || part.index.liveCount === 0) return pack([]);
  const nearest = part.priorities.size === 0 ? byCosine(part, vector, k) : undefined;
  return pack(breakTies(shard, part, nearest ?? byFullScan(part, vector, k)).slice(0, k));
}

/** The k nearest and one more; undefined where these two are equal, for then more may be equal that were not seen. */
function byCosine(part: Part, vector: Float32Array, k: number): Scored[] | undefined {
  const { count, ordinals, stamps, scores } = part.index.search(vector, k + 1);
  if (count > k && scores[k] === scores[k - 1]) return undefined;
  return Array.from({ length: count }, (_, i) => {
    const cosine = scores[i] as number;
    return { ordinal: ordinals[i] as Ordinal, stamp: stamps[i] as number, cosine, score: cosine };
  });
}

/** Scores every chunk and keeps the k best with all that equal the k-th: a boosted one may come from far below the k nearest. */
function byFullScan(part: Part, vector: Float32Array, k: number): Scored[] {
  const cosines = part.index.scores(vector);
  const scored: Scored[] = [];
  let floor = -Infinity;
  let cutAt = 4 * k + 1024;
  for (let row = 0; row < cosines.length; row++) {
    const ordinal = row as Ordinal;
    const cosine = cosines[row] as number;
    const score = withPriority(cosine, part.priorities.get(ordinal) ?? 0);
    // The score of a row that is not live is NaN, which fails here too.
    if (!(score >= floor)) continue;
    if (scored.push({ ordinal, stamp: part.index.stampOf(ordinal), cosine, score }) < cutAt) continue;
    floor = keepBest(scored, k);
    cutAt = 2 * scored.length + 1024;
  }
  return scored.sort((a, b) => b.score - a.score);
}

/** Cuts `scored` to the k best and those equal to the k-th; answers the k-th score. */
function keepBest(scored: Scored[], k: number): number {
  scored.sort((a, b) => b.score - a.score);
  const floor = (scored[k - 1] as Scored).score;
  let end = k;
  while (end < scored.length && (scored[end] as Scored).score === floor) end++;
  scored.length = end;
  return floor;
}

function breakTies(shard: Shard, part: Part, scored: Scored[]): Scored[] {
  const tied = scored.some(({ score }, i) => i > 0 && score === scored[i - 1]?.score);
  if (!tied) return scored;
  return shard.store.read((txn) => {
    const positions = new Map(scored.map(({ ordinal }) => [ordinal, positionOf(txn, part.ref.id, ordinal)]));
    const at = ({ ordinal }: Scored): Position => positions.get(ordinal) as Position;
    return scored.sort((a, b) => b.score - a.score || comparePositions(at(a), at(b)));
  });
}

function positionOf(txn: ShardTxn, id: CollectionId, ordinal: Ordinal): Position {
  const { docid, index } = txn.chunk(id, ordinal);
  return { docid, index };
}

/** Where chunks stand in their documents; for ties between shards. A chunk that has gone meanwhile sorts last. */
export function locate(shard: Shard, { collection, ordinals }: ShardRequest<'locate'>): ShardAnswer<'locate'> {
  const part = shard.part(collection);
  return shard.store.read((txn) =>
    [...(ordinals as unknown as Iterable<Ordinal>)].map((ordinal) =>
      part?.index.isLive(ordinal) ? positionOf(txn, collection, ordinal) : { docid: '\u{10ffff}', index: 0 },
    ),
  );
}

function pack(scored: readonly Scored[]): ShardHits {
  return {
    ordinals: Uint32Array.from(scored, ({ ordinal }) => ordinal),
    stamps: Uint32Array.from(scored, ({ stamp }) => stamp),
    scores: Float64Array.from(scored, ({ score }) => score),
    cosines: Float32Array.from(scored, ({ cosine }) => cosine),
  };
}
