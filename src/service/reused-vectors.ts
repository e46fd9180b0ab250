// Vectors that need no embedding: those of chunks whose text the stored documents of the same ids have already,
// wherever in them. Asked for before a document is embedded, where embedding costs more than asking; front thread. What
// is stored may change meanwhile: a vector follows from its text and the space alone, and the space is checked again
// when the document is put.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PreparedGroup } from '../contract/batch-messages.js';
import type { DocumentTexts } from '../contract/embed-messages.js';
import type { TextVectors } from '../contract/messages.js';
import type { Collection } from '../contract/resources.js';
import { DIGEST_BYTES } from '../text/text-digest.js';
import { refOf } from './catalog.js';
import type { Context } from './context.js';

/** Ordinals asked for at a time; the shard may answer fewer of them. */
const PAGE_ORDINALS = 512;
/** Digests that are noted in one turn of the event loop: about a millisecond. */
const TURN_ROWS = 4096;

/** Documents of one shard; `vectors` has a row for each chunk where some are given by the caller. */
export type Recurring = Pick<PreparedGroup, 'shard' | 'docids' | 'digests'> & { vectors?: Float32Array };

/**
 * What to embed with the documents: rows that need no embedding are marked as given. Rejects with AppError where the
 * shard does not answer.
 */
export async function reusedVectors(
  context: Context,
  planned: Omit<Collection, 'id'>,
  recurring: Recurring,
  signal?: AbortSignal,
): Promise<Pick<DocumentTexts, 'vectors' | 'given'>> {
  const { shards, catalog, metrics } = context;
  const { shard, docids, digests, vectors } = recurring;
  const collection = catalog.find(planned.tenant, planned.name);
  if (!digests || collection?.vector_space_key !== planned.vector_space_key) return { vectors };
  const ordinals = await shards.ask(shard, 'listOrdinals', { collection: collection.id, docids });
  if (ordinals.length === 0) return { vectors };
  const reuse = await Reuse.of(digests, planned.dim, vectors);
  for (let from = 0; from < ordinals.length && !reuse.isComplete && !signal?.aborted; ) {
    const page = await shards.ask(shard, 'textVectors', {
      collection: refOf(collection),
      ordinals: ordinals.slice(from, from + PAGE_ORDINALS),
    });
    reuse.take(page);
    from += page.taken;
  }
  metrics.reused(reuse.count);
  return reuse.count === 0 ? { vectors } : { vectors: reuse.vectors, given: reuse.given };
}

class Reuse {
  readonly vectors: Float32Array;
  readonly given: Uint8Array;
  count = 0;

  private constructor(
    /** Rows that want a vector, by the digest of their text. */
    private readonly rows: Map<string, number[]>,
    chunks: number,
    private readonly dim: number,
    vectors: Float32Array | undefined,
  ) {
    this.vectors = vectors ?? new Float32Array(chunks * dim);
    this.given = new Uint8Array(chunks);
  }

  static async of(digests: Uint8Array, dim: number, vectors: Float32Array | undefined): Promise<Reuse> {
    const keys = keysOf(digests);
    const rows = new Map<string, number[]>();
    for (const [row, key] of keys.entries()) {
      const same = rows.get(key);
      if (same) same.push(row);
      else rows.set(key, [row]);
      if (row % TURN_ROWS === TURN_ROWS - 1) await nextTurn();
    }
    return new Reuse(rows, keys.length, dim, vectors);
  }

  get isComplete(): boolean {
    return this.rows.size === 0;
  }

  take({ digests, vectors }: TextVectors): void {
    keysOf(digests).forEach((key, i) => {
      for (const row of this.rows.get(key) ?? []) {
        this.vectors.set(vectors.subarray(i * this.dim, (i + 1) * this.dim), row * this.dim);
        this.given[row] = 1;
        this.count++;
      }
      this.rows.delete(key);
    });
  }
}

function keysOf(digests: Uint8Array): string[] {
  const bytes = Buffer.from(digests.buffer, digests.byteOffset, digests.byteLength);
  return Array.from({ length: digests.length / DIGEST_BYTES }, (_, i) =>
    bytes.toString('latin1', i * DIGEST_BYTES, (i + 1) * DIGEST_BYTES),
  );
}
