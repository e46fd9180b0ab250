// A gate in front of the writes of all shards. Writes go through it side by side; who needs the stores of a collection,
// or all of them, as of one moment goes through it alone: it waits for the writes that are under way, and those that
// come meanwhile wait for it, in their order. Front thread.
import type { CollectionId } from '../api/ids.js';
import { Signal } from '../base/signals.js';

/** What a write goes to; undefined: the catalog. */
type Place = CollectionId | undefined;

export class WriteGate {
  /** Writes under way, by their place. */
  private readonly writing = new Map<Place, number>();
  private readonly changed = new Signal();
  private readonly waiting = new Map<Place, (() => void)[]>();
  /** What somebody has alone; `all` is everything. */
  private readonly held = new Map<CollectionId | 'all', Promise<void>>();

  /** Runs a write, at once where nobody has its place alone; else behind the writes to it that have come before. */
  shared<T>(place: Place, write: () => Promise<T>): Promise<T> {
    const line = this.waiting.get(place);
    if (!line && !this.isHeld(place)) return this.counted(place, write);
    return new Promise((resolve) => {
      const begin = (): void => resolve(this.counted(place, write));
      if (line) line.push(begin);
      else this.waiting.set(place, [begin]);
    });
  }

  /** Runs `work` while no write of the collection, or none at all, is under way. */
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

  /** Runs the writes that waited for a place that nobody has alone any more, in the order in which they came. */
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
