// What single versions of rows have told before: bounded by bytes, the least recently used going first. A stamp names
// one version of one row for the life of the memory (../shard/README.md, rule 8), and of a chunk nothing is told but
// what was committed with that version; so nothing in here is ever stale, and nothing has to be taken out. Search
// workers only; used by hit-cache.ts.
import { LRUCache } from 'lru-cache';
import type { CollectionId } from '../../src/contract/ids.js';
import type { RankedHit } from '../../src/contract/ranking.js';

/** Stamps come round after 2^32: long before that all of a memory's are forgotten. */
const STAMPS_MAX = 2 ** 30;

/** One version of one row of one memory. */
export type RowVersion = Pick<RankedHit, 'ordinal' | 'stamp'> & { memory: number; collection: CollectionId };

interface Entry<V> {
  readonly collection: CollectionId;
  readonly ordinal: number;
  readonly value: V;
}

export class RowCache<V> {
  /** undefined: nothing is kept. */
  private readonly entries: LRUCache<number, Entry<V>> | undefined;
  /** By memory: its latest stamp when the first of its rows was kept. */
  private readonly since: number[] = [];

  constructor(bytesMax: number, bytesOf: (value: V) => number) {
    if (bytesMax > 0)
      this.entries = new LRUCache({ maxSize: bytesMax, sizeCalculation: ({ value }) => bytesOf(value) });
  }

  /**
   * Forgets what could be taken for a row that has a stamp again: to be told of each view of a memory, with its latest
   * stamp.
   */
  reach(memory: number, stamp: number): void {
    const since = (this.since[memory] ??= stamp);
    if ((stamp - since) >>> 0 < STAMPS_MAX) return;
    this.entries?.clear();
    this.since.length = 0;
  }

  get({ memory, collection, ordinal, stamp }: RowVersion): V | undefined {
    const entry = this.entries?.get(keyOf(memory, stamp));
    return entry?.ordinal === ordinal && entry.collection === collection ? entry.value : undefined;
  }

  /** Requires that the row still had this stamp after the records were read. */
  keep({ memory, collection, ordinal, stamp }: RowVersion, value: V): void {
    this.entries?.set(keyOf(memory, stamp), { collection, ordinal, value });
  }
}

const keyOf = (memory: number, stamp: number): number => memory * 2 ** 32 + stamp;
