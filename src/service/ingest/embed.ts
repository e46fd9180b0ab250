// Use case that embeds the documents of a group. Documents that cannot be embedded are removed from the group and
// reported by their index; the others can be stored. A document that is written during a reindex, or while a replaced
// collection is kept for a rollback, is embedded for both vector spaces. Runs on the main thread.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Collection } from '../../api/collections.js';
import { refOf } from '../../storage/catalog-commands.js';
import { AppError, type WireError } from '../../api/errors.js';
import { shardAt, spreadOf } from '../../api/placement.js';
import { concat } from '../../base/bytes.js';
import type { DocumentTexts } from '../../embedding/messages.js';
import { IDENTITY_TYPE } from '../../embedding/spaces.js';
import type { TextVectors } from '../../engine/write/commands.js';
import type { PreparedGroup } from '../../extract/messages.js';
import type { Metrics } from '../../observability/metrics.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import { DIGEST_BYTES } from '../../text/chunking.js';
import { unpackDocuments } from '../../text/prepared-document.js';
import type { Catalog } from '../collections/catalog.js';
import { collectionChanged } from '../collections/catalog-changes.js';
import type { DualWriteTarget, ShadowCollections } from '../collections/shadow-collections.js';
import type { Embedders } from '../embedding/embedders.js';

export interface EmbedContext {
  readonly catalog: Pick<Catalog, 'find'>;
  readonly shadows: Pick<ShadowCollections, 'dualWriteTargets'>;
  readonly shards: Pick<ShardPool, 'request' | 'size'>;
  readonly embedders: Pick<Embedders, 'embedDocuments'>;
  readonly metrics: Pick<Metrics, 'reused' | 'inPhase'>;
  readonly nowMs: () => number;
}

/** Vectors by the key of their vector space. */
type OtherRows = ReadonlyMap<string, Float32Array>;

/** Vectors of documents, in the vector space they were prepared for and in others. */
export interface SpaceRows {
  space: string;
  vectors: Float32Array;
  others?: OtherRows;
}

interface Packed {
  documents: Uint8Array;
  ends: number[];
  /** The number of chunks of all documents. */
  rows: number;
}

/** A group, with its vectors in each vector space. */
export type SpaceGroup = PreparedGroup & SpaceRows;

type Planned = Omit<Collection, 'id'>;

/** Maximum number of ordinals in a request; the shard may answer for fewer of them. */
const PAGE_ORDINALS = 512;
/** Number of digests that are indexed before the thread is yielded; they take about a millisecond. */
const TURN_ROWS = 4096;

/** Documents of one shard. `vectors` has a row for each chunk if the caller provides some of the vectors. */
type Recurring = Pick<PreparedGroup, 'slot' | 'spread' | 'docids' | 'digests'> & { vectors?: Float32Array };

/**
 * Reuses stored vectors: a chunk whose text occurs in the stored documents with the same ids gets that vector and is
 * marked in `given`. Concurrent writes do no harm, because a vector depends only on its text and the vector space, and
 * the space is checked again when the document is stored. Rejects with AppError if the shard does not answer.
 */
