// The candidates of filtered searches, compared with a naive version that evaluates the filters on every chunk: random
// writes, filters of every operator on metadata of every shape, and content filters; while the indexes are being built,
// afterwards, and when they are built again from the store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../../src/base/prng.js';
import type { ContentFilter } from '../../../../src/api/search.js';
import type { Filter } from '../../../../src/api/filter.js';
import { chunkIdOf, type CollectionId, type DocId, type Ordinal } from '../../../../src/api/ids.js';
import type { SearchFilter } from '../../../../src/engine/search/params.js';
import { compileFilter } from '../../../../src/engine/filter/match.js';
import { ShardStore } from '../../../../src/storage/shard-store.js';
import { createContentTest } from '../../../../src/text/content-filter.js';
import type { Kernel } from '../../../../src/engine/memory/arena.js';
import {
  buildFields,
  buildTextIndex,
  prepareFields,
  prepareTextIndex,
} from '../../../../src/engine/segments/indexes.js';
import { type Shard } from '../../../../src/engine/shard.js';
import { applyWrites } from '../../../../src/engine/write/write.js';
import { tempDirectory } from '../../../kit/temp.js';
import { createKernel, createMemory, shardOn } from '../../../kit/engine/arena.js';
import { ranked } from '../../../kit/engine/search.js';
import { putOf, removalOf } from '../../../kit/engine/writes.js';

type Json = Record<string, unknown>;

interface NaiveRows {
  metadata: Json;
  chunks: { meta: Json; text?: string }[];
}

const ref = { id: 1 as CollectionId, generation: 1, dim: 2, language: 'none' as const, precision: 'int16' as const };
const LONG = 'long '.repeat(39) + 'edge';
const TEXTS = [
  'de',
  'en',
  '',
  '5',
  '5.0',
  '-7',
  '12',
  '9007199254740993',
  '05',
  'true',
  'false',
  '2024-05-01',
  '2024-05-01T10:00:00+02:00',
  '2024-05-01T08:00:00Z',
  '2024-13-01',
  'null',
  'École',
  '東京',
  'a\u0000b',
  'a\u0001b',
  'a\u0001',
  'a\u0000',
  'a\u0002',
  '\u{1f600}',
  '\uffee',
  '\ud83d',
  `${LONG}!`,
  `${LONG}!x`,
  `${LONG}!\u{1f600}`,
  `${LONG}!\u{1f601}y`,
  `${LONG}!!!!`,
  LONG,
  '\u{10ffff}',
  '\u{10ffff}a',
  '9'.repeat(400),
];
const NUMBERS = [0, -0, 5, -7, 12, 1e300, -1e-300, 0.1, 2 ** 53, 1714550400000, Infinity];
const FIELDS = [
  'lang',
  'a',
  'a.b',
  'a.b.c',
  'a.',
  '.a',
  '',
  'x.y',
  'tags',
  'page',
  'a\u0000',
  'a\u0001s',
  '__proto__',
  'b',
  'many',
  'a.\ud83d',
];
const WORDS = [
  'whale',
  'Captain',
  'Straße',
  'foo-bar',
  '東京',
  'café',
  'и\u0306од',
  'x1',
  '...',
  'Σας',
  'ﬁn',
  '\u{1f600}',
];

const pick = <T>(prng: Prng, items: readonly T[]): T => items[prng.int(items.length)] as T;
const scalar = (prng: Prng): string | number | boolean | null =>
  prng.int(5) > 0 ? pick(prng, TEXTS) : pick(prng, [...NUMBERS, true, false, null]);
const many = <T>(prng: Prng, max: number, make: () => T): T[] => Array.from({ length: prng.int(max + 1) }, make);

function value(prng: Prng, depth: number): unknown {
  if (depth === 0 || prng.int(2) === 0) return scalar(prng);
  return prng.int(2) === 0 ? many(prng, 3, () => value(prng, depth - 1)) : object(prng, depth - 1);
}

function object(prng: Prng, depth: number): Json {
  const keys = many(prng, 3, () =>
    pick(prng, [
      'a',
      'b',
      'c',
      'a.b',
      '',
      'lang',
      'tags',
      'page',
      'x',
      'y',
      'x.y',
      'a\u0000',
      'a\u0001s',
      '__proto__',
      '\ud83d',
    ]),
  );
  return Object.fromEntries(keys.map((key) => [key, value(prng, depth)]));
}

function metadata(prng: Prng): Json {
  const own = object(prng, 3);
  return prng.int(25) === 0 ? { ...own, many: Array.from({ length: 1100 }, (_, i) => i) } : own;
}

