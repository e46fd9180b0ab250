// A shard of two arenas with random documents beside a naive version, its checkpoints and restarts. Checks that
// everything in memory agrees with the store, and the store with the naive version.
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { cosine } from '../../../load/kit/cosine.js';
import type { CollectionRef } from '../../../src/api/collections.js';
import type { CollectionId, DocId, Ordinal } from '../../../src/api/ids.js';
import { defined } from '../../../src/base/assert.js';
import { type Prng, createPrng } from '../../../src/base/prng.js';
import { discard, restore } from '../../../src/engine/checkpoint/recovery.js';
import { Writing, type Written } from '../../../src/engine/checkpoint/writer.js';
import { compactSome } from '../../../src/engine/compaction.js';
import { Kernel } from '../../../src/engine/memory/arena.js';
import { FieldTerms, prepareFields, prepareTextIndex } from '../../../src/engine/segments/indexes.js';
import type { Segment } from '../../../src/engine/segments/segment.js';
import type { CollectionKinds, Shard } from '../../../src/engine/shard.js';
import type { DocumentWrite } from '../../../src/engine/write/commands.js';
import { applyWrites } from '../../../src/engine/write/write.js';
import { CheckpointFiles } from '../../../src/storage/checkpoint-files.js';
import { ShardStore } from '../../../src/storage/shard-store.js';
import { chunkTerms } from '../../../src/text/terms.js';
import { tempDirectory } from '../temp.js';
import { createMemory, randomVector, shardOn, readKernelBytes } from './arena.js';
import { inspectGraph } from './graph.js';
import { ROUNDING_TOLERANCE } from './naive-vector-index.js';
import { putOf } from './writes.js';

const ARENAS = 2;
const SHARD = 0;
const K = 10;
const QUERIES = 8;

export const refOf = (id: number, dim: number): CollectionRef => ({
  id: id as CollectionId,
  generation: 1,
  dim,
  language: 'none',
  precision: 'int16',
});

interface Doc {
  vectors: Float32Array[];
  priority: number;
}

export class World {
  readonly files: CheckpointFiles;
  readonly naive = new Map<CollectionId, Map<string, Doc>>();
  /** The notes that the last start logged. */
  notes: string[] = [];
  memories: WebAssembly.Memory[] = [];
  store: ShardStore;
  shard: Shard;
  private readonly module = new WebAssembly.Module(readKernelBytes());

  /** `pagesMax` limits an arena; the second arena is used when the first is full. */
  constructor(
    readonly prng: Prng,
    readonly refs: CollectionRef[],
    private readonly pagesMax = 4096,
    readonly directory = tempDirectory(),
  ) {
    this.files = new CheckpointFiles(join(directory, 'checkpoints', 'shard-0'));
    for (const { id } of refs) this.naive.set(id, new Map());
    this.store = ShardStore.open(join(this.directory, 'shard-0'), false);
    this.shard = this.openShard();
  }

  /** Replaces the contents of the naive version by those of the store. */
  adoptStore(): void {
    this.store.read((txn) => {
      for (const ref of this.refs)
        for (const { docid, priority } of txn.documents(ref.id)) {
          const ordinals = txn.members(ref.id, docid).ordinals as Ordinal[];
          const vectors = ordinals.map((ordinal) => defined(txn.vector(ref, ordinal), `vector ${ordinal}`));
          this.docs(ref).set(docid, { vectors, priority });
        }
    });
  }

  /** A copy with the same contents, fully loaded, and with its own random numbers. Nothing may write meanwhile. */
  copy(prng: Prng): World {
    const directory = join(tempDirectory(), 'copy');
    cpSync(this.directory, directory, { recursive: true });
    const copy = new World(prng, [...this.refs], this.pagesMax, directory);
    for (const [id, docs] of this.naive) copy.naive.set(id, new Map(docs));
    while (!copy.shard.loads.work(Infinity, false));
    return copy;
  }

  /** Restarts as after the end of the process: every commit has been synced, and memory is gone. */
  restart(): void {
    this.reopenStore();
    this.shard = this.openShard();
  }

