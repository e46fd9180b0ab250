// What hits have told of their chunks before, so that the next search need not read the records: bounded by bytes, the least recently used
// going first. A stamp names one version of one row for the life of the memory (../shard/README.md, rule 8), and a chunk is told of by
// what was committed with that version alone; so nothing in here is ever stale, and nothing has to be taken out. One per search
// worker, on its thread; asked by hydrate.ts.
import { LRUCache } from 'lru-cache';
import type { ToldChunk } from '../../src/contract/hits.js';
import type { CollectionId } from '../../src/contract/ids.js';
import type { RankedHit } from '../../src/contract/ranking.js';

/** What the lists and maps of an entry take, and the heads of its strings. */
const ENTRY_BYTES = 400;
/** Stamps come round after 2^32: long before that all of a memory's are forgotten. */
const STAMPS_MAX = 2 ** 30;

/** One version of one row of one memory. */
export type RowVersion = Pick<RankedHit, 'ordinal' | 'stamp'> & { memory: number; collection: CollectionId };

interface Entry {
  readonly collection: CollectionId;
  readonly ordinal: number;
  readonly chunk: ToldChunk;
}

export class HitCache {
  /** undefined: nothing is kept. */
  private readonly entries: LRUCache<number, Entry> | undefined;
  /** By memory: its latest stamp when the first of its rows was kept. */
  private readonly since: number[] = [];
  private counted = { hits: 0, misses: 0 };

  constructor(bytesMax: number) {
    if (bytesMax > 0) this.entries = new LRUCache({ maxSize: bytesMax, sizeCalculation: ({ chunk }) => bytesOf(chunk) });
  }

  /** Forgets what could be taken for a row that has a stamp again: to be told of each view of a memory, with its latest stamp. */
  reach(memory: number, stamp: number): void {
    const since = (this.since[memory] ??= stamp);
    if ((stamp - since) >>> 0 < STAMPS_MAX) return;
    this.entries?.clear();
    this.since.length = 0;
  }

  get({ memory, collection, ordinal, stamp }: RowVersion): ToldChunk | undefined {
    const entry = this.entries?.get(keyOf(memory, stamp));
    const chunk = entry?.ordinal === ordinal && entry.collection === collection ? entry.chunk : undefined;
    this.counted[chunk ? 'hits' : 'misses']++;
    return chunk;
  }

  /** What `get` has answered since this was asked last. */
  takeCounts(): { hits: number; misses: number } {
    const { counted } = this;
    this.counted = { hits: 0, misses: 0 };
    return counted;
  }

  /** Requires that the row still had this stamp after the records were read. */
  keep({ memory, collection, ordinal, stamp }: RowVersion, chunk: ToldChunk): void {
    this.entries?.set(keyOf(memory, stamp), { collection, ordinal, chunk });
  }
}

const keyOf = (memory: number, stamp: number): number => memory * 2 ** 32 + stamp;

/** Of strings that are not Latin-1: the most they can take. */
const bytesOf = ({ id, idJson, textJson = '', metaJson, layers }: ToldChunk): number =>
  ENTRY_BYTES + 2 * (id.length + idJson.length + textJson.length + metaJson.length + layers.reduce((sum, { length }) => sum + length, 0));
