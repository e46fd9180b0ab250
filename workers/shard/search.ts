// Search in one shard's part of a collection: what may be ranked at all, which rankings the mode wants, how long each took, and
// their packing for the front thread, which merges and fuses. Shard worker only; called by commands.ts.
import type { ShardRequest } from '../../src/contract/messages.js';
import type { RankedList, ShardHits } from '../../src/contract/ranking.js';
import { cosinesOf, sampleCosines, wordScores } from './given-chunks.js';
import type { Part } from './part.js';
import { wordsOf } from './part-words.js';
import { rankByVector, rankByWords, type Depth, type Scored } from './rankings.js';
import { prepareSelection, select } from './selection.js';
import type { Shard } from './shard.js';
import type { WordIndex } from './words/word-index.js';

type SearchRequest = ShardRequest<'search'>;

/** The k best chunks of this shard's part of the collection in each ranking, and no more. null while what it needs is being indexed: ask again. */
export function search(shard: Shard, request: SearchRequest): ShardHits | null {
  const { collection, lexical, narrowing, k } = request;
  const part = shard.part(collection.id);
  if (!part || part.index.liveCount === 0) return nothing(lexical?.mode === 'hybrid');
  const words = lexical && wordsOf(shard, part);
  const isSelectable = !narrowing || prepareSelection(shard, part, narrowing);
  if ((lexical && !words) || !isSelectable) return null;
  const startedAtMs = performance.now();
  const allowed = narrowing && select(shard, part, narrowing);
  const filterMs = performance.now() - startedAtMs;
  const sample = request.sample && request.vector && sampleCosines(part, request.vector);
  return { ...rank(shard, part, request, { k, allowed }, words), ...(sample && { sample }), filterMs };
}

function rank(shard: Shard, part: Part, { vector, lexical, bothScores }: SearchRequest, depth: Depth, words?: WordIndex): Omit<ShardHits, 'filterMs'> {
  const startedAtMs = performance.now();
  const nearest = vector ? rankByVector(shard, part, vector, depth, lexical?.mode !== 'hybrid') : [];
  const byVector = pack(nearest, lexical && part);
  const vectorMs = performance.now() - startedAtMs;
  if (lexical?.mode === 'boost') byVector.matched = words?.matched(byVector.ordinals, lexical.terms);
  const byWords = lexical?.mode === 'hybrid' && words ? pack(rankByWords(shard, part, words, lexical, depth), part) : undefined;
  if (bothScores && vector && lexical?.mode === 'hybrid' && words && byWords) {
    byVector.words = wordScores(words, lexical, byVector.ordinals);
    byWords.cosines = cosinesOf(part, vector, byWords.ordinals);
  }
  return { vector: byVector, ...(byWords && { lexical: byWords }), vectorMs, lexicalMs: performance.now() - startedAtMs - vectorMs };
}

const nothing = (withWords: boolean): ShardHits => ({ vector: pack([]), ...(withWords && { lexical: pack([]) }), filterMs: 0, vectorMs: 0, lexicalMs: 0 });

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
