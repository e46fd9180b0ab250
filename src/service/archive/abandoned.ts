// What a node of a cluster was restoring when it ended, which may have been for good: the node that leads gives it up. On a
// single machine the next start does that. Runs on the main thread.
import type { CollectionId } from '../../api/ids.js';
import { giveUpShadow } from '../collections/catalog-changes.js';
import type { Shadow } from '../collections/shadow-collections.js';
import type { ArchiveContext } from './archive.js';
import { releaseQueries } from './fill.js';

const LOOK_MS = 5000;
/** A node that is restoring may not be heard of for a moment. */
const ABANDONED_MS = 30_000;

/** Finds the shadow collections of restores whose nodes have ended. */
export class AbandonedRestores {
  /** When each one was first found without its node. */
  private missing: ReadonlyMap<CollectionId, number> = new Map();
  private lookedAtMs = -Infinity;

  /**
   * The shadow collections whose sessions have been missing for long enough. `sessions`: those of the nodes that are
   * there; `nowMs`: from a clock that does not jump. To be called every five seconds.
   */
  look(shadows: Iterable<Shadow>, sessions: ReadonlySet<string>, nowMs: number): CollectionId[] {
    // In between, another node led, or this one did not run.
    const hasPaused = nowMs - this.lookedAtMs > 2 * LOOK_MS;
    const before = hasPaused ? new Map<CollectionId, number>() : this.missing;
    const missing = [...shadows].filter(({ session }) => session !== undefined && !sessions.has(session));
    this.missing = new Map(missing.map(({ id }) => [id, before.get(id) ?? nowMs]));
    this.lookedAtMs = nowMs;
    return [...this.missing].flatMap(([id, sinceMs]) => (nowMs - sinceMs >= ABANDONED_MS ? [id] : []));
  }
}

/**
 * Begins to give up abandoned restores, with the searches that this node holds for them. A node that was only cut off
 * finds its shadow collection gone, and its restore fails. `every` calls a function periodically while this node leads.
 */
export function watchRestores(context: ArchiveContext, every: (ms: number, work: () => void) => void): void {
  const { commandLog, store } = context;
  if (!commandLog) return;
  const abandoned = new AbandonedRestores();
  every(LOOK_MS, () => {
    for (const id of abandoned.look(store.shadows.all(), commandLog.sessions(), performance.now()))
      giveUp(context, id).catch((error: unknown) =>
        store.log.warn({ collection: id, reason: String(error) }, 'an abandoned restore could not be given up yet'),
      );
  });
}

async function giveUp(context: ArchiveContext, id: CollectionId): Promise<void> {
  await giveUpShadow(context.store, id);
  await releaseQueries(context, id);
  context.store.log.warn({ collection: id }, 'what a node was restoring when it ended has been given up');
}
