// Eviction of small segments, when an arena is full or a segment has been idle for long. A small segment is loaded
// again from the store in a millisecond or two. Large segments are never evicted, because building a graph is
// expensive. Owner only.
import type { CollectionId } from '../../api/ids.js';
import type { Arenas, Kernel } from '../memory/arena.js';
import { ArenaFull } from '../memory/bindings.js';
import type { SegmentTable } from './segment-table.js';
import type { Segment } from './segment.js';
import { nowSeconds } from '../../base/clock.js';

/** Share of the candidates to evict at once, so that memory is not reclaimed for one row at a time. */
const EVICTED_SHARE = 1 / 8;
/** How long to wait for readers before retired memory can be reclaimed, in milliseconds. A search takes a few. */
const READERS_WAIT_MS = 50;

/** The arena that needs memory, and the collection that must not be evicted. */
interface MemoryNeed {
  readonly arena: number;
  readonly id: CollectionId;
}

/** Frees memory in a full arena by evicting the least recently used small segments. */
export class Reclaimer {
  constructor(
    private readonly segments: SegmentTable,
    private readonly arenas: Arenas,
  ) {}

  /**
   * Runs `work`, which must change nothing if it throws ArenaFull. On ArenaFull, evicts other collections and runs it
   * again. Throws ArenaFull if nothing more can be freed.
   */
  for<T>(work: () => T, wanted: MemoryNeed): T {
    for (;;) {
      try {
        return work();
      } catch (error) {
        if (!(error instanceof ArenaFull) || !this.make(wanted)) throw error;
      }
    }
  }

  /** Returns whether memory has been freed. */
  private make({ arena, id }: MemoryNeed): boolean {
    const kernel = this.arenas.at(arena);
    const before = kernel.usedBytes();
    const here = [...this.segments.all()].filter(
      (segment) => segment.arena === arena && segment.ref.id !== id && this.segments.mayEvict(segment),
    );
    const candidates = here.map((segment) => ({ segment, usedAt: this.segments.usedAt(segment) }));
    const oldest = candidates
      .sort((a, b) => a.usedAt - b.usedAt)
      .slice(0, Math.ceil(candidates.length * EVICTED_SHARE));
    for (const { segment } of oldest) this.segments.evict(segment);
    reclaimAll(kernel);
    return kernel.usedBytes() < before;
  }
}

function reclaimAll(kernel: Kernel): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const untilMs = performance.now() + READERS_WAIT_MS;
  for (;;) {
    while (kernel.reclaim());
    if (kernel.retiredBytes() === 0 || performance.now() >= untilMs) return;
    Atomics.wait(pause, 0, 0, 1);
  }
}

/** Length of a slice of background work, in milliseconds. A search may have to wait this long behind one. */
export const SLICE_MS = 2;
const CHECK_MS_MIN = 250;
const CHECKS_PER_IDLE_TIME = 4;

/** Evicts segments that have not been used for `idleSeconds`; 0 disables it. */
export class IdleEviction {
  private readonly timer: NodeJS.Timeout | undefined;
  private scheduled: NodeJS.Immediate | undefined;

  /** `evicted` is called after each sweep, so that the memory of evicted segments can be reclaimed. */
  constructor(
    private readonly segments: SegmentTable,
    private readonly idleSeconds: number,
    private readonly evicted: () => void,
  ) {
    const everyMs = Math.max(CHECK_MS_MIN, (idleSeconds * 1000) / CHECKS_PER_IDLE_TIME);
    if (idleSeconds > 0) this.timer = setInterval(() => this.sweep(segments.all()), everyMs).unref();
  }

  stop(): void {
    clearInterval(this.timer);
    clearImmediate(this.scheduled);
  }

  /** Walks through the segments in slices. The Map iterator keeps its position between slices. */
  private sweep(segments: Iterator<Segment>): void {
    const untilMs = performance.now() + SLICE_MS;
    const before = nowSeconds() - this.idleSeconds;
    for (let next = segments.next(); !next.done; next = segments.next()) {
      const segment = next.value;
      if (this.segments.mayEvict(segment) && this.segments.usedAt(segment) < before) this.segments.evict(segment);
      if (performance.now() < untilMs) continue;
      this.scheduled = setImmediate(() => this.sweep(segments));
      break;
    }
    this.evicted();
  }
}
