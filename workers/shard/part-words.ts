// The words of a part: made when the first search in mode boost or hybrid, or with a content filter, asks for them. A small part
// is indexed at once, a large one in slices between other work, and searches wait for it. Shard worker only.
import type { ShardRequest } from '../../src/contract/messages.js';
import type { LexicalStatistics } from '../../src/contract/ranking.js';
import { chunkTerms } from '../../src/text/rank-terms.js';
import { ArenaFull } from './instance.js';
import type { Part } from './part.js';
import { PartTerms, type TermMaker } from './part-terms.js';
import type { Shard } from './shard.js';
import type { WordIndex } from './words/word-index.js';

/** How long the search that comes first may keep the shard to itself. */
const FIRST_SLICE_MS = 10;

const MAKER: TermMaker<string> = {
  add: (index, ordinal, text) => index.addText(ordinal, text),
  termsOf: chunkTerms,
};

/** The complete index of words; undefined while it is being built: ask again. Throws ArenaFull where memory has no room for it. */
export function wordsOf(shard: Shard, part: Part): WordIndex | undefined {
  if (!part.words || part.words.isLost) {
    part.words = new PartTerms(shard.createWords(), MAKER);
    buildWords(shard, part, performance.now() + FIRST_SLICE_MS);
  }
  if (part.words.isLost) throw new ArenaFull();
  return part.words.complete;
}

/** Goes on with the index that a search has asked for; true when there is nothing more to do. */
export function buildWords(shard: Shard, { ref, words }: Part, untilMs: number): boolean {
  if (!words || words.complete) return true;
  return shard.store.read((txn) => words.build((from) => txn.texts(ref.id, from), untilMs));
}

/** null while the index is being built. */
export function countTerms(shard: Shard, { collection, terms }: ShardRequest<'countTerms'>): LexicalStatistics | null {
  const part = shard.part(collection);
  if (!part) return { chunks: 0, tokens: 0, frequencies: terms.map(() => 0) };
  return wordsOf(shard, part)?.statistics(terms) ?? null;
}
