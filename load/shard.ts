// One shard in this process, without HTTP: store, indexes, ranking and background work as in its worker. Measures the
// cost of filters, and the memory reclaimed after documents are deleted and collections dropped.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { CollectionRef } from '../src/api/collections.js';
import { parseFilter } from '../src/api/filter.js';
import type { CollectionId, DocId, Ordinal } from '../src/api/ids.js';
import { createPrng, type Prng } from '../src/base/prng.js';
import { compactSome } from '../src/engine/compaction.js';
import { countBits } from '../src/engine/filter/bitmap.js';
import { candidatesOf } from '../src/engine/filter/candidates.js';
import { PURGE_STEP } from '../src/engine/maintenance.js';
import { Arenas, type Kernel } from '../src/engine/memory/arena.js';
import { HitCache } from '../src/engine/search/payload-cache.js';
import type { CollectionSearch, SearchFilter } from '../src/engine/search/params.js';
import { rankSegment } from '../src/engine/search/rank.js';
import { ShardView } from '../src/engine/search/snapshot.js';
import { buildFields, buildTextIndex, prepare } from '../src/engine/segments/indexes.js';
import type { Segment } from '../src/engine/segments/segment.js';
import { Shard } from '../src/engine/shard.js';
import type { DocumentWrite } from '../src/engine/write/commands.js';
import { applyWrites } from '../src/engine/write/write.js';
import { ShardReader } from '../src/storage/shard-reader.js';
import { ShardStore } from '../src/storage/shard-store.js';
import { packDocument } from '../src/text/prepared-document.js';
import { type LoadOptions, printTable, seconds, whole } from './kit/command.js';
import { createKernel, finishBackgroundWork } from './kit/kernel.js';
import { ownCpuMs } from './kit/server-usage.js';
import { withFolder } from './kit/server.js';
import { readWordWindows } from './kit/text-sets.js';
import { VECTOR_DIM, clustered, windows, type VectorSet } from './kit/vector-sets.js';

const CHUNKS_PER_DOCUMENT = 5;

/** Real vectors if they are present, else seeded ones. */
const rowsFor = (count: number, tiny: boolean): VectorSet =>
  tiny ? clustered(count, 64, 1) : (windows(count) ?? clustered(count, VECTOR_DIM, 1));

const refOf = (dim: number): CollectionRef => ({
  id: 1 as CollectionId,
  generation: 1,
  dim,
  language: 'none',
  precision: 'int16',
});

function withShard(work: (shard: Shard, kernel: Kernel, folder: string) => void): Promise<void> {
  return withFolder(async (folder) => {
    const kernel = createKernel();
    const shard = Shard.open(ShardStore.open(folder, false), new Arenas([kernel]), { collections: [], isWhole: true });
    try {
      work(shard, kernel, folder);
    } finally {
      shard.close();
    }
  });
}

function applyAll(shard: Shard, writes: Iterable<DocumentWrite>, batch: number): void {
  const some: DocumentWrite[] = [];
  for (const write of writes) {
    some.push(write);
    if (some.length === batch) applyWrites(shard, some.splice(0));
  }
  if (some.length > 0) applyWrites(shard, some);
}

const K = 10;
const FILTERED_BATCH = 1000;
const QUERIES = 200;

/**
 * Whole searches with filters: time to build the bitmap, searches per second of CPU time, and matching chunks, for one
 * field of each selectivity, combinations, and content filters.
 */
