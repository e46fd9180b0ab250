// Segments that are loaded on demand, in slices or at once, and evicted when they are idle or memory is full, compared
// with a naive version that holds everything. Uses real stores and kernels; slices get deadlines that the test sets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cosine } from '../../../../load/kit/cosine.js';
import { createPrng, type Prng } from '../../../../src/base/prng.js';
import type { CollectionId, DocId, Ordinal } from '../../../../src/api/ids.js';
import type { ShardCounts, ShardRequest, DocumentWrite } from '../../../../src/engine/write/commands.js';
import type { CollectionRef } from '../../../../src/api/collections.js';
import { nodesHolding } from '../../../../src/api/memory-placement.js';
import { withPriority } from '../../../../src/ranking/scores.js';
import { DamagedRecord } from '../../../../src/storage/damage.js';
import { ShardStore } from '../../../../src/storage/shard-store.js';
import { type Shard } from '../../../../src/engine/shard.js';
import { countsOf, totals } from '../../../../src/engine/documents.js';
import { applyWrites } from '../../../../src/engine/write/write.js';
import { tempDirectory } from '../../../kit/temp.js';
import { ranked, type OwnedShard } from '../../../kit/engine/search.js';
import { createKernel, createMemory, randomVector, shardOn, SEEDS } from '../../../kit/engine/arena.js';
import { putOf, removalOf } from '../../../kit/engine/writes.js';

const DIM = 8;
const COLLECTIONS = 5;
const LARGE = 4200;
const NOW = 0;

const refOf = (id: number): CollectionRef => ({
  id: id as CollectionId,
  generation: 1,
  dim: DIM,
  language: 'none',
  precision: 'int16',
});
const ALL = Array.from({ length: COLLECTIONS }, (_, i) => refOf(i + 1));

function put(ref: CollectionRef, docid: string, vectors: Float32Array[], priority = 0): DocumentWrite {
  const chunks = vectors.map((_, i) => ({ path: `c${i}`, metaJson: '{}' }));
  return putOf(ref, docid, { chunks, vectors, priority });
}

function openShard(
  directory: string,
  store: ShardStore,
  collections: readonly CollectionRef[],
  pagesMax?: number,
): OwnedShard {
  const kernel = createKernel(createMemory(pagesMax));
  const shard = shardOn(store, [kernel], collections);
  return { shard, kernel, directory };
}

/** Calls `ask` until it answers, loading meanwhile. */
function until<T>(shard: Shard, ask: () => T | null): T {
  for (let tries = 0; tries < 10_000; tries++) {
    const answer = ask();
    if (answer !== null) return answer;
    shard.loads.work(NOW, true);
  }
  throw new Error('there is no answer');
}

/** The five best chunks by their cosines and priorities. */
function best(owned: OwnedShard, ref: CollectionRef, query: Float32Array): string[] {
  const { shard } = owned;
  const { ordinals } = until(shard, () => ranked(owned, ref, { vector: query, k: 5 })).vector;
  return shard.store.read((txn) =>
    Array.from(ordinals, (ordinal) => txn.chunk(ref.id, ordinal as Ordinal)).map(
      ({ docid, path }) => `${docid}/${path}`,
    ),
  );
}

class NaiveRows {
  readonly docs = new Map<number, Map<string, { vectors: Float32Array[]; priority: number }>>(
    ALL.map(({ id }) => [id, new Map()]),
  );

  /** The score of every chunk. */
  scores(id: number, query: Float32Array): Map<string, number> {
    return new Map(
      [...(this.docs.get(id) ?? [])].flatMap(([docid, { vectors, priority }]) =>
        vectors.map((vector, i) => [`${docid}/c${i}`, withPriority(cosine(query, vector), priority)] as const),
      ),
    );
  }

  counts(id: number): { documents: number; chunks: number } {
    const docs = [...(this.docs.get(id)?.values() ?? [])];
    return { documents: docs.length, chunks: docs.reduce((sum, { vectors }) => sum + vectors.length, 0) };
  }

  /** Some random writes. */
  change(prng: Prng): DocumentWrite[] {
    return Array.from({ length: 1 + prng.int(4) }, () => {
      const ref = ALL[prng.int(COLLECTIONS)] as CollectionRef;
      const docid = `D${prng.int(12)}`;
      if (prng.int(4) === 0) {
        this.docs.get(ref.id)?.delete(docid);
        return removalOf(ref, docid);
      }
      const vectors = Array.from({ length: 1 + prng.int(6) }, () => randomVector(prng, DIM));
      const priority = prng.int(3) === 0 ? 0.5 : 0;
      this.docs.get(ref.id)?.set(docid, { vectors, priority });
      return put(ref, docid, vectors, priority);
    });
  }
}

