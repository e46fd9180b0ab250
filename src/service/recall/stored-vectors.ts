// Query vectors for measuring recall, from logged searches or stored chunks. They are fetched page by page on demand,
// so a measurement that is cut short does not fetch the rest. Also a sample of stored vectors for visualization. Runs
// on the main thread.
import type { Collection } from '../../api/collections.js';
import { logIdOf, refOf } from '../../storage/catalog-commands.js';
import {
  RECALL_LOG_ENTRIES_MAX,
  RECALL_PAGE_BYTES,
  RECALL_PAGE_VECTORS,
  VECTOR_SAMPLE_COMPONENTS_MAX,
} from '../../api/limits.js';
import { type CollectionName, type Tenant, parseChunkId } from '../../api/ids.js';
import type { ChunkSummary } from '../../api/documents.js';
import { shardOf, shardsOf } from '../../api/placement.js';
import type { SampledVector, VectorSampleParameters } from '../../api/recall.js';
import { createPrng } from '../../base/prng.js';
import type { LoggedQuery } from '../../storage/query-log-commands.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import type { Catalog } from '../collections/catalog.js';
import { countsPerShard } from '../collections/usage.js';
import type { QueryLog } from '../query-log/query-log.js';
import { type PlanContext, queryVector } from '../search/query.js';

/**
 * Groups items by shard and asks all shards concurrently, one request each. `ask` returns answers in the order of its
 * items; the result is in the order of `items`.
 */
async function perShard<I extends { readonly shard: number }, A>(
  items: readonly I[],
  ask: (shard: number, items: I[]) => Promise<A[]>,
): Promise<A[]> {
  const byShard = new Map<number, number[]>();
  items.forEach(({ shard }, i) => (byShard.get(shard) ?? byShard.set(shard, []).get(shard))?.push(i));
  const answers = new Array<A>(items.length);
  const asked = [...byShard].map(async ([shard, indices]) => {
    const ofShard = await ask(
      shard,
      indices.map((i) => items[i] as I),
    );
    indices.forEach((i, n) => (answers[i] = ofShard[n] as A));
  });
  await Promise.all(asked);
  return answers;
}

/** What query vectors for a measurement are read from. */
export interface QuestionsContext {
  readonly search: PlanContext;
  readonly catalog: Pick<Catalog, 'get'>;
  readonly shards: Pick<ShardPool, 'request' | 'requestOf' | 'size'>;
  readonly queryLog: Pick<QueryLog, 'pages'>;
}

export interface Question {
  readonly vector: Float32Array;
  /** The id of the chunk that the vector belongs to; that the chunk finds itself proves nothing. */
  readonly own?: string;
}

/** Up to `sample` distinct searches by vector or text, latest first. */
export async function loggedSearches(
  { queryLog }: QuestionsContext,
  collection: Collection,
  sample: number,
): Promise<LoggedQuery[]> {
  const found = new Map<string, LoggedQuery>();
  for await (const page of queryLog.pages(logIdOf(collection), RECALL_LOG_ENTRIES_MAX)) {
    const usable = page.filter(({ vector, text }) => (vector ? vector.length === collection.dim : text !== ''));
    for (const query of usable)
      if (found.size < sample) found.set(query.vector ? query.vector.join() : query.text, query);
    if (found.size >= sample) break;
  }
  return [...found.values()];
}

/**
 * The vectors of logged searches; texts are embedded again unless their vector is logged. Throws as `queryVector` does.
 */
export async function* loggedQuestions(
  context: QuestionsContext,
  collection: Collection,
  searches: readonly LoggedQuery[],
  signal: AbortSignal,
): AsyncGenerator<Question> {
  for (const { vector, text } of searches) {
    const embedded = vector ?? (await queryVector(context.search, collection, 'vector', { q: text }, { signal }));
    if (embedded) yield { vector: embedded };
  }
}