export async function filters({ tiny, number }: LoadOptions): Promise<void> {
  const rows = number('rows', tiny ? 2000 : 100_000);
  const set = rowsFor(rows, tiny);
  const texts = (tiny ? undefined : readWordWindows(rows)?.windows) ?? ['one two three', 'four five six'];
  const queries = set.queries.slice(0, tiny ? 5 : QUERIES);
  const ref = refOf(set.rows[0]?.length ?? 0);
  await withShard((shard, kernel, folder) => {
    applyAll(shard, describedDocuments(ref, rows, set.rows, texts), FILTERED_BATCH);
    for (const { index } of shard.segments.all()) finishBackgroundWork(index);
    const indexed = buildIndexes(shard, ref, rows);
    const reader = new ShardReader(folder);
    const viewed = <T>(work: (view: ShardView) => T): T =>
      kernel.read((incarnation) => {
        const view = new ShardView(0, incarnation, kernel, reader, ref, new HitCache(0));
        try {
          return work(view);
        } finally {
          view.end();
        }
      }) as T;
    const plain = plainSearch(ref);
    const table = filterCases(tiny).map(([name, filter]) => [
      name,
      filter ? whole(viewed((view) => countBits(candidatesOf(view, view.segment!, filter)))) : whole(rows),
      ...filterCosts(queries, (vector) =>
        viewed(
          (view) =>
            rankSegment(
              view,
              { ...plain, ...(filter && { filter }), vector },
              { chunks: 0, tokens: 0, frequencies: [] },
            ).filterMs,
        ),
      ),
    ]);
    printTable(`${set.name}: ${whole(rows)} chunks, ${K} best; ${indexed}`, [
      ['filter', 'chunks that fit', 'filter ms (median)', 'searches/s of CPU'],
      ...table,
    ]);
  });
}

const plainSearch = (collection: CollectionRef): CollectionSearch => ({
  collection,
  jsonPrefix: '{',
  priorityKey: '',
  k: K,
  depth: K,
  params: {},
  filteredBy: { fields: [] },
  fusion: { method: 'rank', k: 60, weights: { vector: 1, lexical: 1 } },
  boostWeight: 0,
});

/** Costs of filtered searches. `ask` returns the milliseconds that building the bitmap took. */
function filterCosts(queries: readonly Float32Array[], ask: (vector: Float32Array) => number | undefined): string[] {
  ask(queries[0] as Float32Array);
  const startedAt = ownCpuMs();
  const filterMs = queries.map((vector) => ask(vector) ?? NaN).sort((a, b) => a - b)[queries.length >> 1] as number;
  const rate = (queries.length / (ownCpuMs() - startedAt)) * 1000;
  return [filterMs.toFixed(3), whole(rate)];
}

function* describedDocuments(
  collection: CollectionRef,
  rows: number,
  vectors: readonly Float32Array[],
  texts: readonly string[],
): Generator<DocumentWrite> {
  const prng = createPrng(1);
  for (let i = 0; i < rows / CHUNKS_PER_DOCUMENT; i++) {
    const first = CHUNKS_PER_DOCUMENT * i;
    const chunks = Array.from({ length: CHUNKS_PER_DOCUMENT }, (_, n) => ({
      path: `chunk_${n}`,
      metaJson: `{"offset":${n * 800}}`,
      text: texts[(first + n) % texts.length] as string,
    }));
    const own = new Float32Array(collection.dim * CHUNKS_PER_DOCUMENT);
    chunks.forEach((_, n) => {
      const vector = vectors[(first + n) % vectors.length] as Float32Array;
      own.set(
        vector.map((value) => value + 0.01 * prng.normal()),
        n * collection.dim,
      );
    });
    const metadataJson = JSON.stringify(metadataOf(prng, i));
    const document = packDocument({ docid: `D${i}` as DocId, ingestedAtMs: 0, metadataJson, priority: 0, chunks });
    yield { op: 'put', collection, document, vectors: own };
  }
}

/** A document's metadata: a field that one in so many documents has, and fields of usual metadata. */
function metadataOf(prng: Prng, i: number): Record<string, unknown> {
  const one = (many: number): object => (prng.int(many) === 0 ? { [`in${many}`]: true } : {});
  return {
    ...one(2),
    ...one(10),
    ...one(100),
    ...one(1000),
    ...one(10_000),
    year: 1900 + prng.int(120),
    author: { name: `author ${prng.int(5000)}` },
    tags: [`t${prng.int(20)}`, `t${prng.int(20)}`],
    source: `file-${i}.txt`,
  };
}

