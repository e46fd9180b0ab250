// Gathers what is asked during one turn of the event loop into one message. A lane may allow one message under way at a
// time: what comes meanwhile travels in the next, which is how concurrent writes come to share a commit. Front thread.

export interface Ask<Q, A> {
  request: Q;
  resolve: (answer: A) => void;
  reject: (error: unknown) => void;
}

export interface LaneOptions {
  /** At most this many requests in a message. */
  requestsMax: number;
  /** How many messages may be under way; Infinity for no bound. */
  messagesMax: number;
}

export class Lane<Q, A> {
  private waiting: Ask<Q, A>[] = [];
  private scheduled = false;
  private underway = 0;

  /** `send` settles every ask of the batch itself, and resolves when it has. It never rejects. */
  constructor(
    private readonly options: LaneOptions,
    private readonly send: (batch: Ask<Q, A>[]) => Promise<void>,
  ) {}

  ask(request: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ request, resolve, reject });
      this.schedule();
    });
  }

  /** Rejects all that has not been sent yet. */
  fail(error: unknown): void {
    for (const { reject } of this.waiting.splice(0)) reject(error);
  }

  private schedule(): void {
    if (this.scheduled || this.waiting.length === 0 || this.underway >= this.options.messagesMax) return;
    this.scheduled = true;
    setImmediate(() => this.flush());
  }

  private flush(): void {
    this.scheduled = false;
    while (this.waiting.length > 0 && this.underway < this.options.messagesMax) {
      this.underway++;
      void this.send(this.waiting.splice(0, this.options.requestsMax)).then(() => {
        this.underway--;
        this.schedule();
      });
    }
  }
}
