// One shard's part of a search: what may be ranked at all, which rankings the mode wants, how long each took, and their packing for
// whoever merges them with those of the other shards. Search workers only; called by search.ts.
import type { RankedList, ShardHits, ShardSearch } from '../../src/contract/ranking.js';
import type { PartView } from '../shard/part-view.js';
import type { WordIndex } from '../shard/words/word-index.js';
import { cosinesOf, sampleCosines, wordScores } from './given-chunks.js';
import { rankByVector, rankByWords, type Depth, type Scored } from './rankings.js';
import { select } from './selection.js';
import type { ShardView } from './shard-view.js';
import { breakTies } from './ties.js';

/** The k best chunks of this shard's part of the collection in each ranking, and no more. Requires that what it needs is indexed. */
export function rankPart(view: ShardView, search: ShardSearch): ShardHits {
  const { part, before, removals } = view;
  const { narrowing, lexical } = search;
  const chunks = part?.index.liveCount ?? 0;
  if (!part || chunks === 0) return { before, removals, chunks, ...nothing(lexical?.mode === 'hybrid') };
  const startedAtMs = performance.now();
  const allowed = narrowing && select(view, part, narrowing);
  const filterMs = narrowing ? performance.now() - startedAtMs : 0;
  const sample = search.sample && search.vector && sampleCosines(part, search.vector);
  return { before, removals, chunks, ...rank(view, part, search, { ...depthOf(search, chunks), allowed }), ...(sample && { sample }), filterMs };
}

/** Equal scores are looked at when everything is ranked: by then the store has all that was found. */
function rank(view: ShardView, part: PartView, search: ShardSearch, depth: Depth): Omit<ShardHits, 'before' | 'removals' | 'chunks' | 'filterMs'> {
  const { vector, lexical } = search;
  const startedAtMs = performance.now();
  const nearest = vector ? rankByVector(part, vector, depth, lexical?.mode !== 'hybrid') : [];
  const vectorMs = performance.now() - startedAtMs;
  const worded = lexical?.mode === 'hybrid' && part.words ? rankByWords(part, part.words, lexical, depth) : [];
  const finish = (scored: Scored[]): RankedList => pack(breakTies(view, part, scored).slice(0, depth.k), lexical && part);
  const byVector = finish(nearest);
  if (lexical?.mode === 'boost') byVector.matched = part.words?.matched(byVector.ordinals, lexical.terms);
  const byWords = lexical?.mode === 'hybrid' ? finish(worded) : undefined;
  if (search.bothScores && byWords && part.words) addOtherScores(part, part.words, search, byVector, byWords);
  return { vector: byVector, ...(byWords && { lexical: byWords }), vectorMs, lexicalMs: performance.now() - startedAtMs - vectorMs };
}

function addOtherScores(part: PartView, words: WordIndex, { vector, lexical }: ShardSearch, byVector: RankedList, byWords: RankedList): void {
  if (!vector || lexical?.mode !== 'hybrid') return;
  byVector.words = wordScores(words, lexical, byVector.ordinals);
  byWords.cosines = cosinesOf(part, vector, byWords.ordinals);
}

const depthOf = ({ k, ef, exact, chunks }: ShardSearch, own: number): Depth => ({ k, share: Math.min(1, own / (chunks ?? own)), ...(ef !== undefined && { ef }), ...(exact && { exact }) });

const nothing = (withWords: boolean): Omit<ShardHits, 'before' | 'removals' | 'chunks'> => ({ vector: pack([]), ...(withWords && { lexical: pack([]) }), filterMs: 0, vectorMs: 0, lexicalMs: 0 });

/** With the priorities of `part`, where it is given and has any. */
function pack(scored: readonly Scored[], part?: PartView): RankedList {
  const count = scored.length;
  const list: RankedList = { ordinals: new Uint32Array(count), stamps: new Uint32Array(count), scores: new Float64Array(count), cosines: new Float32Array(count) };
  for (let i = 0; i < count; i++) {
    const { ordinal, stamp, score, cosine } = scored[i] as Scored;
    [list.ordinals[i], list.stamps[i], list.scores[i], list.cosines[i]] = [ordinal, stamp, score, cosine];
  }
  const priorities = part?.priorities;
  if (priorities && priorities.count > 0) list.priorities = Float64Array.from(scored, ({ ordinal }) => priorities.of(ordinal));
  return list;
}
