// Small parts that nobody uses do not stay in memory: they come back from the store in a millisecond or two. Large ones
// do stay, for their graphs are costly. Where memory is full, small parts leave sooner (room.ts). Made by commands.ts;
// shard worker only.
import type { Part } from './part.js';
import { nowSeconds, type PartTable } from './part-table.js';

const SLICE_MS = 2;
const CHECK_MS_MIN = 250;
const CHECKS_PER_IDLE_TIME = 4;

/** Lets parts go that have not been used for `idleSeconds`; 0 for never. */
export class IdleParts {
  private readonly timer: NodeJS.Timeout | undefined;
  private scheduled: NodeJS.Immediate | undefined;

  /** `left` is called after parts have gone: their memory can be reclaimed. */
  constructor(
    private readonly parts: PartTable,
    private readonly idleSeconds: number,
    private readonly left: () => void,
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
    this.left();
  }
}
