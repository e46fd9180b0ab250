// An LRU cache of the vectors of query texts, bounded by bytes. Searches for the same text share an embedding that is
// in flight. Tenants never share entries, because the response time would reveal what another tenant has searched for.
// Runs on the main thread.
import { LRUCache } from 'lru-cache';
import type { CancelSignal } from '../../base/signals.js';
import { CACHED_QUERY_CHARACTERS_MAX } from '../../api/limits.js';

export interface AskedText {
  /** The tenant that searches. */
  owner: string;
  /** The key of the vector space. */
  space: string;
  text: string;
}

export type Embed = (signal?: CancelSignal) => Promise<Float32Array>;

/** An embedding in flight, shared by searches for the same text. */
interface PendingEmbedding {
  vector: Promise<Float32Array>;
  /** The number of searches that still wait for it. */
  waiting: number;
  /** Aborted when no search waits any more. */
  abandoned: AbortController;
}

/** Estimated overhead of an entry in bytes, beside its key and its vector. */
const ENTRY_BYTES = 400;

export const entryBytes = (key: string, vector: Float32Array): number =>
  ENTRY_BYTES + 2 * key.length + vector.byteLength;

export class QueryCache {
  /** undefined if the cache is disabled; then nothing is shared either. */
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

  /** `hits` are texts that needed no embedding of their own, including those that shared one in flight. */
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
   * The vector of a text; callers must not modify it. Rejects as `embed` does; a failure is not cached and only reaches
   * the searches that already wait. `embed` is aborted when all searches that wait for it are.
   */
  vectorOf({ owner, space, text }: AskedText, embed: Embed, signal?: CancelSignal): Promise<Float32Array> {
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
    // An abandoned embedding has already been removed from the map, and another one may have its key.
    const settle = (): unknown => abandoned.signal.aborted || this.pending.delete(key);
    // The vector is copied because the vectors of one message share a buffer.
    void vector.then((made) => (this.vectors?.set(key, made.slice()), settle()), settle);
    return embedding;
  }

  private async wait(
    key: string,
    embedding: PendingEmbedding,
    signal: CancelSignal | undefined,
  ): Promise<Float32Array> {
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
