// What the next search need not read the records for: what hits have told of their chunks, and where chunks stand that
// had equal scores. One per search worker, on its thread; asked by hydrate.ts and ties.ts. Why nothing in it is stale:
// row-cache.ts.
import type { ToldChunk } from '../../src/contract/hits.js';
import type { ChunkPosition } from '../../src/contract/ranking.js';
import { RowCache, type RowVersion } from './row-cache.js';

/** What the lists and maps of an entry take, and the heads of its strings. */
const ENTRY_BYTES = 400;
const POSITION_BYTES = 150;
/** Of all bytes, for positions: 32 MB have room for 50,000. */
const POSITIONS_SHARE = 0.25;

export class HitCache {
  private readonly chunks: RowCache<ToldChunk>;
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

  get(version: RowVersion): ToldChunk | undefined {
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
  keep(version: RowVersion, chunk: ToldChunk): void {
    this.chunks.keep(version, chunk);
  }
}

/** Of strings that are not Latin-1: the most they can take. */
const bytesOf = ({ id, idJson, textJson = '', metaJson, layers }: ToldChunk): number =>
  ENTRY_BYTES +
  2 *
    (id.length +
      idJson.length +
      textJson.length +
      metaJson.length +
      layers.reduce((sum, { length }) => sum + length, 0));

const bytesOfPosition = ({ docid, path }: ChunkPosition): number => POSITION_BYTES + 2 * (docid.length + path.length);
