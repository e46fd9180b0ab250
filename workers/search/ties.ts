// Puts hits of equal score in the order of the contract, by document id and chunk order, which the records know and the
// thread remembers (hit-cache.ts). Search workers only; called for the rankings of a shard, and where those of all
// shards are merged and scored.
import type { Ordinal } from '../../src/contract/ids.js';
import type { ChunkPosition } from '../../src/contract/ranking.js';
import { comparePositions } from '../../src/rank/merge.js';
import type { PartView } from '../shard/part-view.js';
import type { ShardView } from './shard-view.js';

export interface Row {
  readonly ordinal: Ordinal;
  readonly stamp: number;
}

interface Scored extends Row {
  readonly score: number;
}

/** Behind every other. */
export const GONE: ChunkPosition = { docid: '\u{10ffff}', index: 0, path: '' };

/**
 * The k first of `scored`, which is sorted best first. Where chunks stand is asked of those alone that equal another,
 * within the k or across their end.
 */
export function breakTies<S extends Scored>(view: ShardView, part: PartView, scored: readonly S[], k: number): S[] {
  const ordered: S[] = [];
  while (ordered.length < Math.min(k, scored.length)) {
    const start = ordered.length;
    let end = start + 1;
    while (end < scored.length && scored[end]?.score === scored[start]?.score) end++;
    if (end - start === 1) ordered.push(scored[start] as S);
    else for (const hit of byPosition(view, part, scored.slice(start, end))) ordered.push(hit);
  }
  return ordered.slice(0, k);
}

function byPosition<S extends Scored>(view: ShardView, part: PartView, run: readonly S[]): S[] {
  const placed = run.map((hit) => ({ hit, position: positionOf(view, part, hit) }));
  return placed.sort((a, b) => comparePositions(a.position, b.position)).map(({ hit }) => hit);
}

/** Where a chunk stands. One that has gone meanwhile stands last, and its hit is left out later on (hydrate.ts). */
export function positionOf(view: ShardView, part: PartView, { ordinal, stamp }: Row): ChunkPosition {
  const version = { memory: view.memory, collection: part.id, ordinal, stamp };
  const kept = view.cache.positions.get(version);
  if (kept) return kept;
  const chunk = view.txn.findChunk(part.id, part.stored(ordinal));
  if (!chunk) return GONE;
  const position = { docid: chunk.docid, index: chunk.index, path: chunk.path };
  if (part.index.stampOf(ordinal) === stamp) view.cache.positions.keep(version, position);
  return position;
}
