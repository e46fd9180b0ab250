// One shard as a search worker reads it: its arenas and its store. The home arena says in which others a collection has
// parts; of these a thread sees nothing before it needs one. Made by shard-set.ts; search workers only, each with its
// own.
import { AppError } from '../../src/contract/errors.js';
import type { CollectionRef } from '../../src/contract/resources.js';
import { ShardReader } from '../../src/store/shard-reader.js';
import { Kernel } from '../shard/kernel.js';
import type { PartPlace } from '../shard/part-directory.js';
import type { HitCache } from './hit-cache.js';
import { ShardView } from './shard-view.js';

export class ReadShard {
  private readonly home: Kernel;
  private readonly others = new Map<number, Kernel>();
  private readonly reader: ShardReader;

  constructor(
    private readonly shard: number,
    private readonly module: WebAssembly.Module,
    private readonly memories: readonly WebAssembly.Memory[],
    directory: string,
    private readonly cache: HitCache,
  ) {
    this.home = this.join(0);
    this.reader = new ShardReader(directory);
  }

  /**
   * Runs `work` inside the arenas where the collection is, on a view of each, and of the home where it is nowhere.
   * undefined where that has changed meanwhile: a document may have gone to an arena that was not looked into. Throws
   * 503 `shard_unavailable`.
   */
  view<T>(collection: CollectionRef, work: (views: ShardView[]) => T): T | undefined {
    const { directory } = this.home;
    const entered = this.home.read((incarnation) => {
      const before = directory.placeOf(collection.id);
      const answer = this.enter(arenasOf(before), [], { incarnation, collection }, (views) => ({ of: work(views) }));
      return { answer: isSame(before, directory.placeOf(collection.id)) ? answer : undefined };
    });
    if (!entered) throw new AppError('shard_unavailable', undefined, { retryAfterS: 1 });
    return entered.answer?.of;
  }

  private enter<T>(
    arenas: readonly number[] | undefined,
    views: readonly ShardView[],
    of: { incarnation: number; collection: CollectionRef },
    work: (views: ShardView[]) => T,
  ): T | undefined {
    if (!arenas) return undefined;
    const [arena, ...rest] = arenas;
    if (arena === undefined) return work([...views]);
    const kernel = arena === 0 ? this.home : (this.others.get(arena) ?? this.join(arena));
    return kernel.read(() => {
      const view = new ShardView(this.shard, of.incarnation, kernel, this.reader, of.collection, this.cache, arena);
      try {
        // Its collection has left the arena since the home was asked.
        if (arena > 0 && !view.part) return undefined;
        if (arena > 0) this.home.directory.get(of.collection.id, Math.floor(Date.now() / 1000));
        return this.enter(rest, [...views, view], of, work);
      } finally {
        view.end();
      }
    });
  }

  private join(arena: number): Kernel {
    const kernel = new Kernel(this.module, this.memories[arena] as WebAssembly.Memory);
    kernel.joinReaders();
    if (arena > 0) this.others.set(arena, kernel);
    return kernel;
  }
}

const HOME = [0];

/** The home alone where the collection is nowhere; undefined while it comes or leaves. */
function arenasOf(place: PartPlace | undefined): readonly number[] | undefined {
  if (!place || place.arenas === 0) return HOME;
  if (place.vectors === 0 && (place.arenas & 1) === 1) return undefined;
  return Array.from({ length: 32 }, (_, arena) => arena).filter((arena) => (place.arenas >>> arena) & 1);
}

/** A root is not used again while a reader is inside: the same one is the same part, in memory all the while. */
const isSame = (a: PartPlace | undefined, b: PartPlace | undefined): boolean =>
  a?.vectors === b?.vectors && a?.arenas === b?.arenas;
