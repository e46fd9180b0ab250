// How much of a kind of work is under way: searches that wait for their hits, measurements of recall. In the context;
// front thread. Whoever would take time from them asks for the count first.

export class UnderWay {
  private now = 0;

  get count(): number {
    return this.now;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.now++;
    try {
      return await work();
    } finally {
      this.now--;
    }
  }
}
