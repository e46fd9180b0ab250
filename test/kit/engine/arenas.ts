// Compares a shard of several small arenas with one that has a single large arena. Both are filled, churned, taken over
// by another owner, emptied and filled again, and every search mode has to give the same hits. Owner and searches run
// in one thread.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import type { CollectionId } from '../../../src/api/ids.js';
import type { SharedShards, DocumentWrite } from '../../../src/engine/write/commands.js';
import type { CollectionSearch } from '../../../src/engine/search/params.js';
import { sharedByStores } from '../../../src/engine/memory/shared-memory.js';
import { ShardStore } from '../../../src/storage/shard-store.js';
import { search } from '../../../src/engine/search/search.js';
import { ShardSet } from '../../../src/engine/search/snapshot.js';
import { compactSome } from '../../../src/engine/compaction.js';
import { Kernel } from '../../../src/engine/memory/arena.js';
import { buildFields, buildTextIndex, prepare } from '../../../src/engine/segments/indexes.js';
import { type Shard } from '../../../src/engine/shard.js';
import { countsOf } from '../../../src/engine/documents.js';
import { ArenaFull } from '../../../src/engine/memory/bindings.js';
import { applyWrites } from '../../../src/engine/write/write.js';
import { tempDirectory } from '../temp.js';
import { createMemory, randomVector, shardOn, readKernelBytes } from './arena.js';
import { putOf, removalOf } from './writes.js';

const DIM = 1024;
const PAGES = 72;
const WORDS = 30;
const module = new WebAssembly.Module(readKernelBytes());
const ref = { id: 1 as CollectionId, generation: 1, dim: DIM, language: 'none' as const, precision: 'int16' as const };

/** A shard with its owner and one search worker. */
class Site {
  readonly shared: SharedShards;
  shard: Shard;
  private readonly searches: ShardSet;
  private wasFilledUp = false;

  constructor(pagesMax: readonly number[]) {
    this.shared = {
      kernel: module,
      memories: [pagesMax.map((pages) => createMemory(pages))],
      arenaPagesMax: pagesMax[0] ?? 0,
      directory: tempDirectory(),
      idleSeconds: 0,
      checkpointMs: 0,
      journalBytesMax: 0,
      isOfNode: false,
      placement: undefined,
      ...sharedByStores(1),
    };
    this.searches = new ShardSet({ ...this.shared, hitCacheBytes: 1_000_000 });
    this.shard = this.open(ShardStore.open(join(this.shared.directory, 'shard-0'), false));
  }

  /** Replaces the owner by another one on the same memories, as after the death of its thread. */
  takeOver(): void {
    this.shard = this.open(this.shard.store);
  }

  private open(store: ShardStore): Shard {
    const memories = this.shared.memories[0] ?? [];
    const kernels = memories.map((memory) => new Kernel(module, memory, this.shared.arenaPagesMax));
    return shardOn(store, kernels, [ref]);
  }

  /** Applies a write; returns the error code where it is rejected. */
  write(write: DocumentWrite): string | undefined {
    const [result] = applyWrites(this.shard, [write]);
    assert.ok(result && !('internalError' in result));
    return 'error' in result ? result.error.code : undefined;
  }

  /** The hits of a search; undefined where an arena lacks the memory that the search needs. */
  find(asked: CollectionSearch): unknown {
    try {
      return this.answer(asked);
    } catch (error) {
      if (error instanceof ArenaFull) return undefined;
      throw error;
    }
  }

  private answer(asked: CollectionSearch): unknown {
    for (let tries = 0; tries < 10; tries++) {
      const answer = search(this.searches, asked);
      if (!(answer instanceof Array)) return { ids: answer.ids, scores: answer.scores, json: answer.json };
      this.shard.loads.load(ref, Infinity);
      for (const missing of answer) prepare(this.shard, { op: 'prepare', collection: ref, ...missing });
      for (const segment of this.shard.segments.all())
        for (const build of [buildTextIndex, buildFields]) build(this.shard, segment, Infinity);
    }
    return undefined;
  }

  /** Whether any arena has run full since memory was last reclaimed. */
  get isFilledUp(): boolean {
    return (this.wasFilledUp ||= !this.shard.arenas.byFreeBytes().some((arena) => this.shard.arenas.isRoomy(arena)));
  }

  arenasInUse(): number[] {
    return this.shard.segments
      .of(ref.id)
      .filter(({ index }) => index.liveCount > 0)
      .map(({ arena }) => arena);
  }

  compact(): void {
    for (const segment of [...this.shard.segments.all()]) while (compactSome(this.shard, segment));
    while (this.shard.arenas.reclaim());
    this.wasFilledUp = false;
  }
}