/** CPU time of building the metadata and text indexes, and their bytes per chunk. */
function buildIndexes(shard: Shard, collection: CollectionRef, rows: number): string {
  const segment = shard.segments.of(collection.id)[0]!;
  prepare(shard, { op: 'prepare', collection, textIndex: true, fields: true });
  const startedAt = ownCpuMs();
  buildFields(shard, segment, Infinity);
  const fieldsMs = ownCpuMs() - startedAt;
  buildTextIndex(shard, segment, Infinity);
  while (segment.fields?.mergeSome(10) || segment.textIndex?.mergeSome(10));
  const bytes = Object.values(segment.fields?.complete?.bytes() ?? {}).reduce((sum, one) => sum + one, 0);
  return `metadata indexed at ${whole((rows / fieldsMs) * 1000)} chunks/s, ${whole(bytes / rows)} bytes a chunk`;
}

const filtered = (raw: Record<string, unknown>): SearchFilter => ({
  filters: [parseFilter(raw, { stringOperators: true })],
});

const filterCases = (tiny: boolean): [string, SearchFilter | undefined][] => [
  ['none', undefined],
  ...[2, 10, 100, 1000, 10_000].map((many): [string, SearchFilter] => [
    `a field of one document in ${whole(many)}`,
    filtered({ [`in${many}`]: true }),
  ]),
  [
    'any of ten conditions',
    filtered({ $or: Array.from({ length: 10 }, (_, i) => ({ 'author.name': `author ${i}` })) }),
  ],
  ['any of 1,000 values', filtered({ 'author.name': Array.from({ length: 1000 }, (_, i) => `author ${i}`) })],
  ['a range of numbers', filtered({ year: { $gte: 1950, $lt: 1960 } })],
  ['a range over 20,000 strings', filtered({ source: { $gte: 'file-1', $lt: 'file-2' } })],
  ['not, and, or', filtered({ $not: { tags: 't1' }, $or: [{ year: { $lt: 1910 } }, { tags: ['t2', 't3'] }] })],
  ['a string operator: *77*', filtered({ 'author.name': '*77*' })],
  ['content phrase', { filters: [], content: { op: 'phrase', value: tiny ? 'two three' : 'boundary layer' } }],
  ['content contains', { filters: [], content: { op: 'contains', value: tiny ? 'wo thr' : 'oundary layer fl' } }],
];

const DELETES_BATCH = 500;

/** Memory before and after nine of ten documents are deleted, and the time to reclaim it. */
export async function deletes({ tiny, number }: LoadOptions): Promise<void> {
  const set = rowsFor(number('rows', tiny ? 6000 : 60_000), tiny);
  const ref = refOf(set.rows[0]?.length ?? 0);
  const docids = Array.from({ length: Math.floor(set.rows.length / CHUNKS_PER_DOCUMENT) }, (_, i) => `D${i}` as DocId);
  await withShard((shard, kernel) => {
    const table = [['', 'chunks', 'bytes in use', 'bytes a chunk']];
    const report = (state: string): void => {
      const chunks = shard.segments.of(ref.id)[0]?.index.liveCount ?? 0;
      table.push([state, whole(chunks), whole(kernel.usedBytes()), whole(kernel.usedBytes() / chunks)]);
    };
    applyAll(
      shard,
      docids.map((docid, i) => plainDocument(ref, docid, set.rows, i)),
      DELETES_BATCH,
    );
    const segment = shard.segments.of(ref.id)[0] as Segment;
    finishBackgroundWork(segment.index);
    report('loaded and linked');
    const prng = createPrng(1);
    const deleted = docids.filter(() => prng.int(10) > 0);
    applyAll(
      shard,
      deleted.map((docid) => ({ op: 'deleteDocument', collection: ref, docid })),
      DELETES_BATCH,
    );
    report('nine documents in ten deleted');
    const { longestMs, ms } = compact(shard, segment);
    report('given back');
    finishBackgroundWork(segment.index);
    report('linked again');
    printTable(`Memory of a shard, ${set.name}`, table);
    console.log(`giving back took ${whole(ms)} ms, the longest step ${longestMs.toFixed(1)} ms`);
  });
}

function plainDocument(
  collection: CollectionRef,
  docid: DocId,
  rows: readonly Float32Array[],
  i: number,
): DocumentWrite {
  const own = rows.slice(i * CHUNKS_PER_DOCUMENT, (i + 1) * CHUNKS_PER_DOCUMENT);
  const chunks = own.map((_, n) => ({ path: `c${n}`, metaJson: '{}' }));
  const document = packDocument({ docid, ingestedAtMs: 0, metadataJson: '{}', priority: 0, chunks });
  return { op: 'put', collection, document, vectors: Float32Array.from(own.flatMap((row) => [...row])) };
}

