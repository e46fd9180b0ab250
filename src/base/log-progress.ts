// How far a node has received and applied the command log of its cluster, in memory that its threads share. The main
// thread writes it; all threads that serve HTTP read it. Any thread.

/** Plain data for other threads. */
export interface SharedProgress {
  readonly memory: SharedArrayBuffer;
  /** The id of the stream. */
  readonly stream: string;
}

const RECEIVED = 0;
const APPLIED = 1;
const CELLS = 2;
/** Characters of the id that tokens begin with. */
const STREAM_CHARACTERS = 8;

export class LogProgress {
  private readonly cells: BigInt64Array;

  constructor(readonly shared: SharedProgress) {
    this.cells = new BigInt64Array(shared.memory);
  }

  static of(stream: string): LogProgress {
    return new LogProgress({ memory: new SharedArrayBuffer(CELLS * BigInt64Array.BYTES_PER_ELEMENT), stream });
  }

  note(received: number, applied: number): void {
    Atomics.store(this.cells, RECEIVED, BigInt(received));
    Atomics.store(this.cells, APPLIED, BigInt(applied));
  }

  /** Everything up to this message has been applied. */
  get applied(): number {
    return Number(Atomics.load(this.cells, APPLIED));
  }

  /**
   * Says what an answer of this node may show. A read that comes with it, to whichever node, shows at least as much.
   */
  get token(): string {
    return `${this.shared.stream.slice(0, STREAM_CHARACTERS)}:${Atomics.load(this.cells, RECEIVED)}`;
  }

  /** The message that a token speaks of; undefined for a text that is no token of this cluster. */
  sequenceOf(token: string): number | undefined {
    const [stream, sequence = ''] = token.split(':');
    if (stream !== this.shared.stream.slice(0, STREAM_CHARACTERS) || !/^\d{1,15}$/.test(sequence)) return undefined;
    return Number(sequence);
  }
}
