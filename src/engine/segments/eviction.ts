// Eviction of small segments, from an arena that is full and of those that nobody uses. They come back from the store in
// a millisecond or two when they are needed. Large ones stay, for their graphs are costly. Owner only.
import type { CollectionId } from '../../api/ids.js';
import type { Arenas, Kernel } from '../memory/arena.js';
import { ArenaFull } from '../memory/bindings.js';
import type { PartTable } from './segment-table.js';
import type { Part } from './segment.js';
import { nowSeconds } from '../../base/clock.js';

/** Of the small parts, so that room is not made for one row at a time. */
const SHARE_TO_LEAVE = 1 / 8;
/** How long a full memory waits for readers to leave what has been given up. A search takes milliseconds. */
const READERS_WAIT_MS = 50;

/** Where room is wanted, and the collection that stays. */
interface Wanted {
  readonly arena: number;
  readonly id: CollectionId;
}

export class Room {
  constructor(
    private readonly parts: PartTable,
    private readonly arenas: Arenas,
  ) {}

  /**
   * Runs what may want memory, and changes nothing without: where there is none, other collections leave and it is run
   * again. Throws ArenaFull.
   */
  for<T>(work: () => T, wanted: Wanted): T {
    for (;;) {
      try {
        return work();
      } catch (error) {
        if (!(error instanceof ArenaFull) || !this.make(wanted)) throw error;
      }
    }
  }

  /** True when memory has been freed. */
  private make({ arena, id }: Wanted): boolean {
    const kernel = this.arenas.at(arena);
    const before = kernel.usedBytes();
    const here = [...this.parts.all()].filter(
      (part) => part.arena === arena && part.ref.id !== id && this.parts.mayLeave(part),
    );
    const candidates = here.map((part) => ({ part, usedAt: this.parts.usedAt(part) }));
    const oldest = candidates
      .sort((a, b) => a.usedAt - b.usedAt)
      .slice(0, Math.ceil(candidates.length * SHARE_TO_LEAVE));
    for (const { part } of oldest) this.parts.leave(part);
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

/** Work between batches of commands goes in slices: a search may wait this long behind one. */
export const SLICE_MS = 2;
const CHECK_MS_MIN = 250;
const CHECKS_PER_IDLE_TIME = 4;

/** Evicts segments that have not been used for `idleSeconds`; 0 for never. */
export class IdleEviction {
  private readonly timer: NodeJS.Timeout | undefined;
  private scheduled: NodeJS.Immediate | undefined;

  /** `evicted` is called after segments have gone: their memory can be reclaimed. */
  constructor(
    private readonly parts: PartTable,
    private readonly idleSeconds: number,
    private readonly evicted: () => void,
  ) {
    const everyMs = Math.max(CHECK_MS_MIN, (idleSeconds * 1000) / CHECKS_PER_IDLE_TIME);
    if (idleSeconds > 0) this.timer = setInterval(() => this.sweep(parts.all()), everyMs).unref();
  }

  stop(): void {
    clearInterval(this.timer);
    clearImmediate(this.scheduled);
  }

  /** Goes through the parts in slices; the iterator of a Map stands still between them. */
  private sweep(parts: Iterator<Part>): void {
    const untilMs = performance.now() + SLICE_MS;
    const before = nowSeconds() - this.idleSeconds;
    for (let next = parts.next(); !next.done; next = parts.next()) {
      const part = next.value;
      if (this.parts.mayLeave(part) && this.parts.usedAt(part) < before) this.parts.leave(part);
      if (performance.now() < untilMs) continue;
      this.scheduled = setImmediate(() => this.sweep(parts));
      break;
    }
    this.evicted();
  }
}
