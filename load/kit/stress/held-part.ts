// One collection as the owner of the stress test holds it: a part in the memory, made and kept up as the shard does,
// and the versions that are live in it. The owner's thread only.
import type { Prng } from '../../../src/base/prng.js';
import type { CollectionId, Ordinal } from '../../../src/contract/ids.js';
import type { Kernel } from '../../../workers/shard/kernel.js';
import { Part } from '../../../workers/shard/part.js';
import { PartTerms, type TermMaker } from '../../../workers/shard/part-terms.js';
import type { Contents } from './contents.js';
import { DIM } from './world.js';

const MAKER: TermMaker<readonly string[]> = {
  add: (index, ordinal, terms) => index.add(ordinal, terms),
  termsOf: (terms) => terms,
};

export class HeldPart {
  readonly part: Part;
  /** Versions by ordinal. */
  readonly live = new Map<number, number>();

  /** Throws ArenaFull. */
  constructor(
    private readonly kernel: Kernel,
    private readonly contents: Contents,
    id: CollectionId,
  ) {
    const index = kernel.createIndex(DIM, { graphMin: 100 });
    this.part = new Part(
      { id, generation: 1, dim: DIM, language: 'none' } as Part['ref'],
      index,
      kernel.createPriorities(),
    );
    kernel.directory.set(id, { vectors: index.root });
  }

  drop(): void {
    this.kernel.directory.delete(this.part.ref.id);
    this.part.drop();
  }

  /** Free rows with the vectors of the versions from `put` on. Throws ArenaFull, with nothing taken. */
  stage(count: number, put: number): Ordinal[] {
    const { ref, ordinals: pool, index, priorities } = this.part;
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

  /** What the background does: links, fills lists, builds and merges a little, and frees what readers have left. */
  tend(prng: Prng): void {
    const { part } = this;
    part.index.linkSome(1 + prng.int(16));
    part.index.fillSome(prng.int(16));
    if (!part.fields || part.fields.isLost) part.fields = this.createTerms();
    if (!part.fields.complete) part.fields.build((from) => this.stored(from), performance.now() + 1);
    if (prng.int(20) === 0 && !part.fields.isLost) part.fields.complete?.freeze();
    part.fields.mergeSome(0.2);
    this.kernel.reclaim();
  }

  private stored(from: Ordinal): { ordinal: Ordinal; source: readonly string[] }[] {
    const rows = [...this.live].filter(([ordinal]) => ordinal >= from).sort(([a], [b]) => a - b);
    return rows.map(([ordinal, put]) => ({ ordinal: ordinal as Ordinal, source: this.contents.terms(put) }));
  }

  private createTerms(): PartTerms<readonly string[]> {
    const announce = (root: number): void => this.kernel.directory.set(this.part.ref.id, { fields: root });
    announce(0);
    return new PartTerms(this.kernel.createWords(), MAKER, announce);
  }
}