/**
 * Asserts that the best chunks were found. Rows have 16-bit numbers, so chunks whose scores differ by less than the
 * rounding may swap places.
 */
function assertBest(found: readonly string[], scores: ReadonlyMap<string, number>, hint: string): void {
  const wanted = [...scores.values()].sort((a, b) => b - a).slice(0, 5);
  assert.equal(new Set(found).size, wanted.length, hint);
  found.forEach((name, i) =>
    assert.ok(Math.abs((scores.get(name) ?? NaN) - (wanted[i] as number)) < 1e-3, `${hint}: ${name} at ${i}`),
  );
}

function countedIn(shard: Shard): ShardCounts {
  const { documents, chunks } = totals(shard, []);
  return { documents, chunks };
}

for (const seed of SEEDS) {
  test(`random writes, searches, evictions and restarts (seed ${seed})`, () => {
    const prng = createPrng(seed);
    const directory = tempDirectory();
    const store = ShardStore.open(directory, false);
    const naive = new NaiveRows();
    let owned = openShard(directory, store, []);
    for (let round = 0; round < 150; round++) {
      const { shard } = owned;
      const step = prng.int(6);
      if (step < 3) for (const result of applyWrites(shard, naive.change(prng))) assert.ok('value' in result);
      else if (step === 3)
        [...shard.segments.all()].filter(() => prng.int(2) === 0).forEach((segment) => shard.segments.evict(segment));
      else if (step === 4) {
        owned = openShard(directory, store, ALL);
        assert.deepEqual([...owned.shard.segments.all()], []);
      } else shard.loads.work(NOW, prng.int(2) === 0);
      const { id } = ALL[prng.int(COLLECTIONS)] as CollectionRef;
      const query = randomVector(prng, DIM);
      assertBest(best(owned, refOf(id), query), naive.scores(id, query), `round ${round}`);
      assert.deepEqual(countsOf(owned.shard, [id]), [naive.counts(id)], `round ${round}`);
    }
    const sum = ALL.map(({ id }) => naive.counts(id)).reduce((a, b) => ({
      documents: a.documents + b.documents,
      chunks: a.chunks + b.chunks,
    }));
    assert.deepEqual(countedIn(owned.shard), sum);
    owned.shard.close();
  });
}

const NODES = ['a', 'b', 'c'];

for (const seed of SEEDS) {
  test(`collections that other nodes hold are written to on disk alone, and load when they are held (seed ${seed})`, () => {
    const prng = createPrng(seed);
    const directory = tempDirectory();
    const store = ShardStore.open(directory, false);
    const naive = new NaiveRows();
    const owned = openShard(directory, store, []);
    const { shard } = owned;
    let written = 0;
    for (let round = 0; round < 200; round++) {
      const step = prng.int(6);
      if (step < 4) for (const result of applyWrites(shard, naive.change(prng))) assert.ok('value' in result);
      else if (step === 4) {
        const members = NODES.filter((node) => node === 'a' || prng.int(2) === 0);
        const keep = ALL.filter(() => prng.int(3) === 0).map(({ id }) => id);
        const { kept } = shard.place({ members, own: 'a', copies: 1 }, keep);
        const inMemory = new Set(Array.from(shard.segments.all(), ({ ref }) => ref.id));
        for (const { id } of ALL) {
          const isHeld = nodesHolding(id, { members, copies: 1 }).includes('a');
          assert.equal(kept.includes(id), inMemory.has(id) && !isHeld, `round ${round}`);
          if (kept.includes(id)) assert.ok(keep.includes(id));
        }
      } else shard.loads.work(NOW, prng.int(2) === 0);
      written += shard.segments.onDisk().length;
      const { id } = ALL[prng.int(COLLECTIONS)] as CollectionRef;
      if (prng.int(3) === 0) {
        const query = randomVector(prng, DIM);
        assertBest(best(owned, refOf(id), query), naive.scores(id, query), `round ${round}`);
      }
      assert.deepEqual(countsOf(shard, [id]), [naive.counts(id)], `round ${round}`);
    }
    assert.ok(written > 50, `${written} rounds had a collection on disk alone`);
    for (const ref of ALL) {
      const query = randomVector(prng, DIM);
      assertBest(best(owned, ref, query), naive.scores(ref.id, query), 'at the end');
    }
    shard.close();
  });
}

