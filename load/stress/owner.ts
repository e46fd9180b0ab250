// The writer of the stress test: one thread that owns the memory and randomly puts, replaces, removes, builds the
// graph, merges, drops and indexes, with the publication protocol of a shard. It can be killed at any moment; the next
// owner formats the memory.
import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import type { CollectionId, Ordinal } from '../../src/api/ids.js';
import { type Prng, createPrng } from '../../src/base/prng.js';
import { Kernel } from '../../src/engine/memory/arena.js';
import { ArenaFull } from '../../src/engine/memory/bindings.js';
import { SegmentTerms, type TermMaker } from '../../src/engine/postings/builder.js';
import { Segment } from '../../src/engine/segments/segment.js';
import { type Change, noChange, publishChanges } from '../../src/engine/write/write.js';
import {
  BORN_DONE,
  Contents,
  DIED_BEGIN,
  DIED_END,
  DIM,
  INCARNATION,
  ORDINALS,
  PLACES,
  QUIET,
  STOP,
  type SharedWorld,
  World,
} from './world.js';

const MAKER: TermMaker<readonly string[]> = {
  add: (index, ordinal, terms) => index.add(ordinal, terms),
  termsOf: (terms) => terms,
};

/** One collection of the stress test's owner: a segment in memory, maintained as in a shard, and its live versions. */
class HeldSegment {
  readonly segment: Segment;
  /** Versions by ordinal. */
  readonly live = new Map<number, number>();

  /** Makes an empty segment. Throws ArenaFull. */
  constructor(
    private readonly kernel: Kernel,
    private readonly contents: Contents,
    id: CollectionId,
  ) {
    const index = kernel.createIndex(DIM, { graphMin: 100 });
    this.segment = new Segment(
      { id, generation: 1, dim: DIM, language: 'none' } as Segment['ref'],
      index,
      kernel.createPriorities(),
    );
    kernel.directory.set(id, { vectors: index.root });
  }

  drop(): void {
    this.kernel.directory.delete(this.segment.ref.id);
    this.segment.drop();
  }

  /** Writes the vectors of versions from `put` on to free rows. Throws ArenaFull without an effect. */
  stage(count: number, put: number): Ordinal[] {
    const { ref, ordinals: pool, index, priorities } = this.segment;
    const ordinals: Ordinal[] = [];
    try {
      for (let i = 0; i < count; i++) {
        const ordinal = pool.take();
        ordinals.push(ordinal);
        index.stage(ordinal, this.contents.vector(put + i));
        priorities.reserve(ordinal);
      }
      this.kernel.directory.set(ref.id, { priorities: priorities.root });
      return ordinals;
    } catch (error) {
      for (const ordinal of ordinals) pool.release(ordinal);
      throw error;
    }
  }

  /** Background work: adds edges, densifies, builds and merges a little, and frees what readers have left. */
  tune(prng: Prng): void {
    const { segment } = this;
    segment.index.indexSome(1 + prng.int(16));
    segment.index.densifySome(prng.int(16));
    if (!segment.fields || segment.fields.isLost) segment.fields = this.createTerms();
    if (!segment.fields.complete) segment.fields.build((from) => this.stored(from), performance.now() + 1);
    if (prng.int(20) === 0 && !segment.fields.isLost) segment.fields.complete?.freeze();
    segment.fields.mergeSome(0.2);
    this.kernel.reclaim();
  }

  private stored(from: Ordinal): { ordinal: Ordinal; source: readonly string[] }[] {
    const rows = [...this.live].filter(([ordinal]) => ordinal >= from).sort(([a], [b]) => a - b);
    return rows.map(([ordinal, put]) => ({ ordinal: ordinal as Ordinal, source: this.contents.terms(put) }));
  }

  private createTerms(): SegmentTerms<readonly string[]> {
    const announce = (root: number): void => this.kernel.directory.set(this.segment.ref.id, { fields: root });
    announce(0);
    return new SegmentTerms(this.kernel.createTextIndex(), MAKER, announce);
  }
}

export interface OwnerStart {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  shared: SharedWorld;
  seed: number;
}

const OPERATIONS_BETWEEN_QUIETS = 400;

