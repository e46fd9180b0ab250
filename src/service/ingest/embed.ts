// Use case: embed the documents of a group. Those that cannot be embedded leave it, the others go on to be stored; what
// became of each comes back to the place that it had. A document that is written while another space of its collection
// is built, or kept for a rollback, is embedded for both. Front thread.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Collection } from '../../api/collections.js';
import { refOf } from '../../storage/catalog-commands.js';
import { AppError, type WireError } from '../../api/errors.js';
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
import type { ShadowCollections, Twin } from '../collections/shadow-collections.js';
import type { Embedders } from '../embedding/embedders.js';

export interface EmbedContext {
  readonly catalog: Pick<Catalog, 'find'>;
  readonly shadows: Pick<ShadowCollections, 'twinsOf'>;
  readonly shards: Pick<ShardPool, 'ask'>;
  readonly embedders: Pick<Embedders, 'embedDocuments'>;
  readonly metrics: Pick<Metrics, 'reused' | 'inPhase'>;
  readonly nowMs: () => number;
}

/** By the key of the space. */
type OtherRows = ReadonlyMap<string, Float32Array>;

/** Rows of documents, in the space that they were prepared for and in others. */
export interface SpaceRows {
  space: string;
  vectors: Float32Array;
  others?: OtherRows;
}

interface Packed {
  documents: Uint8Array;
  ends: number[];
  /** Chunks of all of them. */
  rows: number;
}

/** A group, and in which spaces it has rows. */
export type SpaceGroup = PreparedGroup & SpaceRows;

type Planned = Omit<Collection, 'id'>;

/** Ordinals asked for at a time; the shard may answer fewer of them. */
const PAGE_ORDINALS = 512;
/** Digests that are noted in one turn of the event loop: about a millisecond. */
const TURN_ROWS = 4096;

/** Documents of one shard; `vectors` has a row for each chunk where some are given by the caller. */
type Recurring = Pick<PreparedGroup, 'shard' | 'docids' | 'digests'> & { vectors?: Float32Array };

/**
 * What to embed with the documents. Rows that need no embedding are marked as given: those of chunks whose text the
 * stored documents of the same ids have already, wherever in them. What is stored may change meanwhile: a vector follows
 * from its text and the space alone, and the space is checked again when the document is put. Rejects with AppError
 * where the shard does not answer.
 */
export async function reusedVectors(
  context: EmbedContext,
  planned: Planned,
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

/** Why documents of a group were not embedded, by their place in it. */
export type Failures = ReadonlyMap<number, WireError>;

export interface EmbeddedGroup {
  /** The documents that can be stored. */
  group: SpaceGroup;
  failures: Failures;
}

/** Rejects where none of the documents could be embedded. The buffers of `group` are moved. */
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
 * Another space has the name since the group was embedded: the documents are the same, their rows are not. Rejects with
 * why a document cannot be embedded for it, and with `collection_changed` where a vector was the caller's.
 */
export async function embedAnew(
  context: EmbedContext,
  collection: Collection,
  group: SpaceGroup,
  signal?: AbortSignal,
): Promise<SpaceGroup> {
  const { ends, chunks } = group;
  const rows = chunks.reduce((sum, count) => sum + count, 0);
  // A copy: the bytes move to the worker, and are still to be stored.
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

/** Rejects with why a twin could not be embedded for that has to be. */
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
    wanted.map(async (twin): Promise<[string, Float32Array][]> => {
      const vectors = await rowsFor(context, twin, packed, signal);
      return vectors ? [[twin.collection.vector_space_key, vectors]] : [];
    }),
  );
  return new Map(found.flat());
}

/** undefined where the document is left for later: the embedder fails, or there is a chunk without a text. */
async function rowsFor(
  { embedders }: EmbedContext,
  { collection, mode }: Twin,
  { documents, ends, rows }: Packed,
  signal?: AbortSignal,
): Promise<Float32Array | undefined> {
  try {
    // A copy: the bytes move to the worker, and are still to be stored.
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
): Twin[] {
  const live = catalog.find(tenant, name);
  return live ? shadows.twinsOf(live.id, nowMs()).filter(({ collection }) => collection.vector_space_key !== own) : [];
}

/** Whether documents need texts now: their collection is on its way into another space. */
export const wantsTexts = (context: EmbedContext, planned: Planned): boolean =>
  otherSpaces(context, planned).some(({ purpose }) => purpose === 'reindex');

export const textWanted = (): AppError =>
  new AppError('reindex_conflict', 'While the collection is reindexed into another space it takes texts only.');

function refuseTextless({ documents, ends }: PreparedGroup, failures: Map<number, WireError>): void {
  unpackDocuments(documents, ends).forEach(({ chunks }, document) => {
    if (chunks.some(({ text }) => text === undefined)) failures.set(document, textWanted().toWire());
  });
}

/** A group of which no document could be embedded. Its buffers may be gone. */
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
    shard: group.shard,
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

/** `ends` says where the part of each document ends. */
const keptParts = <T extends Uint8Array | Float32Array>(all: T, ends: readonly number[], failures: Failures): T[] =>
  ends.flatMap((end, document) => (failures.has(document) ? [] : [all.subarray(ends[document - 1] ?? 0, end) as T]));
