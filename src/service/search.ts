// Use case: search a collection. Embeds the text, asks every shard for its best, merges, and has the owners of the k best
// turn them into JSON. A hit that is replaced between the two steps makes the search run again: an answer shows a document
// whole, old or new.
import { AppError } from '../contract/errors.js';
import type { CollectionName, Ordinal, Tenant } from '../contract/ids.js';
import type { RankedHit, ShardHits } from '../contract/messages.js';
import type { Collection, SearchMode, SearchTiming } from '../contract/resources.js';
import { toVector } from '../contract/vector.js';
import { comparePositions, crossShardTies, mergeRanked, type Place } from '../rank/merge.js';
import { refOf } from './catalog.js';
import { servedMode } from './collection-settings.js';
import type { Context } from './context.js';

export interface SearchInput {
  /** Exactly one of `q` and `v`. */
  q?: string;
  v?: number[];
  k: number;
  mode?: string;
}

export interface SearchResult {
  mode: SearchMode;
  timing: SearchTiming;
  /** The hits, best first, each as JSON text. */
  hits: string[];
}

const ATTEMPTS_MAX = 3;

/** Throws AppError for a mode, a vector or a text that the collection cannot be searched with. A missing collection is empty. */
export async function searchCollection(context: Context, tenant: Tenant, name: CollectionName, input: SearchInput): Promise<SearchResult> {
  const collection = context.catalog.find(tenant, name);
  const mode = modeOf(input, collection);
  const timing: SearchTiming = { embed_ms: 0, filter_ms: 0, hydrate_ms: 0, search_ms: 0 };
  if (!collection) return { mode, timing, hits: [] };
  const vector = await timed(timing, 'embed_ms', () => queryVector(context, collection, input));
  for (let attempt = 1; ; attempt++) {
    const ranked = await timed(timing, 'search_ms', () => rank(context, collection, vector, input.k));
    const hits = await timed(timing, 'hydrate_ms', () => hydrate(context, collection, ranked));
    const present = hits.filter((hit) => hit !== null);
    if (present.length === hits.length || attempt === ATTEMPTS_MAX) return { mode, timing, hits: present };
  }
}

/** A collection whose default wants a text answers a vector in mode vector; asking for such a mode with a vector is refused. */
function modeOf({ mode, v }: SearchInput, collection: Collection | undefined): SearchMode {
  if (mode === undefined) return v ? 'vector' : (collection?.search_mode ?? 'vector');
  if (v && (mode === 'boost' || mode === 'hybrid')) throw new AppError('search_mode_requires_text');
  return servedMode(mode);
}

async function queryVector({ embed }: Context, { embedder_type: type, dim }: Collection, { q, v }: SearchInput): Promise<Float32Array> {
  if (v) return toVector(v, dim, ['body', 'v']);
  if (type === 'identity') throw new AppError('vectors_only', 'The collection holds vectors only: search it with `v`.');
  return embed.embedQuery(q as string);
}

type ShardHit = RankedHit & { shard: number };

async function rank({ shards }: Context, collection: Collection, vector: Float32Array, k: number): Promise<ShardHit[]> {
  const request = { collection: refOf(collection), vector, k };
  const lists = await Promise.all(shards.askAll('search', request));
  const scores = lists.map((list) => list.scores);
  const places = mergeRanked(scores, k);
  for (const [start, end] of crossShardTies(scores, places, k)) {
    const tied = places.slice(start, end);
    places.splice(start, end - start, ...(await inDocumentOrder(shards, collection, lists, tied)));
  }
  return places.slice(0, k).map((place) => hitAt(lists, place));
}

function hitAt(lists: readonly ShardHits[], { shard, at }: Place): ShardHit {
  const { ordinals, stamps, scores, cosines } = lists[shard] as ShardHits;
  return { shard, ordinal: ordinals[at] as Ordinal, stamp: stamps[at] as number, score: scores[at] as number, cosine: cosines[at] as number };
}

async function inDocumentOrder(shards: Context['shards'], { id }: Collection, lists: readonly ShardHits[], tied: readonly Place[]): Promise<Place[]> {
  const positions = await perShard(tied, (shard, places) => {
    const ordinals = Uint32Array.from(places, ({ at }) => lists[shard]?.ordinals[at] as number);
    return shards.ask(shard, 'locate', { collection: id, ordinals });
  });
  const order = tied.map((place, i) => ({ place, position: positions[i] as { docid: string; index: number } }));
  return order.sort((a, b) => comparePositions(a.position, b.position)).map(({ place }) => place);
}

async function hydrate({ shards }: Context, collection: Collection, hits: readonly ShardHit[]): Promise<(string | null)[]> {
  const { id, tenant, name, priority_key: priorityKey } = collection;
  const head = `{"tenant":${JSON.stringify(tenant)},"collection":${JSON.stringify(name)},`;
  return perShard(hits, (shard, ofShard) => {
    const plain = ofShard.map(({ ordinal, stamp, score, cosine }) => ({ ordinal, stamp, score, cosine }));
    return shards.ask(shard, 'hydrate', { collection: id, head, priorityKey, hits: plain });
  });
}

/** Asks each shard about its items in one go; the answers stand in the order of `items`. */
async function perShard<I extends { shard: number }, A>(items: readonly I[], ask: (shard: number, items: I[]) => Promise<A[]>): Promise<A[]> {
  const byShard = new Map<number, number[]>();
  items.forEach(({ shard }, i) => (byShard.get(shard) ?? byShard.set(shard, []).get(shard))?.push(i));
  const answers = new Array<A>(items.length);
  const asked = [...byShard].map(async ([shard, indices]) => {
    const ofShard = await ask(shard, indices.map((i) => items[i] as I));
    indices.forEach((i, n) => (answers[i] = ofShard[n] as A));
  });
  await Promise.all(asked);
  return answers;
}

async function timed<T>(timing: SearchTiming, phase: keyof SearchTiming, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  try {
    return await work();
  } finally {
    timing[phase] += performance.now() - started;
  }
}