class StressOwner {
  private readonly world: World;
  private readonly contents = new Contents();
  private readonly kernel: Kernel;
  private readonly prng: Prng;
  private readonly held: HeldSegment[] = [];

  constructor({ module, memory, shared, seed }: OwnerStart) {
    this.world = new World(shared);
    this.kernel = new Kernel(module, memory);
    this.prng = createPrng(seed);
  }

  /** Takes over the memory like a new owner. */
  start(): void {
    this.kernel.format();
    this.world.set(INCARNATION, 0);
    this.world.set(QUIET, 0);
    this.kernel.publishBatch();
    this.world.restart(this.kernel.publishedRowVersion());
    for (let place = 0; place < PLACES; place++) this.create(place);
    this.world.set(INCARNATION, this.kernel.incarnation);
    this.kernel.open();
  }

  /** Works until it is told to stop, or until its log is full. */
  async run(): Promise<void> {
    for (let step = 1; this.world.get(STOP) === 0 && !this.world.isFull; step++) {
      this.operate();
      if (step % OPERATIONS_BETWEEN_QUIETS !== 0) continue;
      this.world.set(QUIET, step);
      await sleep(this.prng.int(30));
      this.world.set(QUIET, 0);
    }
  }

  private operate(): void {
    const place = this.prng.int(PLACES);
    const kind = this.prng.int(1000);
    try {
      if (kind < 500) this.write(place, 1 + this.prng.int(12), this.prng.int(4));
      else if (kind < 560) this.write(place, 60, 0);
      else if (kind < 700) this.write(place, 0, 1 + this.prng.int(12));
      else if (kind < 702) this.write(place, 0, ORDINALS);
      else if (kind < 705) this.replace(place);
      else (this.held[place] as HeldSegment).tune(this.prng);
    } catch (error) {
      if (!(error instanceof ArenaFull)) throw error;
      this.replace(place);
    }
  }

  private create(place: number): void {
    this.held[place] = new HeldSegment(this.kernel, this.contents, this.world.createId(place));
  }

  /** Drops the collection and makes another in its place. */
  private replace(place: number): void {
    const { live } = this.held[place] as HeldSegment;
    for (const put of live.values()) this.world.mark(put, DIED_BEGIN);
    this.held[place]?.drop();
    for (const put of live.values()) this.world.mark(put, DIED_END);
    this.create(place);
  }

  /** Writes one batch that adds some rows and removes others. */
  private write(place: number, adds: number, removes: number): void {
    const held = this.held[place] as HeldSegment;
    const { segment, live } = held;
    const change = noChange();
    const added = held.stage(Math.min(adds, ORDINALS - live.size), this.world.nextPut);
    const removed = pick(this.prng, [...live.keys()], removes);
    const puts = added.map((ordinal) => this.announce(place, change, ordinal));
    for (const ordinal of removed) this.remove(live, change, ordinal);
    publishChanges([[segment, change]]);
    this.kernel.publishBatch();
    for (const put of puts) this.world.mark(put, BORN_DONE);
    for (const ordinal of removed) {
      this.world.mark(live.get(ordinal) as number, DIED_END);
      live.delete(ordinal);
    }
    added.forEach((ordinal, i) => live.set(ordinal, puts[i] as number));
  }

  private announce(place: number, change: Change, ordinal: Ordinal): number {
    const { segment } = this.held[place] as HeldSegment;
    const put = this.world.addVersion(place, segment.ref.id, ordinal);
    change.added.set(ordinal, { priority: this.contents.priority(put), expiresAtS: 0 });
    change.fields.set(ordinal, this.contents.terms(put));
    return put;
  }

  private remove(live: HeldSegment['live'], change: Change, ordinal: number): void {
    const put = live.get(ordinal) as number;
    this.world.mark(put, DIED_BEGIN);
    change.removed.push(ordinal as Ordinal);
    change.fields.set(ordinal as Ordinal, this.contents.terms(put));
  }
}

function pick(prng: Prng, all: number[], count: number): number[] {
  for (let i = 0; i < Math.min(count, all.length); i++) {
    const other = i + prng.int(all.length - i);
    [all[i], all[other]] = [all[other] as number, all[i] as number];
  }
  return all.slice(0, count);
}

const owner = new StressOwner(workerData as OwnerStart);
owner.start();
await owner.run();