  /** Restarts as a server that finds no checkpoints. */
  restartWithout(): void {
    this.reopenStore();
    this.shard = this.openShard((shard) => discard(shard, this.files));
  }

  put(ref: CollectionRef, docid: string): DocumentWrite {
    const { prng } = this;
    const vectors = Array.from({ length: 1 + prng.int(4) }, () => randomVector(prng, ref.dim));
    const priority = prng.int(8) === 0 ? 0.25 : 0;
    this.docs(ref).set(docid, { vectors, priority });
    const chunks = vectors.map((_, i) => ({
      path: `c${i}`,
      metaJson: JSON.stringify({ segment: i }),
      ...(prng.int(9) > 0 && { text: `word${prng.int(30)} of ${docid} word${prng.int(30)}` }),
    }));
    const metadataJson = JSON.stringify({ group: prng.int(5), name: docid });
    return putOf(ref, docid, { chunks, vectors, priority, metadataJson });
  }

  remove(ref: CollectionRef, docid: string): DocumentWrite {
    this.docs(ref).delete(docid);
    return { op: 'deleteDocument', collection: ref, docid: docid as DocId };
  }

  /** Changes the metadata and the priority of a document, if it exists. */
  patch(ref: CollectionRef, docid: string): DocumentWrite {
    const priority = this.prng.int(4) === 0 ? 0.5 : 0;
    const doc = this.docs(ref).get(docid);
    if (doc) this.docs(ref).set(docid, { ...doc, priority });
    const patchJson = JSON.stringify({ group: this.prng.int(5), patched: true, priority });
    const change = { patchJson, replaces: false, priorityKey: 'priority', bytesMax: 1000 };
    return { op: 'patchDocument', collection: ref, docid: docid as DocId, change };
  }

  write(writes: DocumentWrite[]): void {
    for (const result of applyWrites(this.shard, writes)) assert.ok('value' in result, JSON.stringify(result));
  }

  /** Writes a batch that puts, patches and removes documents of up to `ids` different ids. */
  churn(ref: CollectionRef, writes: number, ids: number): void {
    const write = (kind: number, docid: string): DocumentWrite => {
      if (kind === 0) return this.remove(ref, docid);
      return kind === 1 ? this.patch(ref, docid) : this.put(ref, docid);
    };
    this.write(Array.from({ length: writes }, () => write(this.prng.int(4), `D${this.prng.int(ids)}`)));
  }

  /** Runs some steps of background work. */
  work(steps: number): void {
    for (const segment of this.shard.segments.all()) {
      for (let step = 0; step < steps && compactSome(this.shard, segment); step++);
      for (let step = 0; step < steps && segment.index.hasWork; step++) {
        this.shard.writeFreeze.noteChange();
        segment.index.indexSome(64);
      }
      if (segment.textIndex?.mergeSome(1) || segment.fields?.mergeSome(1)) this.shard.writeFreeze.noteChange();
    }
    this.shard.arenas.reclaim();
  }

  indexTerms(ref: CollectionRef): void {
    this.shard.loads.load(ref, Infinity);
    for (const segment of this.shard.segments.of(ref.id))
      assert.ok(prepareTextIndex(this.shard, segment, Infinity) && prepareFields(this.shard, segment, Infinity));
  }

  checkpoint(isAlone = false): Promise<Written | undefined> {
    return new Writing(this.shard, SHARD, this.files, () => false).run(isAlone);
  }

  /** Asserts that everything in memory agrees with the store, and the store with the naive version. */
  check(label: string): void {
    while (!this.shard.loads.work(Infinity, false));
    for (const ref of this.refs) {
      this.shard.loads.load(ref, Infinity);
      this.checkStore(ref, label);
      for (const segment of this.shard.segments.of(ref.id))
        this.checkSegment(segment, `${label}, collection ${ref.id}, arena ${segment.arena}`);
      this.checkSearch(ref, `${label}, collection ${ref.id}`);
    }
  }

  private reopenStore(): void {
    this.store.close();
    this.store = ShardStore.open(join(this.directory, 'shard-0'), false);
  }

