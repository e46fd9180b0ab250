// Wakes those who wait for something to have changed: they look again for themselves. For one thread; knows nothing of
// what changes. Used where two asynchronous loops share state, such as the reader and the writer of a stream.

export class Signal {
  private wake: () => void = () => {};
  private promise = this.renew();

  /** Resolves at the next `send`. Nothing is missed by one who looks and then waits without an await between. */
  next(): Promise<void> {
    return this.promise;
  }

  send(): void {
    this.wake();
    this.promise = this.renew();
  }

  private renew(): Promise<void> {
    return new Promise((resolve) => (this.wake = resolve));
  }
}
