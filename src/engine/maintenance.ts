// Maintenance of a shard between batches of commands, in slices short enough that no search notices: loading segments,
// indexing text or metadata that a search waits for, giving memory back, linking new vectors into the graph, merging
// what is indexed, and removing what dropped collections left in the store. Owner only.
import { AppError } from '../api/errors.js';
import { compactSome, reclaimSome } from './compaction.js';
import { SLICE_MS } from './segments/eviction.js';
import { buildFields, buildWords } from './segments/indexes.js';
import type { Shard } from './shard.js';

const LINK_STEP = 4;
export const PURGE_STEP = 500;
/** Between two times that free memory goes back to the system. */
const GIVE_BACK_MS = 10_000;

export class Maintenance {
  private scheduled: NodeJS.Immediate | undefined;
  private readonly timer: NodeJS.Timeout;
  private isGiveBackDue = false;

  constructor(private readonly shard: Shard) {
    // Free memory goes back even when nothing else happens.
    this.timer = setInterval(() => {
      this.isGiveBackDue = true;
      this.wake();
    }, GIVE_BACK_MS).unref();
  }

  /** Looks for work after the messages that are already waiting; while a write freeze is held, after its end. */
  wake(): void {
    this.scheduled ??= setImmediate(() => {
      this.scheduled = undefined;
      const { whenOver } = this.shard.writeFreeze;
      if (whenOver) void whenOver.then(() => this.wake());
      else if (slice(this.shard) || this.giveBack()) this.wake();
    });
  }

  stop(): void {
    clearImmediate(this.scheduled);
    clearInterval(this.timer);
  }

  /** Some pages of each arena at a time. */
  private giveBack(): boolean {
    return (this.isGiveBackDue &&= this.shard.arenas.giveBack());
  }
}

/** Works for one slice; true when there is more to do. What somebody waits for comes first. */
function slice(shard: Shard): boolean {
  const until = performance.now() + SLICE_MS;
  if (!shard.loads.work(until, true)) return true;
  for (const part of shard.parts.restless) {
    if (!buildWords(shard, part, until) || !buildFields(shard, part, until)) return true;
  }
  if (reclaimSome(shard)) return true;
  if (!shard.loads.work(until, false) || improve(shard, until)) return true;
  return shard.arenas.reclaim() || purge(shard);
}

/**
 * Gives memory back, links, merges and fills lists; true when there is more to do. A part without more to do is at
 * rest; one for whose links memory is full is not. Rows move before they are linked, as they would have to be linked
 * again.
 */
function improve(shard: Shard, until: number): boolean {
  const { restless } = shard.parts;
  for (const part of restless) {
    const { index, words, fields } = part;
    if (compactSome(shard, part)) return true;
    while (index.hasWork) {
      shard.writeFreeze.noteChange();
      if (index.linkSome(LINK_STEP) === 0 && !index.isTended) break;
      if (performance.now() >= until) return true;
    }
    if (words?.mergeSome(until - performance.now()) || fields?.mergeSome(until - performance.now()))
      return shard.writeFreeze.noteChange(), true;
    while (index.isFillDue) {
      shard.writeFreeze.noteChange();
      index.fillSome(LINK_STEP);
      if (performance.now() >= until) return true;
    }
    if (!index.hasWork) restless.delete(part);
    if (performance.now() >= until) return restless.size > 0;
  }
  return false;
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
