// Whole searches of one shard with filters, in this process: what making the bitmap takes, searches a second of CPU
// time, and chunks that fit, for one field of each selectivity, combinations, and content filters. Store, indexes and
// ranking as in a shard worker; no HTTP. node dist/load/filtered-search.js [--rows 100000] [--tiny]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createArenaMemory } from '../src/base/huge-pages.js';
import { createPrng } from '../src/base/prng.js';
import type { CollectionId, DocId } from '../src/api/ids.js';
import type { CollectionRef } from '../src/api/collections.js';
import { packDocument } from '../src/text/prepared-document.js';
import type { CollectionSearch, Narrowing } from '../src/engine/search/params.js';
import { parseFilter } from '../src/api/filter.js';
import { ShardReader } from '../src/storage/shard-reader.js';
import { ShardStore } from '../src/storage/shard-store.js';
import { countBits } from '../src/engine/filter/bitmap.js';
import { Arenas, Kernel } from '../src/engine/memory/arena.js';
import { buildFields, buildWords, prepare } from '../src/engine/segments/indexes.js';
import { Shard } from '../src/engine/shard.js';
import { applyWrites, type DocumentWrite } from '../src/engine/write/write.js';
import { HitCache } from '../src/engine/search/payload-cache.js';
import { rankPart } from '../src/engine/search/rank.js';
import { select } from '../src/engine/filter/candidates.js';
import { ShardView } from '../src/engine/search/snapshot.js';
import { printTable, readArguments, whole } from './kit/command.js';
import { settle } from './kit/vector-engine.js';
import { cpuMs } from './kit/text-peers.js';
import { readWordWindows } from './kit/text-sets.js';
import { clustered, windows } from './kit/vector-sets.js';

const K = 10;
const BATCH = 1000;
const QUERIES = 200;
const CHUNKS_PER_DOCUMENT = 5;

const { tiny, number } = readArguments('rows');
const rows = number('rows', tiny ? 2000 : 100_000);
const set = tiny ? clustered(rows, 64, 1) : (windows(rows) ?? clustered(rows, 384, 1));
const texts = (tiny ? undefined : readWordWindows(rows)?.windows) ?? ['one two three', 'four five six'];
const dim = set.rows[0]?.length ?? 0;
const ref: CollectionRef = { id: 1 as CollectionId, generation: 1, dim, language: 'none', precision: 'int16' };
const PLAIN: CollectionSearch = {
  collection: ref,
  head: '{',
  priorityKey: '',
  k: K,
  depth: K,
  params: {},
  narrowed: { fields: [] },
  fusion: { method: 'rank', k: 60, weights: { vector: 1, lexical: 1 } },
  boostWeight: 0,
};
const prng = createPrng(1);

/** A document's metadata: a field that one in so many documents has, and what metadata usually are. */
function metadataOf(i: number): Record<string, unknown> {
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

function put(i: number): DocumentWrite {
  const chunks = Array.from({ length: CHUNKS_PER_DOCUMENT }, (_, n) => ({
    path: `chunk_${n}`,
    metaJson: `{"offset":${n * 800}}`,
    text: texts[(CHUNKS_PER_DOCUMENT * i + n) % texts.length] as string,
  }));
  const vectors = new Float32Array(dim * CHUNKS_PER_DOCUMENT);
  chunks.forEach((_, n) =>
    vectors.set(noisy(set.rows[(CHUNKS_PER_DOCUMENT * i + n) % set.rows.length] as Float32Array), n * dim),
  );
  return {
    op: 'put',
    collection: ref,
    document: packDocument({
      docid: `D${i}` as DocId,
      ingestedAtMs: 0,
      metadataJson: JSON.stringify(metadataOf(i)),
      priority: 0,
      chunks,
    }),
    vectors,
  };
}

const noisy = (row: Float32Array): Float32Array => row.map((value) => value + 0.01 * prng.normal());

function fill(shard: Shard): void {
  for (let i = 0; i < rows / CHUNKS_PER_DOCUMENT; i += BATCH)
    applyWrites(
      shard,
      Array.from({ length: Math.min(BATCH, rows / CHUNKS_PER_DOCUMENT - i) }, (_, n) => put(i + n)),
    );
  for (const { index } of shard.parts.all()) settle(index);
}

/** CPU time of making the indexes of metadata and of words, and their bytes a chunk. */
function index(shard: Shard): string {
  const part = shard.parts.of(ref.id)[0]!;
  prepare(shard, { op: 'prepare', collection: ref, words: true, fields: true });
  const startedAt = cpuMs();
  buildFields(shard, part, Infinity);
  const fieldsMs = cpuMs() - startedAt;
  buildWords(shard, part, Infinity);
  while (part.fields?.mergeSome(10) || part.words?.mergeSome(10));
  const bytes = Object.values(part.fields?.complete?.bytes() ?? {}).reduce((sum, one) => sum + one, 0);
  return `metadata indexed at ${whole((rows / fieldsMs) * 1000)} chunks/s, ${whole(bytes / rows)} bytes a chunk`;
}

const filtered = (raw: Record<string, unknown>): Narrowing => ({
  filters: [parseFilter(raw, { stringOperators: true })],
});

const CASES: [string, Narrowing | undefined][] = [
  ['none', undefined],
  ...[2, 10, 100, 1000, 10_000].map((many): [string, Narrowing] => [
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

/** Runs `work` as a search worker would. */
function viewed<T>(work: (view: ShardView) => T): T | undefined {
  return kernel.read((incarnation) => {
    const view = new ShardView(0, incarnation, kernel, reader, ref, new HitCache(0));
    try {
      return work(view);
    } finally {
      view.end();
    }
  });
}

function measure(narrowing: Narrowing | undefined): string[] {
  const search: CollectionSearch = { ...PLAIN, ...(narrowing && { narrowing }) };
  const ask = (vector: Float32Array): number =>
    viewed((view) => rankPart(view, { ...search, vector }, { chunks: 0, tokens: 0, frequencies: [] }).filterMs) ?? NaN;
  const queries = set.queries.slice(0, tiny ? 5 : QUERIES);
  ask(queries[0] as Float32Array);
  const startedAt = cpuMs();
  const filterMs = queries.map(ask).sort((a, b) => a - b)[queries.length >> 1] as number;
  const rate = (queries.length / (cpuMs() - startedAt)) * 1000;
  return [
    narrowing ? whole(viewed((view) => countBits(select(view, view.part!, narrowing))) ?? 0) : whole(rows),
    filterMs.toFixed(3),
    whole(rate),
  ];
}

const folder = mkdtempSync(join(tmpdir(), 'sheaf-filters-'));
const module = new WebAssembly.Module(readFileSync(new URL('../src/engine/kernel.wasm', import.meta.url)));
const kernel = new Kernel(module, createArenaMemory(64, 65536));
const shard = Shard.open(ShardStore.open(folder, false), new Arenas([kernel]), { collections: [], isWhole: true });
const reader = new ShardReader(folder);
try {
  fill(shard);
  const indexed = index(shard);
  const table = CASES.map(([name, narrowing]) => [name, ...measure(narrowing)]);
  printTable(`${set.name}: ${whole(rows)} chunks, ${K} best; ${indexed}`, [
    ['filter', 'chunks that fit', 'filter ms (median)', 'searches/s of CPU'],
    ...table,
  ]);
} finally {
  shard.close();
  rmSync(folder, { recursive: true, force: true });
}