  private openShard(fill = this.restore): Shard {
    this.memories = Array.from({ length: ARENAS }, () => createMemory(this.pagesMax));
    this.notes = [];
    const kernels = this.memories.map((memory) => new Kernel(this.module, memory, this.pagesMax));
    return shardOn(this.store, kernels, this.refs, fill);
  }

  private readonly restore = (shard: Shard, kinds: CollectionKinds): void =>
    restore(shard, SHARD, this.files, kinds, (_, { reason }) => this.notes.push(String(reason)));

  private docs({ id }: CollectionRef): Map<string, Doc> {
    const docs = this.naive.get(id);
    assert.ok(docs);
    return docs;
  }

  private checkStore(ref: CollectionRef, label: string): void {
    const stored = this.store.read((txn) => [...txn.documents(ref.id)]);
    assert.deepEqual(
      stored.map(({ docid, priority, chunkCount }) => [docid, priority, chunkCount]).sort(),
      [...this.docs(ref)].map(([docid, { priority, vectors }]) => [docid, priority, vectors.length]).sort(),
      label,
    );
    const vectors = this.store.read((txn) => [...txn.vectors(ref)]).length;
    assert.equal(
      this.shard.segments.of(ref.id).reduce((sum, { index }) => sum + index.liveCount, 0),
      vectors,
      label,
    );
  }

  private checkSegment(segment: Segment, label: string): void {
    const { ref, index, ordinals, priorities } = segment;
    this.store.read((txn) => {
      const fieldTerms = new FieldTerms(txn, ref.id);
      const rows = [...segment.within(txn.vectors(ref, segment.stored(0 as Ordinal)))];
      const words = new Map<string, number>();
      const fields = new Map<string, number>();
      for (const { ordinal: row, vector } of rows) {
        assert.ok(index.isLive(row), `${label}: row ${row} is live`);
        assertSame(index.rowOf(row), vector, `${label}: row ${row}`);
        const chunk = txn.chunk(ref.id, segment.stored(row));
        assert.equal(priorities.of(row), txn.document(ref.id, chunk.docid)?.priority, `${label}: priority of ${row}`);
        count(words, chunkTerms(txn.text(ref.id, segment.stored(row))?.toString() ?? '', ref.language));
        count(fields, fieldTerms.of(chunk));
      }
      assert.equal(index.liveCount, rows.length, label);
      assert.equal(ordinals.end, (rows.at(-1)?.ordinal ?? -1) + 1, `${label}: end of ordinals`);
      for (const [terms, expected] of [
        [segment.textIndex, words],
        [segment.fields, fields],
      ] as const) {
        const complete = terms?.complete;
        if (complete)
          assert.deepEqual(
            complete.statistics([...expected.keys()]).frequencies,
            [...expected.values()],
            `${label}: terms`,
          );
      }
      const roots = this.shard.arenas.at(segment.arena).directory.get(ref.id);
      assert.deepEqual(
        [roots?.vectors, roots?.textIndex, roots?.fields],
        [index.root, segment.textIndex?.complete?.root ?? 0, segment.fields?.complete?.root ?? 0],
        `${label}: roots`,
      );
      const free = ordinals.take();
      assert.ok(!index.isLive(free), `${label}: ${free} is given out`);
      ordinals.release(free);
    });
  }

  private checkSearch(ref: CollectionRef, label: string): void {
    const shares = Array.from({ length: QUERIES }, () => this.searchOnce(ref, label));
    const recall = shares.reduce((sum, share) => sum + share, 0) / QUERIES;
    assert.ok(recall >= 0.75, `${label}: recall ${recall}`);
  }

