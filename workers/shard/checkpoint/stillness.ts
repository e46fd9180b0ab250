// Whether the memory of a shard has changed, and times in which it must not: the last pass over it wants one. Writes
// and background work wait for the end of such a time; searches, which own nothing, and reading commands do not. One a
// shard, in its worker's thread.
export class Stillness {
  private changes = 0;
  private over: Promise<void> | undefined;
  private release: () => void = () => {};

  /** Goes up with everything that changes rows or graphs. What the allocator does it counts itself (LOCKS_AT). */
  get version(): number {
    return this.changes;
  }

  /** Resolves when changes may go on; undefined while they may. */
  get whenOver(): Promise<void> | undefined {
    return this.over;
  }

  touch(): void {
    this.changes++;
  }

  begin(): void {
    this.over ??= new Promise((resolve) => (this.release = resolve));
  }

  end(): void {
    this.over = undefined;
    this.release();
  }
}
