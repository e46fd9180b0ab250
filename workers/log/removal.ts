// What goes out of the log in the background: logs of dropped collections, and entries beyond the bounds. In short
// transactions between batches, so that appends and reads get their turn. Log worker only.
import { AppError } from '../../src/contract/errors.js';
import type { CollectionId } from '../../src/contract/ids.js';
import type { LogBounds } from '../../src/contract/query-log.js';
import type { QueryLogStore } from '../../src/store/query-log-store.js';

/** Entries a transaction: about 5 ms. */
const STEP = 500;
/** Collections a turn that are only looked at. */
const LOOKS_MAX = 200;
const NOTHING: LogBounds = { entriesMax: 0, bytesMax: 0 };

interface Work {
  collection: CollectionId;
  bounds: LogBounds;
  oldestMs: number;
}

export class Removal {
  private work: Work[] = [];
  private scheduled: NodeJS.Immediate | undefined;

  constructor(
    private readonly store: QueryLogStore,
    private readonly bounds: LogBounds,
    /** Told of faults: nobody waits for this work. */
    private readonly report: (error: unknown) => void,
  ) {}

  drop(collections: readonly CollectionId[]): void {
    this.work = [...collections.map((collection) => ({ collection, bounds: NOTHING, oldestMs: 0 })), ...this.work];
    this.wake();
  }

  /** Looks through all collections; a sweep that is still under way goes on instead. */
  sweep(oldestMs: number): void {
    if (this.work.length === 0)
      this.work = this.store.collections().map((collection) => ({ collection, bounds: this.bounds, oldestMs }));
    this.wake();
  }

  stop(): void {
    this.work = [];
    clearImmediate(this.scheduled);
  }

  private wake(): void {
    if (this.work.length === 0) return;
    this.scheduled ??= setImmediate(() => {
      this.scheduled = undefined;
      if (this.turn()) this.wake();
    });
  }

  /**
   * One transaction at most; false when there is nothing to do any more, or no room to do it in: removing takes space
   * too.
   */
  private turn(): boolean {
    for (let looks = 0; looks < LOOKS_MAX && this.work[0]; looks++) {
      try {
        if (this.step(this.work[0])) return true;
      } catch (error) {
        if (error instanceof AppError) return false;
        this.report(error);
      }
      this.work.shift();
    }
    return this.work.length > 0;
  }

  /** True when something went. */
  private step({ collection, bounds, oldestMs }: Work): boolean {
    return this.store.isOver(collection, bounds, oldestMs) && this.store.trim(collection, bounds, oldestMs, STEP) > 0;
  }
}
