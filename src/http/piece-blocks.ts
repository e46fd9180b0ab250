// The pieces of a streamed reply put together in blocks worth a write: what comes at once, up to 64 KiB. Made by
// streamed-answer.ts, drained by reply-stream.ts, on the front thread. It pulls while somebody waits for a block, and
// one piece beyond that, so a socket that is full holds the source back.

/**
 * A block is closed once it has more bytes than that; it is also what a reply of known length may have to come from a
 * stream.
 */
const BLOCK_BYTES = 64 * 1024;

export type Piece = string | Uint8Array;

export interface Block {
  readonly bytes: Buffer;
  /** The last one; its bytes may be none. */
  readonly isLast: boolean;
}

interface Waiter {
  resolve(block: Block): void;
  reject(error: unknown): void;
}

export class PieceBlocks {
  private readonly iterator: AsyncIterator<Piece>;
  private gathered: Buffer[] = [];
  private gatheredBytes = 0;
  private isPulling = false;
  private isOver = false;
  private failure: { error: unknown } | undefined;
  private waiter: Waiter | undefined;
  private timer: NodeJS.Timeout | undefined;
  private returned: Promise<void> | undefined;

  constructor(pieces: AsyncIterable<Piece>) {
    this.iterator = pieces[Symbol.asyncIterator]();
  }

  /** The next block; one call at a time. What is there waits `waitMs` for more. Rejects with what the source throws. */
  next(waitMs: number): Promise<Block> {
    return new Promise((resolve, reject) => {
      this.waiter = { resolve, reject };
      if (this.isOver) return this.hand();
      if (this.gatheredBytes > 0) this.handAfter(waitMs);
      if (!this.isPulling) void this.pull(waitMs);
    });
  }

  /** Tells the source that nobody wants more, and waits until it has cleaned up. Only the first call does anything. */
  return(): Promise<void> {
    this.returned ??= Promise.resolve(this.iterator.return?.()).then(() => undefined);
    return this.returned;
  }

  private async pull(waitMs: number): Promise<void> {
    this.isPulling = true;
    try {
      while (this.waiter !== undefined && !this.isOver) {
        const result = await this.iterator.next();
        if (result.done === true) this.isOver = true;
        else this.add(result.value);
        if (this.isOver || this.gatheredBytes > BLOCK_BYTES) this.hand();
        else this.handAfter(waitMs);
      }
    } catch (error) {
      this.failure = { error };
      this.isOver = true;
      this.hand();
    }
    this.isPulling = false;
  }

  private add(piece: Piece): void {
    const bytes =
      typeof piece === 'string' ? Buffer.from(piece) : Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    this.gathered.push(bytes);
    this.gatheredBytes += bytes.length;
  }

  private handAfter(waitMs: number): void {
    this.timer ??= setTimeout(() => this.hand(), waitMs);
  }

  private hand(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { waiter, gathered } = this;
    if (waiter === undefined) return;
    this.waiter = undefined;
    this.gathered = [];
    this.gatheredBytes = 0;
    if (this.failure !== undefined) waiter.reject(this.failure.error);
    else waiter.resolve({ bytes: Buffer.concat(gathered), isLast: this.isOver });
  }
}
