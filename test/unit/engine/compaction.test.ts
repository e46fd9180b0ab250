// Memory is freed after deletes: a shard loses nine of ten documents and is compared with a naive version while chunks
// move, after a restart, and after owners were killed half-way. Uses real stores and kernels.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cosine } from '../../../load/kit/cosine.js';
import { defined } from '../../../src/base/assert.js';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import { AppError } from '../../../src/api/errors.js';
import type { CollectionId, Ordinal } from '../../../src/api/ids.js';
import type { CollectionSearch, SearchFilter } from '../../../src/engine/search/params.js';
import { withPriority } from '../../../src/ranking/scores.js';
import { ShardStore } from '../../../src/storage/shard-store.js';
import { compactSome } from '../../../src/engine/compaction.js';
import type { Segment } from '../../../src/engine/segments/segment.js';
import { buildFields, buildTextIndex } from '../../../src/engine/segments/indexes.js';
import { countsOf } from '../../../src/engine/documents.js';
import type { DocumentWrite } from '../../../src/engine/write/commands.js';
import { applyWrites } from '../../../src/engine/write/write.js';
import { tempDirectory } from '../../kit/temp.js';
import { ranked, type OwnedShard } from '../../kit/engine/search.js';
import { createKernel, shardOn, randomVector } from '../../kit/engine/arena.js';
import { ROUNDING_TOLERANCE } from '../../kit/engine/naive-vector-index.js';
import { putOf, removalOf } from '../../kit/engine/writes.js';

const DIM = 32;
const DOCUMENTS = 1000;
const BATCH = 50;
const GROUPS = 4;
const WORDS = 20;
const K = 8;
const ref = { id: 1 as CollectionId, generation: 1, dim: DIM, language: 'none' as const, precision: 'int16' as const };

interface Doc {
  vectors: Float32Array[];
  priority: number;
  group: number;
  word: string;
}

class NaiveRows {
  readonly docs = new Map<string, Doc>();

  put(prng: Prng, docid: string): DocumentWrite {
    const vectors = Array.from({ length: 1 + prng.int(5) }, () => randomVector(prng, DIM));
    const doc = {
      vectors,
      priority: prng.int(10) === 0 ? 0.3 : 0,
      group: prng.int(GROUPS),
      word: `word${prng.int(WORDS)}`,
    };
    this.docs.set(docid, doc);
    const chunks = vectors.map((_, i) => ({ path: `c${i}`, metaJson: '{}', text: `${doc.word} of ${docid} ${i}` }));
    const metadataJson = JSON.stringify({ group: doc.group });
    return putOf(ref, docid, { chunks, vectors, priority: doc.priority, metadataJson });
  }

  remove(docid: string): DocumentWrite {
    this.docs.delete(docid);
    return removalOf(ref, docid);
  }

  /**
   * Asserts that the found chunks are the K nearest of the documents that fit, but for the rounding of scores to 16-bit
   * numbers.
   */
  assertNearest(found: readonly string[], query: Float32Array, fits: (doc: Doc) => boolean, label: string): void {
    const some = [...this.docs].filter(([, doc]) => fits(doc));
    const scores = new Map(
      some.flatMap(([docid, { vectors, priority }]) =>
        vectors.map((vector, i) => [`${docid}/c${i}`, withPriority(cosine(query, vector), priority)]),
      ),
    );
    const kth =
      [...scores.values()]
        .sort((a, b) => b - a)
        .slice(0, K)
        .at(-1) ?? 0;
    assert.equal(new Set(found).size, Math.min(K, scores.size), label);
    for (const name of found)
      assert.ok(
        (scores.get(name) ?? NaN) >= kth - ROUNDING_TOLERANCE,
        `${label}: ${name} scores ${scores.get(name)}, the last ${kth}`,
      );
  }

  get chunks(): number {
    return [...this.docs.values()].reduce((sum, { vectors }) => sum + vectors.length, 0);
  }
}

function openShard(directory: string, store: ShardStore): OwnedShard {
  const kernel = createKernel();
  const shard = shardOn(store, [kernel], [ref]);
  shard.loads.load(ref, Infinity);
  return { shard, kernel, directory };
}

const names = ({ shard }: OwnedShard, ordinals: Uint32Array): string[] =>
  shard.store.read((txn) =>
    Array.from(ordinals, (ordinal) => txn.chunk(ref.id, ordinal as Ordinal)).map(
      ({ docid, path }) => `${docid}/${path}`,
    ),
  );

/**
 * Searches by vector alone, under a metadata filter and under a content filter, and compares each with the naive
 * version.
 */
function check(owned: OwnedShard, naive: NaiveRows, prng: Prng, label: string): void {
  const query = randomVector(prng, DIM);
  const [group, word] = [prng.int(GROUPS), `word${prng.int(WORDS)}`];
  const ask = (filter?: SearchFilter): string[] =>
    names(owned, askFor(owned, { vector: query, k: K, params: { exact: true }, ...(filter && { filter }) }));
  naive.assertNearest(ask(), query, () => true, label);
  naive.assertNearest(
    ask({ filters: [{ field: 'group', test: { op: 'in', values: [group] } }] }),
    query,
    (doc) => doc.group === group,
    label,
  );
  naive.assertNearest(
    ask({ filters: [], content: { op: 'phrase', value: word } }),
    query,
    (doc) => doc.word === word,
    label,
  );
}

