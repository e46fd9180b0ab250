// The words of a part: made when the first search in mode boost or hybrid, or with a content filter, asks for them. A
// small part is indexed at once, a large one in slices between other work, and searches wait for it. Shard worker only.
import type { Language } from '../../src/contract/language.js';
import { chunkTerms } from '../../src/text/rank-terms.js';
import { writerOf } from '../../src/text/term-writer.js';
import { ArenaFull } from './instance.js';
import type { Part } from './part.js';
import type { TermMaker } from './part-terms.js';
import type { Shard } from './shard.js';
import type { WordIndex } from './words/word-index.js';

/** How long the search that comes first may keep the shard to itself. */
const FIRST_SLICE_MS = 10;

/** Few texts are none for a writer. */
export const makerOf = (language: Language): TermMaker<string> => ({
  add: (index, ordinal, text) => {
    const written = writerOf(language).write(text);
    if (written) index.addWritten(ordinal, written);
    else index.add(ordinal, chunkTerms(text, language));
  },
  termsOf: (text) => chunkTerms(text, language),
});

/**
 * The complete index of words; undefined while it is being built: ask again. Throws ArenaFull where memory has no room
 * for it, and DamagedRecord.
 */
export function wordsOf(shard: Shard, part: Part): WordIndex | undefined {
  part.words?.assertSound();
  if (part.words?.isLost) part.words = undefined;
  prepareWords(shard, part);
  part.words?.assertSound();
  if (part.words?.isLost) throw new ArenaFull();
  return part.words?.complete;
}

/** Makes the index where there is none; false while it is being built. It may be lost, and is not tried again here. */
export function prepareWords(shard: Shard, part: Part, firstSliceMs = FIRST_SLICE_MS): boolean {
  if (!part.words) {
    part.words = shard.createTerms(part, 'words', makerOf(part.ref.language));
    buildWords(shard, part, performance.now() + firstSliceMs);
  }
  return part.words.isLost || part.words.complete !== undefined;
}

/** Goes on with the index that a checkpoint has brought back, if it has. */
export function resumeWords(shard: Shard, part: Part): void {
  part.words = shard.resumeTerms(part, 'words', makerOf(part.ref.language));
}

/** Goes on with the index that a search has asked for; true when there is nothing more to do. */
export function buildWords(shard: Shard, part: Part, untilMs: number): boolean {
  const { ref, words } = part;
  if (!words || words.complete) return true;
  return words.proceed(() =>
    shard.store.read((txn) => words.build((from) => part.within(txn.texts(ref.id, part.stored(from))), untilMs)),
  );
}
