// A sample of a part's vectors, as the store has them: to be searched for, so that it shows what searches find. Which
// ones is the caller's choice, by places: a worker draws no random numbers. Shard worker only; called by commands.ts.
import { chunkIdOf, type Ordinal } from '../../src/contract/ids.js';
import type { ShardAnswer, ShardRequest } from '../../src/contract/messages.js';
import type { Part } from './part.js';
import type { Shard } from './shard.js';

/** Rows looked at for a live one from each place on. */
const STEPS_MAX = 4096;

/**
 * null while the part is being loaded. Places without a live row behind them, and rows without direction, are left out.
 */
export function sampleVectors(
  shard: Shard,
  { collection: ref, places }: ShardRequest<'sampleVectors'>,
): ShardAnswer<'sampleVectors'> {
  if (!shard.loads.bring(ref)) return null;
  const parts = shard.parts.of(ref.id);
  const ids: string[] = [];
  const rows: Float32Array[] = [];
  if (parts.some(({ ordinals }) => ordinals.end > 0)) {
    shard.store.read((txn) => {
      for (const ordinal of new Set(Array.from(places, (place) => liveAt(parts, place)))) {
        const vector = ordinal === undefined ? undefined : txn.vector(ref, ordinal);
        if (ordinal === undefined || !vector || vector.every((value) => value === 0)) continue;
        const { docid, path } = txn.chunk(ref.id, ordinal);
        ids.push(chunkIdOf(docid, path));
        rows.push(vector);
      }
    });
  }
  const vectors = new Float32Array(rows.length * ref.dim);
  rows.forEach((row, i) => vectors.set(row, i * ref.dim));
  return { ids, vectors };
}

/**
 * The ordinal of the first live row from a place in [0, 1) on: the parts stand one after the other, and each goes round
 * at its end.
 */
function liveAt(parts: readonly Part[], place: number): Ordinal | undefined {
  let left = Math.floor(place * parts.reduce((sum, { ordinals }) => sum + ordinals.end, 0));
  for (const part of parts) {
    const { end } = part.ordinals;
    if (left < end) return firstLive(part, left);
    left -= end;
  }
  return undefined;
}

function firstLive(part: Part, first: number): Ordinal | undefined {
  const { end } = part.ordinals;
  for (let step = 0; step < Math.min(end, STEPS_MAX); step++) {
    const row = ((first + step) % end) as Ordinal;
    if (part.index.isLive(row)) return part.stored(row);
  }
  return undefined;
}
