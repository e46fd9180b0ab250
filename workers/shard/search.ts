// Search in one shard's part of a collection: which rankings the mode wants, how long they took, and their packing for the
// front thread, which merges and fuses. Shard worker only; called by commands.ts.
import type { ShardRequest } from '../../src/contract/messages.js';
import type { RankedList, ShardHits } from '../../src/contract/ranking.js';
import { completeLexical } from './count-terms.js';
import { Narrower } from './narrower.js';
import type { Part } from './part.js';
import { rankByVector, rankByWords, type Scored } from './rankings.js';
import type { Shard } from './shard.js';

type SearchRequest = ShardRequest<'search'>;

/** The k best chunks of this shard's part of the collection in each ranking, and no more. */
export function search(shard: Shard, request: SearchRequest): ShardHits {
  const { collection, lexical, narrowing } = request;
  const part = shard.part(collection.id);
  if (!part || part.index.liveCount === 0) {
    return { vector: pack([]), ...(lexical?.mode === 'hybrid' && { lexical: pack([]) }), filterMs: 0, vectorMs: 0, lexicalMs: 0 };
  }
  if (!narrowing) return rank(shard, part, request);
  return shard.store.read((txn) => rank(shard, part, request, new Narrower(txn, part, shard.parsed, narrowing)));
}

function rank(shard: Shard, part: Part, { vector, k, lexical }: SearchRequest, narrower?: Narrower): ShardHits {
  const clock = new PhaseClock(narrower);
  const nearest = vector ? rankByVector(shard, part, vector, { k, narrower }, lexical?.mode !== 'hybrid') : [];
  const byVector = pack(nearest, lexical && part);
  const vectorMs = clock.lapMs();
  if (lexical?.mode === 'boost') byVector.matched = matchedTerms(shard, part, byVector.ordinals, lexical.terms);
  const byWords = lexical?.mode === 'hybrid' ? { lexical: pack(rankByWords(shard, part, lexical, { k, narrower }), part) } : {};
  return { vector: byVector, ...byWords, vectorMs, lexicalMs: clock.lapMs(), filterMs: narrower?.spentMs ?? 0 };
}

function matchedTerms(shard: Shard, part: Part, ordinals: Uint32Array, terms: readonly string[]): Uint16Array {
  const index = completeLexical(shard, part);
  return Uint16Array.from(ordinals, (ordinal) => index.matched(ordinal, terms));
}

/** With the priorities of `part`, where it is given and has any. */
function pack(scored: readonly Scored[], part?: Part): RankedList {
  const list: RankedList = {
    ordinals: Uint32Array.from(scored, ({ ordinal }) => ordinal),
    stamps: Uint32Array.from(scored, ({ stamp }) => stamp),
    scores: Float64Array.from(scored, ({ score }) => score),
    cosines: Float32Array.from(scored, ({ cosine }) => cosine),
  };
  if (part && part.priorities.size > 0) list.priorities = Float64Array.from(scored, ({ ordinal }) => part.priorities.get(ordinal) ?? 0);
  return list;
}

/** Tells the phases of a search apart; what the filters took is in none of them. */
class PhaseClock {
  private startedAtMs = performance.now();
  private filteredMs = 0;

  constructor(private readonly narrower: Narrower | undefined) {}

  /** Since the clock was made or last asked. */
  lapMs(): number {
    const nowMs = performance.now();
    const spentMs = this.narrower?.spentMs ?? 0;
    const lap = nowMs - this.startedAtMs - (spentMs - this.filteredMs);
    [this.startedAtMs, this.filteredMs] = [nowMs, spentMs];
    return lap;
  }
}