export async function reusedVectors(
  context: EmbedContext,
  planned: Planned,
  recurring: Recurring,
  signal?: AbortSignal,
): Promise<Pick<DocumentTexts, 'vectors' | 'given'>> {
  const { shards, catalog, metrics } = context;
  const { slot, spread, docids, digests, vectors } = recurring;
  const collection = catalog.find(planned.tenant, planned.name);
  if (!digests || collection?.vector_space_key !== planned.vector_space_key) return { vectors };
  if (spreadOf(collection, shards.size) !== spread) return { vectors };
  const shard = shardAt(collection, slot, shards.size);
  const ordinals = await shards.request(shard, 'listOrdinals', { collection: collection.id, docids });
  if (ordinals.length === 0) return { vectors };
  const reuse = await Reuse.of(digests, planned.dim, vectors);
  for (let from = 0; from < ordinals.length && !reuse.isComplete && !signal?.aborted; ) {
    const page = await shards.request(shard, 'textVectors', {
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
    /** Rows without a vector, by the digest of their text. */
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

/** Errors of documents that were not embedded, by their index in the group. */
export type Failures = ReadonlyMap<number, WireError>;

export interface EmbeddedGroup {
  /** The documents that can be stored. */
  group: SpaceGroup;
  failures: Failures;
}

/**
 * Embeds the documents of a group, also for dual writes. Rejects if none of them could be embedded. The buffers of
 * `group` may be transferred to a worker.
 */
export async function embedGroup(
  context: EmbedContext,
  planned: Planned,
  group: PreparedGroup,
  signal?: AbortSignal,
): Promise<EmbeddedGroup> {
  const { group: embedded, failures } = group.hasTexts
    ? await embedTexts(context, planned, group, signal)
    : { group, failures: new Map<number, WireError>() };
  if (wantsTexts(context, planned)) refuseTextless(embedded, failures);
  const stored = withoutFailed(embedded, failures);
  const { documents, ends, chunks } = stored;
  const others =
    ends.length > 0
      ? await otherRows(
          context,
          planned,
          { documents, ends, rows: chunks.reduce((sum, count) => sum + count, 0) },
          signal,
        )
      : undefined;
  return { group: { ...stored, space: planned.vector_space_key, ...(others && { others }) }, failures };
}

async function embedTexts(
  context: EmbedContext,
  planned: Planned,
  group: PreparedGroup,
  signal?: AbortSignal,
): Promise<{ group: PreparedGroup; failures: Map<number, WireError> }> {
  const { documents, ends } = group;
  const reused = await reusedVectors(context, planned, group, signal);
  const { failures = [], ...embedded } = await context.metrics.inPhase('embed_ms', () =>
    context.embedders.embedDocuments(planned, { documents, ends, ...reused }, planned.tenant, signal),
  );
  return {
    group: { ...group, ...embedded },
    failures: new Map(failures.map(({ document, error }) => [document, error])),
  };
}

/**
 * Embeds the documents again, because the collection was switched to another vector space. Rejects with the error of
 * the first document that cannot be embedded, and with `collection_changed` if a chunk has no text.
 */
export async function embedAnew(
  context: EmbedContext,
  collection: Collection,
  group: SpaceGroup,
  signal?: AbortSignal,
): Promise<SpaceGroup> {
  const { ends, chunks } = group;
  const rows = chunks.reduce((sum, count) => sum + count, 0);
  // The bytes are transferred to the worker but are stored later too, so they are copied.
  const { vectors, texts, failures } = await context.embedders.embedDocuments(
    collection,
    { documents: group.documents.slice(), ends },
    collection.tenant,
    signal,
  );
  if (failures?.[0]) throw AppError.fromWire(failures[0].error);
  if (texts !== rows) throw collectionChanged();
  const others = await otherRows(context, collection, { documents: group.documents, ends, rows }, signal);
  return { ...group, vectors, space: collection.vector_space_key, others };
}

/**
 * Vectors for the shadow collections that take part in dual writes, by vector space. Rejects if embedding fails for one
 * whose mode is `require`.
 */
export async function otherRows(
  context: EmbedContext,
  planned: Planned,
  packed: Packed,
  signal?: AbortSignal,
): Promise<OtherRows | undefined> {
  const wanted = otherSpaces(context, planned).filter(
    ({ collection, mode }) => mode !== 'later' && collection.embedder_type !== IDENTITY_TYPE,
  );
  if (wanted.length === 0) return undefined;
  const found = await Promise.all(
    wanted.map(async (shadow): Promise<[string, Float32Array][]> => {
      const vectors = await rowsFor(context, shadow, packed, signal);
      return vectors ? [[shadow.collection.vector_space_key, vectors]] : [];
    }),
  );
  return new Map(found.flat());
}

/**
 * Returns undefined if the embedder fails or a chunk has no text; the document is then copied to the shadow collection
 * later.
 */
async function rowsFor(
  { embedders }: EmbedContext,
  { collection, mode }: DualWriteTarget,
  { documents, ends, rows }: Packed,
  signal?: AbortSignal,
): Promise<Float32Array | undefined> {
  try {
    // The bytes are transferred to the worker but are stored later too, so they are copied.
    const { vectors, texts, failures } = await embedders.embedDocuments(
      collection,
      { documents: documents.slice(), ends },
      collection.tenant,
      signal,
    );
    if (failures?.[0]) throw AppError.fromWire(failures[0].error);
    return texts === rows ? vectors : undefined;
  } catch (error) {
    if (mode === 'require' || !(error instanceof AppError)) throw error;
    return undefined;
  }
}

function otherSpaces(
  { catalog, shadows, nowMs }: EmbedContext,
  { tenant, name, vector_space_key: own }: Planned,
): DualWriteTarget[] {
  const live = catalog.find(tenant, name);
  return live
    ? shadows.dualWriteTargets(live.id, nowMs()).filter(({ collection }) => collection.vector_space_key !== own)
    : [];
}

/** Whether every chunk must have a text, because the collection is being reindexed. */
export const wantsTexts = (context: EmbedContext, planned: Planned): boolean =>
  otherSpaces(context, planned).some(({ purpose }) => purpose === 'reindex');

export const textWanted = (): AppError =>
  new AppError('reindex_conflict', 'While the collection is being reindexed, every chunk must have a text.');

function refuseTextless({ documents, ends }: PreparedGroup, failures: Map<number, WireError>): void {
  unpackDocuments(documents, ends).forEach(({ chunks }, document) => {
    if (chunks.some(({ text }) => text === undefined)) failures.set(document, textWanted().toWire());
  });
}

/**
 * A group without documents, in which each document fails with `error`. Does not read the buffers of `group`, which may
 * have been transferred.
 */
export function nothingOf(group: PreparedGroup, error: WireError): EmbeddedGroup {
  const failures = new Map(group.docids.map((_, document) => [document, error]));
  return { group: { ...withoutFailed(group, failures), space: '' }, failures };
}

/** The group without the documents that failed. */
export function withoutFailed(group: PreparedGroup, failures: Failures): PreparedGroup {
  if (failures.size === 0) return group;
  const isKept = (_: unknown, document: number): boolean => !failures.has(document);
  const rowEnds = endsOf(group.chunks);
  const dim = group.vectors.length / Math.max(1, rowEnds.at(-1) ?? 0);
  return {
    slot: group.slot,
    spread: group.spread,
    hasTexts: group.hasTexts,
    places: group.places.filter(isKept),
    docids: group.docids.filter(isKept),
    chunks: group.chunks.filter(isKept),
    ends: endsOf(group.ends.map((end, i) => end - (group.ends[i - 1] ?? 0)).filter(isKept)),
    documents: concat(keptParts(group.documents, group.ends, failures), (bytes) => new Uint8Array(bytes)),
    vectors: concat(
      keptParts(
        group.vectors,
        rowEnds.map((end) => end * dim),
        failures,
      ),
      (numbers) => new Float32Array(numbers),
    ),
  };
}

function endsOf(lengths: readonly number[]): number[] {
  let end = 0;
  return lengths.map((length) => (end += length));
}

/** The slices of the documents that did not fail. `ends` has the end of each document's slice. */
const keptParts = <T extends Uint8Array | Float32Array>(all: T, ends: readonly number[], failures: Failures): T[] =>
  ends.flatMap((end, document) => (failures.has(document) ? [] : [all.subarray(ends[document - 1] ?? 0, end) as T]));