function filter(prng: Prng, depth: number): Filter {
  const kind = prng.int(depth > 0 ? 6 : 3);
  if (kind === 3) return { all: many(prng, 3, () => filter(prng, depth - 1)) };
  if (kind === 4) return { any: many(prng, 3, () => filter(prng, depth - 1)) };
  if (kind === 5) return { not: filter(prng, depth - 1) };
  const field = pick(prng, FIELDS);
  const text = pick(prng, TEXTS);
  const op = pick(prng, ['in', 'in', 'compare', 'compare', 'prefix', 'suffix', 'contains', 'exists'] as const);
  if (op === 'exists') return { field, test: { op } };
  if (op === 'in') return { field, test: { op, values: many(prng, 3, () => scalar(prng)) } };
  if (op === 'compare')
    return {
      field,
      test: {
        op,
        by: pick(prng, ['gt', 'gte', 'lt', 'lte'] as const),
        value: prng.int(2) ? text : pick(prng, NUMBERS),
      },
    };
  const from = prng.int(text.length + 1);
  return {
    field,
    test: {
      op,
      text: op === 'prefix' ? text.slice(0, from) : text.slice(from, op === 'contains' ? from + 3 : undefined),
    },
  };
}

const sentence = (prng: Prng): string =>
  Array.from({ length: prng.int(6) }, () => pick(prng, WORDS)).join(pick(prng, [' ', ', ', '']));

function content(prng: Prng, docs: ReadonlyMap<string, NaiveRows>): ContentFilter {
  const op = pick(prng, ['exact', 'phrase', 'prefix', 'contains'] as const);
  const text =
    pick(
      prng,
      [...docs.values()].flatMap(({ chunks }) => chunks.flatMap((chunk) => chunk.text ?? [])).concat('none'),
    ) || 'none';
  const from = prng.int(text.length);
  return { op, value: (op === 'exact' ? text : text.slice(from, from + 1 + prng.int(12))) || 'x' };
}

class Pair {
  readonly docs = new Map<string, NaiveRows>();
  shard: Shard;
  private readonly store: ShardStore;
  kernel: Kernel;

  /** `pagesMax` limits the shard's memory, in pages of 64 KiB. */
  constructor(
    readonly prng: Prng,
    pagesMax?: number,
    readonly directory = tempDirectory(),
  ) {
    this.store = ShardStore.open(directory, false);
    this.kernel = createKernel(createMemory(pagesMax));
    this.shard = shardOn(this.store, [this.kernel]);
  }

  write(): void {
    const docids = many(this.prng, 4, () => `D${this.prng.int(30)}`);
    applyWrites(
      this.shard,
      docids.map((docid) => (this.prng.int(4) === 0 ? this.remove(docid) : this.put(docid))),
    );
  }

  private remove(docid: string): Parameters<typeof applyWrites>[1][number] {
    this.docs.delete(docid);
    return removalOf(ref, docid);
  }

  put(
    docid: string,
    document = metadata(this.prng),
    given?: NaiveRows['chunks'],
  ): Parameters<typeof applyWrites>[1][number] {
    const naive: NaiveRows = {
      metadata: document,
      chunks:
        given ??
        many(this.prng, 4, () => ({
          meta: this.prng.int(2) ? object(this.prng, 2) : {},
          ...(this.prng.int(5) && { text: sentence(this.prng) }),
        })),
    };
    this.docs.set(docid, naive);
    const chunks = naive.chunks.map(({ meta, text }, i) => ({
      path: `c${i}`,
      metaJson: json(meta),
      ...(text !== undefined && { text }),
    }));
    const vectors = naive.chunks.map(() => [1, this.prng.next()]);
    return putOf(ref, docid, { chunks, vectors, metadataJson: json(naive.metadata) });
  }

  /** The chunks that a search finds; null while an index is being built. */
  found(searchFilter: SearchFilter): string[] | null {
    const hits = ranked(this, ref, { vector: Float32Array.of(1, 0), k: 1000, filter: searchFilter });
    return (
      hits &&
      this.store.read((txn) =>
        [...hits.vector.ordinals]
          .map((ordinal) => txn.chunk(ref.id, ordinal as Ordinal))
          .map(({ docid, path }) => chunkIdOf(docid, path))
          .sort(),
      )
    );
  }

  wanted({ filters, content }: SearchFilter): string[] {
    const [fits, fitsText] = [compileFilter({ all: filters }), content ? createContentTest(content) : () => true];
    const chunks = [...this.docs].flatMap(([docid, { metadata, chunks }]) =>
      chunks.map(({ meta, text }, i) => ({
        id: chunkIdOf(docid as DocId, `c${i}`),
        layers: [parsed(meta), parsed(metadata)],
        text,
      })),
    );
    return chunks
      .filter(({ layers, text }) => fits(layers) && (!content || (text !== undefined && fitsText(text))))
      .map(({ id }) => id)
      .sort();
  }