test('a large collection that is to be held loads in the background, and leaves memory when others hold it', () => {
  const { ref, ...owned } = withLarge();
  owned.shard.close();
  const store = ShardStore.open(owned.directory, false);
  const elsewhere = { members: ['b'], own: 'a', copies: 1 };
  const shard = shardOn(store, [owned.kernel], [ref], undefined, elsewhere);
  assert.deepEqual(shard.place(elsewhere, []), { loading: [], kept: [] });
  const here = { ...elsewhere, members: ['a'] };
  assert.deepEqual(shard.place(here, []), { loading: [ref.id], kept: [] });
  while (!shard.loads.work(NOW, false));
  assert.equal(shard.segments.of(ref.id)[0]?.index.liveCount, LARGE);
  assert.deepEqual(shard.place(here, []), { loading: [], kept: [] });
  assert.deepEqual(shard.place(elsewhere, [ref.id]), { loading: [], kept: [ref.id] });
  assert.equal(shard.segments.of(ref.id).length, 1);
  assert.deepEqual(shard.place(elsewhere, []), { loading: [], kept: [] });
  assert.ok(shard.segments.isEvicted(ref.id));
  applyWrites(shard, [removalOf(ref, 'L0')]);
  assert.deepEqual(shard.segments.of(ref.id), []);
  assert.deepEqual(shard.place(here, []), { loading: [ref.id], kept: [] });
  while (!shard.loads.work(NOW, false));
  assert.equal(shard.segments.of(ref.id)[0]?.index.liveCount, LARGE - 100);
  shard.close();
});

/** A shard with one large collection in its store, and nothing loaded. */
function withLarge(count = LARGE, pagesMax?: number): OwnedShard & { ref: CollectionRef; rows: Float32Array[] } {
  const prng = createPrng(7);
  const directory = tempDirectory();
  const store = ShardStore.open(directory, false);
  const ref = refOf(1);
  const rows = Array.from({ length: count }, () => randomVector(prng, DIM));
  store.write((txn) => {
    for (let from = 0; from < count; from += 100) {
      const record = {
        docid: `L${from}` as DocId,
        version: 1,
        ingestedAtMs: 0,
        metadataJson: '{}',
        priority: from === 300 ? 1 : 0,
        chunkCount: 100,
        expiresAtS: 0,
      };
      const ordinals = Array.from({ length: 100 }, (_, i) => (from + i) as Ordinal);
      const chunks = ordinals.map((_, i) => ({ path: `c${i}`, metaJson: '{}' }));
      txn.putDocument(ref, {
        record,
        ordinals,
        chunks,
        vectors: Float32Array.from(rows.slice(from, from + 100).flatMap((row) => [...row])),
      });
    }
  });
  return { ...openShard(directory, store, [ref], pagesMax), ref, rows };
}

test('a large segment loads by itself in slices, and no search sees it before it is complete', () => {
  const owned = withLarge();
  const { shard, ref, rows } = owned;
  let slices = 0;
  for (; !shard.loads.work(NOW, false); slices++)
    assert.equal(shard.segments.of(ref.id)[0] === undefined, shard.arenas.home.view(ref.id)?.isEvicted);
  assert.ok(slices > LARGE, `${slices} slices`);
  const segment = shard.segments.of(ref.id)[0];
  assert.deepEqual(
    [segment?.index.liveCount, segment?.priorities.count, shard.arenas.home.view(ref.id)?.isEvicted],
    [LARGE, 100, false],
  );
  assert.equal(best(owned, ref, rows[4150] as Float32Array).length, 5);
  shard.close();
});

test('a write to a segment that is being loaded waits until it is loaded', async () => {
  const owned = withLarge();
  const { shard, ref, rows } = owned;
  for (let i = 0; i < 1000; i++) shard.loads.work(NOW, false);
  let isThere = false;
  const underWay = shard.loads.loadAllForWrites([ref])?.then(() => (isThere = true));
  if (underWay) {
    assert.equal(shard.segments.of(ref.id)[0], undefined);
    while (!shard.loads.work(NOW, true));
    await underWay;
    assert.ok(isThere);
  }
  applyWrites(shard, [put(ref, 'L4100', [rows[0] as Float32Array]), removalOf(ref, 'L0'), removalOf(ref, 'L300')]);
  assert.equal(shard.segments.of(ref.id)[0]?.index.liveCount, LARGE - 299);
  assert.equal(best(owned, ref, rows[0] as Float32Array)[0], 'L4100/c0');
  assert.deepEqual(countsOf(shard, [ref.id]), [{ documents: LARGE / 100 - 2, chunks: LARGE - 299 }]);
  shard.close();
});

test('a write that cannot wait loads the rest at once', () => {
  const owned = withLarge();
  const { shard, ref, rows } = owned;
  for (let i = 0; i < 1000; i++) shard.loads.work(NOW, false);
  applyWrites(shard, [put(ref, 'NEW', [rows[0] as Float32Array])]);
  assert.equal(shard.segments.of(ref.id)[0]?.index.liveCount, LARGE + 1);
  shard.close();
});

