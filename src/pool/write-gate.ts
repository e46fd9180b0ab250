// A read-write gate for the writes of all shards. Writes hold it in shared mode; a snapshot of a collection or of
// everything needs it in exclusive mode. An exclusive holder waits for the running writes, and writes that arrive
// meanwhile wait for it, in their order. Runs on the main thread.
import type { CollectionId } from '../api/ids.js';
import { Signal } from '../base/signals.js';

/** The collection that a write belongs to; undefined for the catalog. */
type Place = CollectionId | undefined;

export class WriteGate {
  /** Number of running writes by collection. */
  private readonly writing = new Map<Place, number>();
  private readonly changed = new Signal();
  private readonly waiting = new Map<Place, (() => void)[]>();
  /** What is held in exclusive mode; `all` is everything. */
  private readonly held = new Map<CollectionId | 'all', Promise<void>>();

  /** Runs a write: at once if its collection is not held, else after the writes to it that arrived before. */
  shared<T>(place: Place, write: () => Promise<T>): Promise<T> {
    const queue = this.waiting.get(place);
    if (!queue && !this.isHeld(place)) return this.counted(place, write);
    return new Promise((resolve) => {
      const begin = (): void => resolve(this.counted(place, write));
      if (queue) queue.push(begin);
      else this.waiting.set(place, [begin]);
    });
  }

  /** Runs `work` while no write of the collection, or no write at all, is running. */
  async exclusive<T>(what: CollectionId | 'all', work: () => Promise<T>): Promise<T> {
    for (let holding = this.held.get(what); holding; holding = this.held.get(what)) await holding;
    let release = (): void => {};
    this.held.set(what, new Promise((resolve) => (release = resolve)));
    try {
      while (this.isWriting(what)) await this.changed.next();
      return await work();
    } finally {
      this.held.delete(what);
      this.admit();
      release();
    }
  }

  /** Starts the waiting writes whose collection is no longer held, in the order of their arrival. */
  private admit(): void {
    for (const [place, queue] of this.waiting) {
      if (this.isHeld(place)) continue;
      for (let begin = queue.shift(); begin; begin = queue.shift()) begin();
      this.waiting.delete(place);
    }
  }

  private isHeld(place: Place): boolean {
    return this.held.has('all') || (place !== undefined && this.held.has(place));
  }

  private isWriting(what: CollectionId | 'all'): boolean {
    return what === 'all' ? this.writing.size > 0 : this.writing.has(what);
  }

  private async counted<T>(place: Place, write: () => Promise<T>): Promise<T> {
    this.writing.set(place, (this.writing.get(place) ?? 0) + 1);
    try {
      return await write();
    } finally {
      const left = (this.writing.get(place) as number) - 1;
      if (left > 0) this.writing.set(place, left);
      else this.writing.delete(place);
      this.changed.send();
    }
  }
}