function put(prng: Prng, docid: string): DocumentWrite {
  const vectors = Array.from({ length: 1 + prng.int(15) }, () => randomVector(prng, DIM));
  const word = (): string => `word${prng.int(WORDS)}`;
  const chunks = vectors.map((_, i) => ({ path: `c${i}`, metaJson: '{}', text: `${word()} ${word()} in ${docid}` }));
  const metadataJson = JSON.stringify({ group: prng.int(5) });
  return putOf(ref, docid, { chunks, vectors, priority: prng.int(10) === 0 ? 0.2 : 0, metadataJson });
}

const remove = (docid: string): DocumentWrite => removalOf(ref, docid);

/** Searches in every mode, with filters and without. */
function searches(prng: Prng): CollectionSearch[] {
  const vector = randomVector(prng, DIM);
  const terms = [`word${prng.int(WORDS)}`, `word${prng.int(WORDS)}`].sort();
  const base: CollectionSearch = {
    collection: ref,
    jsonPrefix: '{"tenant":"t"',
    priorityKey: 'priority',
    k: 12,
    depth: 12,
    params: { exact: true },
    vector,
    filteredBy: { fields: [] },
    fusion: { method: 'rank', k: 60, weights: { vector: 1, lexical: 1 } },
    boostWeight: 0.3,
  };
  const distinct = [...new Set(terms)];
  const filter = { filters: [{ field: 'group', test: { op: 'in' as const, values: [prng.int(5)] } }] };
  const content = { filters: [], content: { op: 'phrase' as const, value: terms[0] as string } };
  const modes: CollectionSearch[] = [
    base,
    { ...base, depth: 60, lexical: { mode: 'boost', terms: distinct } },
    { ...base, depth: 60, lexical: { mode: 'hybrid', terms: distinct, counts: distinct.map((_, i) => 1 + (i % 3)) } },
  ];
  const { vector: _, ...byTerms } = modes[2] as CollectionSearch;
  return [...modes, byTerms, ...modes.map((mode) => ({ ...mode, filter })), { ...base, filter: content }];
}

/** Both shards give the same hits. Once an arena has run full, a search may fail for lack of memory. */
function compare(small: Site, large: Site, prng: Prng, label: string): void {
  small.shard.loads.load(ref, Infinity);
  const { isFilledUp } = small;
  for (const [i, asked] of searches(prng).entries()) {
    const found = small.find(asked);
    assert.ok(found !== undefined || isFilledUp, `${label}, search ${i}: no room`);
    if (found !== undefined) assert.deepEqual(found, large.find(asked), `${label}, search ${i}`);
  }
  assert.deepEqual(countsOf(small.shard, [ref.id]), countsOf(large.shard, [ref.id]), label);
}

export function spanArenas(seed: number): void {
  const prng = createPrng(seed);
  const [small, large] = [new Site([PAGES, PAGES, PAGES]), new Site([65_536])];
  const docids = new Set<string>();
  const both = (write: DocumentWrite, docid: string): boolean => {
    const refused = small.write(write);
    assert.ok(refused === undefined || refused === 'storage_full', refused);
    if (refused) return false;
    assert.equal(large.write(write), undefined);
    if (write.op === 'put') docids.add(docid);
    else docids.delete(docid);
    return true;
  };
  const fill = (name: string): void => {
    for (let i = 0; both(put(prng, `${name}${i}`), `${name}${i}`); i++)
      if (i % 60 === 0) compare(small, large, prng, `${name}${i}`);
  };
  const churn = (rounds: number): void => {
    for (let round = 0; round < rounds; round++) {
      const docid = [...docids][prng.int(docids.size)] as string;
      both(prng.int(3) === 0 ? remove(docid) : put(prng, docid), docid);
      if (round % 40 === 0) compare(small, large, prng, `churn ${round}`);
    }
  };
  fill('A');
  assert.deepEqual(small.arenasInUse(), [0, 1, 2]);
  compare(small, large, prng, 'full');
  churn(120);
  small.takeOver();
  compare(small, large, prng, 'taken over');
  for (const docid of [...docids].filter(() => prng.int(10) > 1)) assert.ok(both(remove(docid), docid));
  compare(small, large, prng, 'deleted');
  small.compact();
  assert.ok(!small.isFilledUp);
  compare(small, large, prng, 'given back');
  const before = docids.size;
  fill('B');
  assert.ok(docids.size > 2 * before, `${docids.size} documents again, ${before} were left`);
  churn(80);
  small.takeOver();
  compare(small, large, prng, 'in the end');
  for (const { shard } of [small, large]) shard.close();
}