  assertSame(label: string): void {
    for (let i = 0; i < 12; i++) {
      const searchFilter: SearchFilter =
        i % 4 === 3
          ? { filters: i % 8 === 3 ? [filter(this.prng, 1)] : [], content: content(this.prng, this.docs) }
          : { filters: [filter(this.prng, 2)] };
      const found = this.found(searchFilter);
      if (found) assert.deepEqual(found, this.wanted(searchFilter), `${label}: ${JSON.stringify(searchFilter)}`);
    }
  }

  /** Restarts from the store; indexes are then built in the smallest slices. */
  restart(): void {
    this.kernel = createKernel();
    this.shard = shardOn(this.store, [this.kernel], [ref]);
    this.shard.loadForWrites(ref);
    this.shard.rowsIn(ref, 0);
    for (const segment of this.shard.segments.all())
      [prepareFields, prepareTextIndex].forEach((prepare) => prepare(this.shard, segment, 0));
  }

  buildOn(): void {
    for (const segment of this.shard.segments.all())
      [buildFields, buildTextIndex].forEach((build) => build(this.shard, segment, 0));
  }
}

/** JSON of a value; JSON.stringify cannot write numbers that are too large for a double. */
const json = (value: Json): string =>
  JSON.stringify(value, (_, one: unknown) => (one === Infinity ? '#1e999' : one)).replaceAll('"#1e999"', '1e999');
const parsedBefore = new WeakMap<object, Json>();
/** The value as it is after being stored and read; cached, since each is needed many times. */
function parsed(value: Json): Json {
  const parsed = parsedBefore.get(value) ?? (JSON.parse(json(value)) as Json);
  parsedBefore.set(value, parsed);
  return parsed;
}

for (const seed of [1, 2, 3, 4]) {
  test(`random writes and filters (seed ${seed})`, () => {
    const pair = new Pair(createPrng(seed));
    for (let i = 0; i < 10; i++) pair.write();
    let unbuilt = 0;
    for (let step = 0; step < 150; step++) {
      if (step % 75 === 0) pair.restart();
      pair.write();
      pair.buildOn();
      if (step % 3 === 0) pair.shard.segments.of(ref.id)[0]?.fields?.mergeSome(0);
      const isBuilt = pair.found({ filters: [{ all: [] }], content: { op: 'phrase', value: 'none' } }) !== null;
      if (isBuilt) pair.assertSame(`seed ${seed} step ${step}`);
      else unbuilt++;
    }
    assert.ok(unbuilt > 20 && unbuilt < 120, `${unbuilt} steps without indexes`);
  });
}

test('a content filter finds words beyond those with which a chunk is indexed', () => {
  const pair = new Pair(createPrng(6));
  // Each of these characters normalizes to several katakana, so the texts get far longer.
  applyWrites(pair.shard, [
    pair.put('LONG', {}, [{ meta: {}, text: `${'㌔㌀'.repeat(14_000)} the needle` }]),
    pair.put('SHORT', {}, [{ meta: {}, text: 'a needle' }]),
  ]);
  for (const op of ['phrase', 'prefix', 'contains'] as const) {
    const searchFilter: SearchFilter = { filters: [], content: { op, value: 'needle' } };
    while (pair.found(searchFilter) === null) pair.buildOn();
    assert.deepEqual(pair.found(searchFilter), ['LONG::c0', 'SHORT::c0'], op);
  }
});

test('where memory has no room for an index of metadata, filters answer the same', () => {
  const pair = new Pair(createPrng(5), 40);
  const large = (i: number): Json => ({
    lang: i % 2 === 0 ? 'de' : 'en',
    ...Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`field ${i} ${n}`, `value ${i} ${n}`])),
  });
  applyWrites(
    pair.shard,
    Array.from({ length: 60 }, (_, i) => pair.put(`D${i}`, large(i))),
  );
  const searchFilter: SearchFilter = { filters: [{ field: 'lang', test: { op: 'in', values: ['de'] } }] };
  while (pair.found(searchFilter) === null) pair.buildOn();
  assert.equal(pair.shard.segments.of(ref.id)[0]?.fields?.isLost, true);
  assert.deepEqual(pair.found(searchFilter), pair.wanted(searchFilter));
  for (let step = 0; step < 5; step++) {
    pair.write();
    pair.assertSame(`lost, step ${step}`);
  }
});
