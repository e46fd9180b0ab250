// Lets writes pass, and holds them for a moment where somebody wants to see the stores as of one moment: those of a
// collection, or all. Who holds waits for the writes that have passed already; what comes meanwhile waits in its order.
// Used by shard-pool.ts; front thread.
import { Signal } from '../base/signals.js';
import type { CollectionId } from '../api/ids.js';

/** What a write goes to; undefined: the catalog. */
type Place = CollectionId | undefined;

export class WriteGate {
  private readonly passing = new Map<Place, number>();
  private readonly changed = new Signal();
  private readonly waiting = new Map<Place, (() => void)[]>();
  /** Of what is held; `all` holds everything. */
  private readonly held = new Map<CollectionId | 'all', Promise<void>>();

  /** Runs a write, at once where nothing is held; else behind those to its place that have come before. */
  pass<T>(place: Place, write: () => Promise<T>): Promise<T> {
    const line = this.waiting.get(place);
    if (!line && !this.isHeld(place)) return this.counted(place, write);
    return new Promise((resolve) => {
      const begin = (): void => resolve(this.counted(place, write));
      if (line) line.push(begin);
      else this.waiting.set(place, [begin]);
    });
  }

  /** Runs `work` while no write of the collection, or none at all, is under way. */
  async hold<T>(what: CollectionId | 'all', work: () => Promise<T>): Promise<T> {
    for (let holding = this.held.get(what); holding; holding = this.held.get(what)) await holding;
    let release = (): void => {};
    this.held.set(what, new Promise((resolve) => (release = resolve)));
    try {
      while (this.isPassing(what)) await this.changed.next();
      return await work();
    } finally {
      this.held.delete(what);
      this.admit();
      release();
    }
  }

  /** Those who waited for a place that is held no more, in the order in which they came. */
  private admit(): void {
    for (const [place, line] of this.waiting) {
      if (this.isHeld(place)) continue;
      for (let begin = line.shift(); begin; begin = line.shift()) begin();
      this.waiting.delete(place);
    }
  }

  private isHeld(place: Place): boolean {
    return this.held.has('all') || (place !== undefined && this.held.has(place));
  }

  private isPassing(what: CollectionId | 'all'): boolean {
    return what === 'all' ? this.passing.size > 0 : this.passing.has(what);
  }

  private async counted<T>(place: Place, write: () => Promise<T>): Promise<T> {
    this.passing.set(place, (this.passing.get(place) ?? 0) + 1);
    try {
      return await write();
    } finally {
      const left = (this.passing.get(place) as number) - 1;
      if (left > 0) this.passing.set(place, left);
      else this.passing.delete(place);
      this.changed.send();
    }
  }
}
