// Maintenance of a shard between batches of commands, in slices short enough that searches do not notice: loading
// segments, building indexes that a search waits for, reclaiming memory, inserting rows into the graph, merging runs,
// densifying, and removing the records of dropped collections. Owner only.
import { AppError } from '../api/errors.js';
import { compactSome, reclaimSome } from './compaction.js';
import { SLICE_MS } from './segments/eviction.js';
import { buildFields, buildTextIndex } from './segments/indexes.js';
import type { Shard } from './shard.js';

const INDEX_STEP = 4;
/** Entries of a dropped collection that one commit deletes. */
export const PURGE_STEP = 500;
/** Interval at which free memory is returned to the operating system. */
const GIVE_BACK_MS = 10_000;

/** The background work of one shard. Owner only. */
export class Maintenance {
  private scheduled: NodeJS.Immediate | undefined;
  private readonly timer: NodeJS.Timeout;
  private isGiveBackDue = false;

  constructor(private readonly shard: Shard) {
    // Returns free memory even if the shard is idle.
    this.timer = setInterval(() => {
      this.isGiveBackDue = true;
      this.wake();
    }, GIVE_BACK_MS).unref();
  }

  /** Schedules a slice after the messages that are already waiting; during a write freeze, after its end. */
  wake(): void {
    this.scheduled ??= setImmediate(() => {
      this.scheduled = undefined;
      const { whenOver } = this.shard.writeFreeze;
      if (whenOver) void whenOver.then(() => this.wake());
      else if (maintainSome(this.shard) || this.giveBack()) this.wake();
    });
  }

  stop(): void {
    clearImmediate(this.scheduled);
    clearInterval(this.timer);
  }

  /** Returns some pages of each arena to the operating system. Returns true if there is more to do. */
  private giveBack(): boolean {
    return (this.isGiveBackDue &&= this.shard.arenas.giveBack());
  }
}

/** Works for one slice. Returns true if there is more to do. Work that a caller waits for comes first. */
export function maintainSome(shard: Shard): boolean {
  const until = performance.now() + SLICE_MS;
  if (!shard.loads.work(until, true)) return true;
  for (const segment of shard.segments.unmaintained) {
    if (!buildTextIndex(shard, segment, until) || !buildFields(shard, segment, until)) return true;
  }
  if (reclaimSome(shard)) return true;
  if (!shard.loads.work(until, false) || improve(shard, until)) return true;
  return shard.arenas.reclaim() || purge(shard);
}

/**
 * Compacts, inserts rows into the graph, merges runs and densifies. Returns true if there is more to do. A segment
 * without further work is no longer dirty; one whose rows cannot be inserted because memory is full stays dirty. Rows
 * move before they are inserted, since otherwise they would have to be inserted twice.
 */
function improve(shard: Shard, until: number): boolean {
  const { unmaintained } = shard.segments;
  for (const segment of unmaintained) {
    const { index, textIndex, fields } = segment;
    if (compactSome(shard, segment)) return true;
    while (index.hasWork) {
      shard.writeFreeze.noteChange();
      if (index.indexSome(INDEX_STEP) === 0 && !index.isTuning) break;
      if (performance.now() >= until) return true;
    }
    if (textIndex?.mergeSome(until - performance.now()) || fields?.mergeSome(until - performance.now()))
      return shard.writeFreeze.noteChange(), true;
    while (index.isDensifyDue) {
      shard.writeFreeze.noteChange();
      index.densifySome(INDEX_STEP);
      if (performance.now() >= until) return true;
    }
    if (!index.hasWork) unmaintained.delete(segment);
    if (performance.now() >= until) return unmaintained.size > 0;
  }
  return false;
}

/**
 * Removes a limited number of entries of a dropped collection. If the disk is full it waits for the next wake, because
 * removing needs space too.
 */
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