test('a collection that is dropped while it is being loaded is gone, with its memory', () => {
  const { shard, ref } = withLarge();
  for (let i = 0; i < 1000; i++) shard.loads.work(NOW, false);
  shard.drop(ref.id);
  assert.ok(shard.loads.work(NOW, false));
  assert.equal(shard.arenas.home.view(ref.id), undefined);
  assert.deepEqual(countedIn(shard), { documents: 0, chunks: 0 });
  const [result] = applyWrites(shard, [put(ref, 'LATE', [new Float32Array(DIM).fill(1)])]);
  assert.equal(result && 'error' in result && result.error.code, 'collection_not_found');
  while (!shard.store.write((txn) => txn.purgeSome(ref.id, 1000)));
  assert.deepEqual(
    shard.store.read((txn) => [...txn.allCounts()]),
    [],
  );
  shard.close();
});

test('a segment that does not fit into memory is rejected, and everything else works', () => {
  const owned = withLarge(12_000, 12);
  const { shard, ref } = owned;
  const ask = (): unknown => until(shard, () => ranked(owned, ref, { vector: new Float32Array(DIM).fill(1), k: 5 }));
  assert.throws(ask, { name: 'ArenaFull' });
  assert.throws(ask, { name: 'ArenaFull' });
  const small = refOf(2);
  assert.ok(
    applyWrites(shard, [put(small, 'A', [new Float32Array(DIM).fill(1)])]).every((result) => 'value' in result),
  );
  assert.deepEqual(best(owned, small, new Float32Array(DIM).fill(1)), ['A/c0']);
  const results = applyWrites(shard, [
    put(ref, 'B', [new Float32Array(DIM).fill(1)]),
    put(small, 'C', [new Float32Array(DIM).fill(-1)]),
  ]);
  assert.deepEqual(
    results.map((result) => ('error' in result ? result.error.code : 'stored')),
    ['storage_full', 'stored'],
  );
  shard.close();
});

test('when memory is full, the least recently used segments are evicted, and load again', () => {
  const prng = createPrng(3);
  const directory = tempDirectory();
  const owned = openShard(directory, ShardStore.open(directory, false), [], 24);
  const { shard } = owned;
  const first = Array.from({ length: 200 }, () => randomVector(prng, DIM));
  for (const [i, vector] of first.entries()) {
    const results = applyWrites(shard, [
      put(refOf(i + 1), 'D', [vector, ...Array.from({ length: 60 }, () => randomVector(prng, DIM))]),
    ]);
    assert.ok(
      results.every((result) => 'value' in result),
      `collection ${i}`,
    );
  }
  assert.ok([...shard.segments.all()].length < 200, 'all fit');
  for (const [i, vector] of first.entries())
    assert.equal(best(owned, refOf(i + 1), vector)[0], 'D/c0', `collection ${i}`);
  shard.close();
});

test('when memory is full, a segment that a write has loaded stays until the write is done, whatever its dual writes need', () => {
  const prng = createPrng(5);
  const rows = (count: number): Float32Array[] => Array.from({ length: count }, () => randomVector(prng, DIM));
  const directory = tempDirectory();
  const store = ShardStore.open(directory, false);
  const filling = openShard(directory, store, []).shard;
  const [live, naive] = [refOf(1), refOf(2)];
  for (const ref of [live, naive]) for (let n = 0; n < 30; n++) applyWrites(filling, [put(ref, `D${n}`, rows(100))]);
  for (let pages = 8; pages < 30; pages++) {
    const { shard } = openShard(directory, store, [live, naive], pages);
    const { collection, document, vectors } = put(live, 'D0', rows(1)) as ShardRequest<'put'>;
    const removed = { ...removalOf(live, `D${pages}`), dualWrites: [naive] } as DocumentWrite;
    for (const write of [
      {
        op: 'put',
        collection,
        document,
        vectors,
        dualWrites: [{ collection: naive, vectors: 'same' }],
      } as DocumentWrite,
      removed,
    ]) {
      const [result] = applyWrites(shard, [write]);
      assert.ok(
        result && ('value' in result || ('error' in result && result.error.code === 'storage_full')),
        `${pages} pages: ${JSON.stringify(result)}`,
      );
    }
  }
  store.close();
});

test('a damaged segment is reported to each request for it, and harms no other segment', () => {
  const { shard, ref } = withLarge();
  const other = { ...ref, dim: DIM / 2 };
  shard.loads.work(NOW, false);
  shard.loads.cancel(ref.id);
  for (let tries = 0; tries < 2; tries++) assert.throws(() => shard.loads.load(other), DamagedRecord);
  assert.ok(shard.loads.work(NOW, false));
  assert.ok(until(shard, () => shard.loads.load(ref) || null));
  shard.close();
});
