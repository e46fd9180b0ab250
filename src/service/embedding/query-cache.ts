// The vectors of texts that were searched for before, bounded by bytes, the least recently used going first; and the
// embeddings under way, which searches for the same text share. Owners never share: how long a search took would tell
// one what another has asked. Front thread.
import { LRUCache } from 'lru-cache';
import type { Leaving } from '../../base/signals.js';
import { CACHED_QUERY_CHARACTERS_MAX } from '../../api/limits.js';

export interface AskedText {
  /** Who asks: a tenant. */
  owner: string;
  /** Key of the vector space. */
  space: string;
  text: string;
}

export type Embed = (signal?: Leaving) => Promise<Float32Array>;

/** An embedding under way, which searches for the same text share. */
interface PendingEmbedding {
  vector: Promise<Float32Array>;
  /** How many want it still. */
  waiting: number;
  /** Told when nobody does any more. */
  abandoned: AbortController;
}

/** What the lists and maps of an entry take, beside its key and its numbers. */
const ENTRY_BYTES = 400;

export const entryBytes = (key: string, vector: Float32Array): number =>
  ENTRY_BYTES + 2 * key.length + vector.byteLength;

export class QueryCache {
  /** undefined: nothing is kept, nor shared. */
  private readonly vectors: LRUCache<string, Float32Array> | undefined;
  private readonly pending = new Map<string, PendingEmbedding>();
  private readonly counted = { hits: 0, misses: 0, evictions: 0 };

  constructor(bytesMax: number) {
    if (bytesMax === 0) return;
    const dispose = (_vector: Float32Array, _key: string, why: string): void =>
      void (this.counted.evictions += why === 'evict' ? 1 : 0);
    this.vectors = new LRUCache({
      maxSize: bytesMax,
      sizeCalculation: (vector, key) => entryBytes(key, vector),
      dispose,
    });
  }

  /** `hits`: texts that took no embedding of their own, those that shared one under way included. */
  get counts(): Readonly<{ hits: number; misses: number; evictions: number }> {
    return this.counted;
  }

  get entries(): number {
    return this.vectors?.size ?? 0;
  }

  get bytes(): number {
    return this.vectors?.calculatedSize ?? 0;
  }

  /**
   * The vector of a text, which nobody may write into. Rejects as `embed` does, whose failures are kept for nobody but
   * those who wait already. `embed` is aborted when all who wait have been.
   */
  vectorOf({ owner, space, text }: AskedText, embed: Embed, signal?: Leaving): Promise<Float32Array> {
    if (!this.vectors || text.length > CACHED_QUERY_CHARACTERS_MAX) return embed(signal);
    const key = `${owner}\0${space}\0${text}`;
    const known = this.vectors.get(key);
    const shared = known ? undefined : this.pending.get(key);
    this.counted[known || shared ? 'hits' : 'misses']++;
    return known ? Promise.resolve(known) : this.wait(key, shared ?? this.start(key, embed), signal);
  }

  private start(key: string, embed: Embed): PendingEmbedding {
    const abandoned = new AbortController();
    const vector = (async () => embed(abandoned.signal))();
    const embedding: PendingEmbedding = { vector, waiting: 0, abandoned };
    this.pending.set(key, embedding);
    // One that was abandoned has left the map, and another may have taken its place.
    const settle = (): unknown => abandoned.signal.aborted || this.pending.delete(key);
    // A copy: the vectors of one message share their memory.
    void vector.then((made) => (this.vectors?.set(key, made.slice()), settle()), settle);
    return embedding;
  }

  private async wait(key: string, embedding: PendingEmbedding, signal: Leaving | undefined): Promise<Float32Array> {
    const leave = (): void => {
      if (--embedding.waiting > 0) return;
      this.pending.delete(key);
      embedding.abandoned.abort();
    };
    embedding.waiting++;
    signal?.addEventListener('abort', leave, { once: true });
    if (signal?.aborted) leave();
    try {
      return await embedding.vector;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }
}
