// Work a shard does between batches, in slices short enough that no search notices: indexing words or metadata that a search
// waits for, linking new vectors into the graph, merging what is indexed, and removing what dropped collections left in the store. Shard worker only.
import { AppError } from '../../src/contract/errors.js';
import { buildFields } from './part-fields.js';
import { buildWords } from './part-words.js';
import type { Shard } from './shard.js';

/** A search may wait this long behind a slice. */
const SLICE_MS = 2;
const LINK_STEP = 4;
const PURGE_STEP = 500;

export class Background {
  private scheduled: NodeJS.Immediate | undefined;

  /** Looks for work after the messages that are already waiting. */
  wake(shard: Shard): void {
    this.scheduled ??= setImmediate(() => {
      this.scheduled = undefined;
      if (slice(shard)) this.wake(shard);
    });
  }

  stop(): void {
    clearImmediate(this.scheduled);
  }
}

/** Works for one slice; true when there is more to do. */
function slice(shard: Shard): boolean {
  const until = performance.now() + SLICE_MS;
  for (const part of shard.allParts()) {
    if (!buildWords(shard, part, until) || !buildFields(shard, part, until)) return true;
  }
  for (const { index } of shard.allParts()) {
    while (index.pendingCount > 0) {
      if (index.linkSome(LINK_STEP) === 0) break;
      if (performance.now() >= until) return true;
    }
  }
  for (const { words, fields } of shard.allParts()) {
    if (words?.mergeSome(until - performance.now()) || fields?.mergeSome(until - performance.now())) return true;
  }
  return purge(shard);
}

/** Removes a bounded number of entries. With the disk full it waits for the next wake: removing takes space too. */
function purge(shard: Shard): boolean {
  const id = shard.purges[0];
  if (id === undefined) return false;
  try {
    if (shard.store.write((txn) => txn.purgeSome(id, PURGE_STEP))) shard.purges.shift();
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
  return shard.purges.length > 0;
}
