// How long the reader of a body has waited for its latest bytes: a body that stands still, or trickles, does not hold
// its place for ever. One for each body, driven by body-source.ts on the front thread. Pure.

/** Less than this, while somebody waits, is no progress. */
const PROGRESS_BYTES_MIN = 1024;

/** All times are performance.now(). */
export class TrickleClock {
  /** Spent waiting for the latest `trickledBytes`. */
  private waitedMs = 0;
  private trickledBytes = 0;
  private sinceMs: number | undefined;

  /** A reader begins to wait. */
  begin(nowMs: number): void {
    this.sinceMs = nowMs;
  }

  /** Bytes have come, and nobody waits any more. */
  count(bytes: number, nowMs: number): void {
    this.waitedMs = this.stalledMs(nowMs);
    this.sinceMs = undefined;
    this.trickledBytes += bytes;
    if (this.trickledBytes >= PROGRESS_BYTES_MIN) this.waitedMs = this.trickledBytes = 0;
  }

  /** The sender may have had a reason to wait: its time begins anew. */
  excuse(nowMs: number): void {
    this.waitedMs = this.trickledBytes = 0;
    if (this.sinceMs !== undefined) this.sinceMs = nowMs;
  }

  /** Milliseconds waited in vain; the time in which nobody waits does not count. */
  stalledMs(nowMs: number): number {
    return this.waitedMs + (this.sinceMs === undefined ? 0 : nowMs - this.sinceMs);
  }
}