/** Milliseconds of the longest step, and of all steps. */
function compact(shard: Shard, segment: Segment): { longestMs: number; ms: number } {
  const startedAtMs = performance.now();
  let longestMs = 0;
  for (let isMore = true; isMore; ) {
    const stepAtMs = performance.now();
    isMore = compactSome(shard, segment);
    longestMs = Math.max(longestMs, performance.now() - stepAtMs);
  }
  while (shard.arenas.reclaim());
  return { longestMs, ms: performance.now() - startedAtMs };
}

const DROPPED_CHUNKS_PER_DOCUMENT = 4;
const DOCUMENTS_A_COMMIT = 25;

/** Repeatedly fills and drops a collection in bounded steps: size of the file, and time of a step. */
export async function drop({ tiny, number }: LoadOptions): Promise<void> {
  const chunks = number('chunks', tiny ? 400 : 20_000);
  const rounds = number('rounds', tiny ? 3 : 10);
  const prng = createPrng(1);
  await withFolder(async (folder) => {
    const directory = join(folder, 'shard-0');
    const store = ShardStore.open(directory, false);
    const rows: string[][] = [['round', 'file', 'steps of the purge', 'longest', 'in all']];
    for (let round = 1; round <= rounds; round++) {
      const ref: CollectionRef = { ...refOf(VECTOR_DIM), id: round as CollectionId, language: 'english' };
      fillStore(store, ref, chunks, prng);
      const { steps, longestMs, totalMs } = purge(store, ref);
      rows.push([
        String(round),
        `${whole(statSync(join(directory, 'data.mdb')).size / 1e6)} MB`,
        whole(steps),
        `${longestMs.toFixed(1)} ms`,
        seconds(totalMs),
      ]);
    }
    store.close();
    printTable(
      `collections of ${whole(chunks)} chunks of ${VECTOR_DIM} numbers, filled and dropped one after the other`,
      rows,
    );
  });
}

function fillStore(store: ShardStore, ref: CollectionRef, chunks: number, prng: Prng): void {
  const vectors = Float32Array.from({ length: DROPPED_CHUNKS_PER_DOCUMENT * ref.dim }, () => prng.next());
  const documents = Math.ceil(chunks / DROPPED_CHUNKS_PER_DOCUMENT);
  for (let from = 0; from < documents; from += DOCUMENTS_A_COMMIT) {
    store.write((txn) => {
      for (let n = from; n < Math.min(documents, from + DOCUMENTS_A_COMMIT); n++) {
        const ordinals = Array.from(
          { length: DROPPED_CHUNKS_PER_DOCUMENT },
          (_, i) => (n * DROPPED_CHUNKS_PER_DOCUMENT + i) as Ordinal,
        );
        const record = {
          docid: `D${n}` as DocId,
          version: 1,
          ingestedAtMs: 0,
          metadataJson: '{}',
          priority: 0,
          chunkCount: DROPPED_CHUNKS_PER_DOCUMENT,
          expiresAtS: 0,
        };
        const texts = ordinals.map((_, i) => ({
          path: `chunk_${i}`,
          metaJson: '{}',
          text: 'some text of a chunk '.repeat(30),
        }));
        txn.putDocument(ref, { record, ordinals, chunks: texts, vectors });
      }
    });
  }
}

interface Purge {
  steps: number;
  longestMs: number;
  totalMs: number;
}

function purge(store: ShardStore, { id }: CollectionRef): Purge {
  const purged: Purge = { steps: 0, longestMs: 0, totalMs: 0 };
  for (let isOver = false; !isOver; purged.steps++) {
    const startMs = performance.now();
    isOver = store.write((txn) => txn.purgeSome(id, PURGE_STEP));
    const tookMs = performance.now() - startMs;
    purged.longestMs = Math.max(purged.longestMs, tookMs);
    purged.totalMs += tookMs;
  }
  return purged;
}
