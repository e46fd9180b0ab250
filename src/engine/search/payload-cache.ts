// What the next search need not read the records for: what hits have told of their chunks, and where chunks stand that
// had equal scores. A stamp names one version of one row for the life of the memory (docs/internals/memory-layout.md,
// rule 8), and of a chunk nothing is told but what was committed with that version; so nothing in here is ever stale,
// and nothing has to be taken out. Search workers only, one cache for each thread.
import { LRUCache } from 'lru-cache';
import type { CollectionId, Ordinal } from '../../api/ids.js';

/** Where a chunk stands. */
export interface ChunkPosition {
  docid: string;
  /** In its document. */
  index: number;
  path: string;
}

/** What a hit tells of its chunk whatever the query, as JSON text. */
export interface ChunkPayload {
  readonly id: string;
  readonly idJson: string;
  /** Absent where the chunk was ingested as a vector. */
  readonly textJson?: string;
  /** The document's metadata overlaid by the chunk's own. */
  readonly metaJson: string;
  /** The chunk's own metadata and the document's. */
  readonly layers: readonly [string, string];
}

/** Stamps come round after 2^32: long before that all of a memory's are forgotten. */
const STAMPS_MAX = 2 ** 30;

/** One version of one row of one memory. */
export interface RowVersion {
  memory: number;
  collection: CollectionId;
  ordinal: Ordinal;
  stamp: number;
}

interface Entry<V> {
  readonly collection: CollectionId;
  readonly ordinal: number;
  readonly value: V;
}

/** What single versions of rows have told before: bounded by bytes, the least recently used going first. */
class RowCache<V> {
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

/** What the lists and maps of an entry take, and the heads of its strings. */
const ENTRY_BYTES = 400;
const POSITION_BYTES = 150;
/** Of all bytes, for positions: 32 MB have room for 50,000. */
const POSITIONS_SHARE = 0.25;

export class HitCache {
  private readonly chunks: RowCache<ChunkPayload>;
  /** Where chunks stand in the order that equal scores have. */
  readonly positions: RowCache<ChunkPosition>;
  private counted = { hits: 0, misses: 0 };

  constructor(bytesMax: number) {
    this.chunks = new RowCache(bytesMax * (1 - POSITIONS_SHARE), bytesOf);
    this.positions = new RowCache(bytesMax * POSITIONS_SHARE, bytesOfPosition);
  }

  /** To be told of each view of a memory, with its latest stamp. */
  reach(memory: number, stamp: number): void {
    this.chunks.reach(memory, stamp);
    this.positions.reach(memory, stamp);
  }

  get(version: RowVersion): ChunkPayload | undefined {
    const chunk = this.chunks.get(version);
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
  keep(version: RowVersion, chunk: ChunkPayload): void {
    this.chunks.keep(version, chunk);
  }
}

/** Of strings that are not Latin-1: the most they can take. */
const bytesOf = ({ id, idJson, textJson = '', metaJson, layers }: ChunkPayload): number =>
  ENTRY_BYTES +
  2 *
    (id.length +
      idJson.length +
      textJson.length +
      metaJson.length +
      layers.reduce((sum, { length }) => sum + length, 0));

const bytesOfPosition = ({ docid, path }: ChunkPosition): number => POSITION_BYTES + 2 * (docid.length + path.length);
