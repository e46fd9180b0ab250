// Cache of chunk payloads and chunk positions, one for each searching thread. A row version names one version of one
// row for the lifetime of its memory (docs/internals/memory-layout.md, rule 8), and an entry holds only what was
// committed with that version. Entries therefore never become stale and need no invalidation. Searching threads only;
// not shared between threads.
import { LRUCache } from 'lru-cache';
import type { CollectionId, Ordinal } from '../../api/ids.js';

/** The position of a chunk, by which ties are ordered. */
export interface ChunkPosition {
  docid: string;
  /** Index of the chunk in its document. */
  index: number;
  path: string;
}

/** The part of a hit that does not depend on the query, as JSON text. */
export interface ChunkPayload {
  readonly id: string;
  readonly idJson: string;
  /** Absent if the chunk was ingested as a vector without text. */
  readonly textJson?: string;
  /** The document's metadata overlaid by the chunk's own. */
  readonly metaJson: string;
  /** JSON of the chunk's own metadata and of the document's, in this order. */
  readonly layers: readonly [string, string];
}

/** Row versions wrap around after 2^32. The cache is cleared long before that. */
const ROW_VERSIONS_MAX = 2 ** 30;

/** Identifies one version of one row of one memory. */
export interface RowVersion {
  memory: number;
  collection: CollectionId;
  ordinal: Ordinal;
  rowVersion: number;
}

interface Entry<V> {
  readonly collection: CollectionId;
  readonly ordinal: number;
  readonly value: V;
}

/** An LRU cache by row version, bounded by bytes. */
class RowCache<V> {
  /** undefined if the cache is disabled. */
  private readonly entries: LRUCache<number, Entry<V>> | undefined;
  /** By memory: its latest row version when this cache first saw it. */
  private readonly since: number[] = [];

  constructor(bytesMax: number, bytesOf: (value: V) => number) {
    if (bytesMax > 0)
      this.entries = new LRUCache({ maxSize: bytesMax, sizeCalculation: ({ value }) => bytesOf(value) });
  }

  /**
   * Clears the cache before row versions of `memory` can repeat. Call it for each new view of a memory, with the
   * memory's latest row version `rowVersion`.
   */
  reach(memory: number, rowVersion: number): void {
    const since = (this.since[memory] ??= rowVersion);
    if ((rowVersion - since) >>> 0 < ROW_VERSIONS_MAX) return;
    this.entries?.clear();
    this.since.length = 0;
  }

  get({ memory, collection, ordinal, rowVersion }: RowVersion): V | undefined {
    const entry = this.entries?.get(keyOf(memory, rowVersion));
    return entry?.ordinal === ordinal && entry.collection === collection ? entry.value : undefined;
  }

  /** Requires that the row still had this version after its records were read. */
  keep({ memory, collection, ordinal, rowVersion }: RowVersion, value: V): void {
    this.entries?.set(keyOf(memory, rowVersion), { collection, ordinal, value });
  }
}

const keyOf = (memory: number, rowVersion: number): number => memory * 2 ** 32 + rowVersion;

/** Estimated overhead of an entry in bytes: list and map nodes, string headers. */
const ENTRY_BYTES = 400;
const POSITION_BYTES = 150;
/** Share of the cache that holds positions: of 32 MB, enough for about 50,000. */
const POSITIONS_SHARE = 0.25;

/** The two caches of a search worker: chunk payloads and chunk positions. */
export class HitCache {
  private readonly chunks: RowCache<ChunkPayload>;
  /** Chunk positions, by which ties are ordered. */
  readonly positions: RowCache<ChunkPosition>;
  private counted = { hits: 0, misses: 0 };

  constructor(bytesMax: number) {
    this.chunks = new RowCache(bytesMax * (1 - POSITIONS_SHARE), bytesOf);
    this.positions = new RowCache(bytesMax * POSITIONS_SHARE, bytesOfPosition);
  }

  /** Call it for each new view of a memory, with the memory's latest row version. */
  reach(memory: number, rowVersion: number): void {
    this.chunks.reach(memory, rowVersion);
    this.positions.reach(memory, rowVersion);
  }

  get(version: RowVersion): ChunkPayload | undefined {
    const chunk = this.chunks.get(version);
    this.counted[chunk ? 'hits' : 'misses']++;
    return chunk;
  }

  /** Hits and misses of `get` since the last call. */
  takeCounts(): { hits: number; misses: number } {
    const { counted } = this;
    this.counted = { hits: 0, misses: 0 };
    return counted;
  }

  /** Requires that the row still had this version after its records were read. */
  keep(version: RowVersion, chunk: ChunkPayload): void {
    this.chunks.keep(version, chunk);
  }
}

/** Upper bound in bytes: two per character, the size of strings that are not Latin-1. */
const bytesOf = ({ id, idJson, textJson = '', metaJson, layers }: ChunkPayload): number =>
  ENTRY_BYTES +
  2 *
    (id.length +
      idJson.length +
      textJson.length +
      metaJson.length +
      layers.reduce((sum, { length }) => sum + length, 0));

const bytesOfPosition = ({ docid, path }: ChunkPosition): number => POSITION_BYTES + 2 * (docid.length + path.length);