/** The ordinals that a search finds; repeats it while an index is being built. */
function askFor(owned: OwnedShard, search: Partial<CollectionSearch>): Uint32Array {
  for (let tries = 0; tries < 1000; tries++) {
    const answer = ranked(owned, ref, search);
    if (answer) return answer.vector.ordinals;
    for (const segment of owned.shard.segments.all())
      for (const build of [buildTextIndex, buildFields]) build(owned.shard, segment, Infinity);
  }
  throw new Error('there is no answer');
}

/** A shard of which one in ten documents is left, before any background work. */
function withDeleted(prng: Prng): { owned: OwnedShard; naive: NaiveRows; store: ShardStore; fullBytes: number } {
  const directory = tempDirectory();
  const store = ShardStore.open(directory, false);
  const owned = openShard(directory, store);
  const naive = new NaiveRows();
  for (let from = 0; from < DOCUMENTS; from += BATCH)
    write(
      owned,
      Array.from({ length: BATCH }, (_, i) => naive.put(prng, `D${from + i}`)),
    );
  check(owned, naive, prng, 'all');
  const fullBytes = segmentOf(owned).index.usedBytes;
  const doomed = [...naive.docs.keys()].filter(() => prng.int(10) > 0);
  for (let from = 0; from < doomed.length; from += BATCH)
    write(
      owned,
      doomed.slice(from, from + BATCH).map((docid) => naive.remove(docid)),
    );
  return { owned, naive, store, fullBytes };
}

function write({ shard }: OwnedShard, writes: DocumentWrite[]): void {
  for (const result of applyWrites(shard, writes)) assert.ok('value' in result, JSON.stringify(result));
}

const segmentOf = ({ shard }: OwnedShard): Segment => defined(shard.segments.of(ref.id)[0], 'the part');

for (const seed of [1, 2]) {
  test(`after nine in ten documents are removed, memory is freed while all searches stay right (seed ${seed})`, () => {
    const prng = createPrng(seed);
    const { owned, naive, store, fullBytes } = withDeleted(prng);
    for (let step = 0; compactSome(owned.shard, segmentOf(owned)); step++) {
      if (step % 4 === 0) check(owned, naive, prng, `step ${step}`);
      // Writes come between the steps: new documents, replaced ones and removals.
      if (prng.int(4) === 0)
        write(owned, [
          naive.put(prng, `N${step}`),
          naive.put(prng, `D${prng.int(DOCUMENTS)}`),
          naive.remove(`D${prng.int(DOCUMENTS)}`),
        ]);
    }
    while (owned.shard.arenas.reclaim());
    check(owned, naive, prng, 'in the end');
    const segment = segmentOf(owned);
    assert.ok(segment.index.end <= 1.5 * naive.chunks, `${segment.index.end} ordinals for ${naive.chunks} chunks`);
    assert.ok(segment.index.usedBytes <= fullBytes / 4, `${fullBytes} bytes before, ${segment.index.usedBytes} after`);
    assert.equal(owned.kernel.retiredBytes(), 0);
    assert.deepEqual(countsOf(owned.shard, [ref.id]), [{ documents: naive.docs.size, chunks: naive.chunks }]);
    check(openShard(owned.directory, store), naive, prng, 'after a restart');
  });
}

test('owners that are killed while chunks move lose nothing, and the next one goes on', () => {
  const prng = createPrng(3);
  const { owned: first, naive, store } = withDeleted(prng);
  let owned = first;
  for (let round = 0; round < 12; round++) {
    for (let steps = prng.int(6); steps > 0 && compactSome(owned.shard, segmentOf(owned)); steps--);
    owned = openShard(owned.directory, store);
    check(owned, naive, prng, `round ${round}`);
  }
  while (compactSome(owned.shard, segmentOf(owned)));
  check(owned, naive, prng, 'in the end');
  assert.ok(segmentOf(owned).index.end <= 1.3 * naive.chunks);
  assert.deepEqual(countsOf(owned.shard, [ref.id]), [{ documents: naive.docs.size, chunks: naive.chunks }]);
});

test('a move whose commit fails changes nothing, and is tried again later', () => {
  const prng = createPrng(4);
  const { owned, naive, store } = withDeleted(prng);
  const commit = store.write;
  const end = segmentOf(owned).ordinals.end;
  store.write = (work) =>
    commit.call(store, (txn) => {
      work(txn);
      throw new AppError('storage_full');
    }) as never;
  assert.equal(compactSome(owned.shard, segmentOf(owned)), false);
  store.write = commit;
  check(owned, naive, prng, 'after the failure');
  assert.equal(segmentOf(owned).ordinals.end, end);
  while (compactSome(owned.shard, segmentOf(owned)));
  check(owned, naive, prng, 'in the end');
});