/** `sample` stored vectors, spread evenly; deterministic as long as the collection does not change. */
export async function* storedQuestions(
  { shards }: Pick<QuestionsContext, 'shards'>,
  collection: Collection,
  sample: number,
): AsyncGenerator<Question> {
  const ref = refOf(collection);
  const counts = (await countsPerShard({ shards }, collection)).map(({ chunks }) => chunks);
  const numbers = shardsOf(collection, shards.size);
  const places = shuffled(evenPlaces(counts, sample), ref.id);
  const pageLength = Math.max(1, Math.min(RECALL_PAGE_VECTORS, Math.floor(RECALL_PAGE_BYTES / (4 * ref.dim))));
  for (let from = 0; from < places.length; from += pageLength) {
    const page = await perShard(
      places.slice(from, from + pageLength),
      async (shard, ofShard): Promise<(Question | undefined)[]> => {
        const { ids, vectors } = await shards.request(numbers[shard] as number, 'sampleVectors', {
          collection: ref,
          places: Float64Array.from(ofShard, ({ at }) => at),
        });
        return ids.map((own, i) => ({ own, vector: vectors.subarray(i * ref.dim, (i + 1) * ref.dim) }));
      },
    );
    // A shard answers fewer vectors if rows were deleted.
    for (const question of page) if (question) yield question;
  }
}

interface Place {
  /** The place of the shard among those of the collection. */
  readonly shard: number;
  /** Relative position in the ordinals of the shard, from 0 to 1. */
  readonly at: number;
}

/** Places of the sample; each shard gets a number proportional to its chunks. */
function evenPlaces(counts: readonly number[], sample: number): Place[] {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const share = Math.min(1, sample / total);
  return counts.flatMap((count, shard) => {
    const ofShard = Math.ceil(count * share);
    return Array.from({ length: ofShard }, (_, i): Place => ({ shard, at: (i + 0.5) / ofShard }));
  });
}

/** Shuffles the places, so that any prefix of them is spread evenly too. Deterministic for a seed. */
function shuffled(places: Place[], seed: number): Place[] {
  const prng = createPrng(seed);
  for (let i = places.length - 1; i > 0; i--) {
    const other = prng.int(i + 1);
    [places[i], places[other]] = [places[other] as Place, places[i] as Place];
  }
  return places;
}

const BYTE_MAX = 127;

/**
 * Use case that returns an evenly spread sample of vectors for visualization. Components are rounded to signed bytes,
 * which is precise enough for a plot and takes a quarter of the size. `metadata`: with that of each chunk. Throws 404 `collection_not_found`, and as
 * `storedQuestions` does.
 */
export async function sampleVectors(
  context: QuestionsContext,
  tenant: Tenant,
  name: CollectionName,
  { sample, metadata }: Required<VectorSampleParameters>,
  signal: AbortSignal,
): Promise<{ dim: number; vectors: SampledVector[] }> {
  const collection = context.catalog.get(tenant, name);
  const countMax = Math.max(1, Math.min(sample, Math.floor(VECTOR_SAMPLE_COMPONENTS_MAX / collection.dim)));
  const found: SampledVector[] = [];
  for await (const { own: rid = '', vector } of storedQuestions(context, collection, countMax)) {
    if (signal.aborted || found.length === countMax) break;
    found.push({ rid, ...inBytes(vector) });
  }
  return { dim: collection.dim, vectors: metadata ? await withMetadata(context, collection, found) : found };
}

/** Leaves out chunks that have gone meanwhile. */
async function withMetadata(
  { shards }: Pick<QuestionsContext, 'shards'>,
  collection: Collection,
  vectors: readonly SampledVector[],
): Promise<SampledVector[]> {
  const found = await Promise.all(
    vectors.map(async (each): Promise<SampledVector[]> => {
      const docid = parseChunkId(each.rid)?.docid ?? '';
      const shard = shardOf(docid, collection, shards.size);
      const chunk = await shards.request(shard, 'getChunk', { collection: collection.id, rid: each.rid });
      return chunk === null ? [] : [{ ...each, meta: (JSON.parse(chunk) as ChunkSummary).meta }];
    }),
  );
  return found.flat();
}

function inBytes(vector: Float32Array): Omit<SampledVector, 'rid'> {
  const largest = vector.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
  const scale = largest / BYTE_MAX;
  const bytes = Int8Array.from(vector, (value) => Math.round(value / scale));
  return { scale, components: Buffer.from(bytes.buffer).toString('base64') };
}
