// Lets writes pass, and holds them for a moment where somebody wants to see the stores as of one moment: those of a collection, or all. Who
// holds waits for the writes that have passed already; what comes meanwhile waits in its order. Used by shard-pool.ts; front thread.
import { Signal } from '../base/signal.js';
import type { CollectionId } from '../contract/ids.js';

/** What a write goes to; undefined: the catalog. */
type Place = CollectionId | undefined;

export class WriteGate {
  private readonly passing = new Map<Place, number>();
  private readonly changed = new Signal();
  /** Of what is held; `all` holds everything. */
  private readonly held = new Map<CollectionId | 'all', Promise<void>>();

  /** Runs a write, at once where nothing is held. */
  pass<T>(place: Place, write: () => Promise<T>): Promise<T> {
    const holding = this.holding(place);
    return holding ? holding.then(() => this.pass(place, write)) : this.counted(place, write);
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
      release();
    }
  }

  private holding(place: Place): Promise<void> | undefined {
    return this.held.get('all') ?? (place === undefined ? undefined : this.held.get(place));
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
