// Brings the lexical index of a part about and counts the terms of a query in it: the first step of a search in mode boost or
// hybrid. A small part is indexed at once, a large one in slices between other work. Shard worker only.
import type { LexicalStatistics } from '../../src/contract/ranking.js';
import type { ShardRequest } from '../../src/contract/messages.js';
import { LexicalIndex } from './lexical-index.js';
import type { Part } from './part.js';
import type { Shard } from './shard.js';

/** How long the search that comes first may keep the shard to itself. */
const FIRST_SLICE_MS = 10;
/** Postings in the indexes of one shard: about 400 MB. Beyond, what other collections have is dropped, and built anew when asked for. */
const POSTINGS_MAX = 64 * 1024 * 1024;

/** null while the index is being built: ask again. */
export function countTerms(shard: Shard, { collection, terms }: ShardRequest<'countTerms'>): LexicalStatistics | null {
  const part = shard.part(collection);
  if (!part) return { chunks: 0, tokens: 0, frequencies: terms.map(() => 0) };
  if (!part.lexical) {
    part.lexical = new LexicalIndex();
    makeRoom(shard.allParts(), part);
    buildLexical(shard, part, performance.now() + FIRST_SLICE_MS);
  }
  return part.lexical.isComplete ? part.lexical.statistics(terms) : null;
}

/** The complete index of a part: where its worker has died since the terms were counted, it is built here and now. */
export function completeLexical(shard: Shard, part: Part): LexicalIndex {
  part.lexical ??= new LexicalIndex();
  buildLexical(shard, part, Infinity);
  return part.lexical;
}

/** Goes on with the index that a search has asked for; true when there is nothing more to do. */
export function buildLexical(shard: Shard, part: Part, untilMs: number): boolean {
  const { lexical } = part;
  if (!lexical || lexical.isComplete) return true;
  return shard.store.read((txn) => lexical.build((from) => txn.texts(part.ref.id, from), untilMs));
}

/** Drops complete indexes only: two large collections in turn are slow, but both are served. */
export function makeRoom(parts: Iterable<Pick<Part, 'lexical'>>, keep: Pick<Part, 'lexical'>, postingsMax = POSTINGS_MAX): void {
  const others = [...parts].filter((part) => part !== keep && part.lexical?.isComplete);
  const postings = others.reduce((sum, { lexical }) => sum + (lexical?.postingCount ?? 0), 0);
  if (postings < postingsMax) return;
  for (const other of others) other.lexical = undefined;
}
