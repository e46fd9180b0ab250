// How fast a job goes, and how long it will take at that pace. Pure but for the clock.
// Used by run-job.ts.

/** The pace of the last minute or so counts, not that of the beginning. */
const WINDOW_MS = 60_000;

export class Pace {
  private readonly marks: { atMs: number; done: number }[] = [{ atMs: performance.now(), done: 0 }];
  private done = 0;

  /** Chunks a second, and the seconds that `left` chunks will take. */
  after(chunks: number, left: number): { rate: number; eta_seconds?: number } {
    const nowMs = performance.now();
    this.done += chunks;
    this.marks.push({ atMs: nowMs, done: this.done });
    while (this.marks.length > 2 && (this.marks[1] as { atMs: number }).atMs < nowMs - WINDOW_MS) this.marks.shift();
    const [first] = this.marks as [{ atMs: number; done: number }];
    const rate = (1000 * (this.done - first.done)) / Math.max(1, nowMs - first.atMs);
    return { rate: Math.round(rate * 10) / 10, ...(rate > 0 && { eta_seconds: Math.round(left / rate) }) };
  }
}
