// A time limit on silence: of a stream it is not the whole that must end in time, but each wait for the other side.
// Used by ingest-stream.ts and lines.ts.

export class QuietTimer {
  private readonly controller = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private pauses = 0;

  constructor(private readonly limitMs: number) {
    this.restart();
  }

  /** Aborted when it was quiet for too long. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  restart(): void {
    clearTimeout(this.timer);
    if (this.pauses > 0) return;
    this.timer = setTimeout(
      () => this.controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
      this.limitMs,
    );
  }

  /** While one's own side is waited for. Each pause wants its `resume`. */
  pause(): void {
    this.pauses += 1;
    clearTimeout(this.timer);
  }

  resume(): void {
    this.pauses -= 1;
    this.restart();
  }

  end(): void {
    this.pauses = Infinity;
    clearTimeout(this.timer);
  }
}