  /**
   * Asserts that an exact search finds the true nearest vectors; returns the share of them that a graph search finds.
   */
  private searchOnce(ref: CollectionRef, label: string): number {
    const query = randomVector(this.prng, ref.dim);
    const truth = [...this.docs(ref).values()]
      .flatMap(({ vectors }) => vectors.map((vector) => cosine(query, vector)))
      .sort((a, b) => b - a)
      .slice(0, K);
    const hits = this.shard.segments
      .of(ref.id)
      .flatMap(({ index }) => [...index.search(query, K, { exact: true }).scores])
      .sort((a, b) => b - a)
      .slice(0, K);
    assert.equal(hits.length, truth.length, label);
    hits.forEach((score, i) =>
      assert.ok(
        Math.abs(score - (truth[i] as number)) < ROUNDING_TOLERANCE,
        `${label}: hit ${i} scores ${score}, not ${truth[i]}`,
      ),
    );
    const walked = this.shard.segments
      .of(ref.id)
      .flatMap(({ index }) => [...index.search(query, K).scores])
      .sort((a, b) => b - a)
      .slice(0, K);
    const found = walked.filter((score) => score >= (truth.at(-1) ?? 0) - ROUNDING_TOLERANCE).length;
    return truth.length === 0 ? 1 : found / truth.length;
  }
}

function count(counts: Map<string, number>, terms: readonly string[]): void {
  for (const term of new Set(terms)) counts.set(term, (counts.get(term) ?? 0) + 1);
}

function assertSame(row: Float32Array, vector: Float32Array, label: string): void {
  assert.ok(cosine(row, vector) > 1 - 1e-4, label);
}

// Runs random writes, background work, checkpoints and restarts on a shard, and compares it with the store and the
// naive version after each.

export const LARGE = refOf(1, 40);
export const SMALL = refOf(2, 8);

/** Fills both collections. `LARGE` then has a graph, quantized vectors and a text index. */
export function fill(world: World, documents: number): void {
  for (let from = 0; from < documents; from += 200)
    world.write(Array.from({ length: 200 }, (_, i) => world.put(LARGE, `D${from + i}`)));
  world.write([world.put(SMALL, 'A'), world.put(SMALL, 'B')]);
  world.work(Infinity);
  world.indexTerms(LARGE);
}

export async function writeAndRestart(seed: number): Promise<void> {
  const prng = createPrng(seed);
  // With 44 pages in the first arena, the second one is used too.
  const world = new World(prng, [LARGE, SMALL], seed % 2 === 0 ? 44 : 4096);
  fill(world, 1800);
  for (let round = 0; round < 10; round++) {
    const label = `round ${round}`;
    for (let step = prng.int(4); step > 0; step--) {
      world.churn(LARGE, 1 + prng.int(60), 2000);
      world.churn(SMALL, 1 + prng.int(5), 12);
      world.work(prng.int(20));
    }
    if (prng.int(4) === 0) world.indexTerms(prng.int(2) === 0 ? LARGE : SMALL);
    if (prng.int(3) > 0) await beside(world, round);
    for (let step = prng.int(4); step > 0; step--)
      world.churn(prng.int(2) === 0 ? LARGE : SMALL, 1 + prng.int(40), 2000);
    world.restart();
    assert.deepEqual(world.notes, [], label);
    world.check(label);
    world.work(prng.int(40));
  }
  assert.equal(world.shard.arenas.used().length, seed % 2 === 0 ? 2 : 1);
  world.work(Infinity);
  world.check('in the end');
  for (const segment of world.shard.segments.of(LARGE.id)) {
    const { badEdges, unreachable } = inspectGraph(
      world.memories[segment.arena] as WebAssembly.Memory,
      segment.index.root,
    );
    assert.deepEqual([badEdges, unreachable], [0, 0]);
  }
}

/** Writes a checkpoint while writes and background work go on. */
async function beside(world: World, round: number): Promise<void> {
  let isWriting = true as boolean;
  const written = world.checkpoint(round % 5 === 4).finally(() => (isWriting = false));
  while (isWriting && round % 5 !== 4) {
    await nextTurn();
    if (world.shard.writeFreeze.whenOver) continue;
    if (world.prng.int(3) === 0) world.churn(world.prng.int(2) === 0 ? LARGE : SMALL, 1 + world.prng.int(5), 2000);
    else world.work(1);
  }
  assert.ok(await written, 'a checkpoint comes about');
}
