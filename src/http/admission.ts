// Admission control: how many requests and how many body bytes the server holds at a time. Above a bound, and while the
// server drains, a request fails at once instead of joining a queue that only grows. One `Admission` per server, shared
// by all exchanges. Front thread.
import { AppError } from '../api/errors.js';

// Reusable blocks into which large body pieces are copied as they come off the socket. uWebSockets.js keeps reading
// without yielding to the event loop for as long as a client fills its buffer, so the work per piece must be short. The
// first touch of new memory is most of the cost of a copy (five times the rest, measured), which reuse avoids. One pool
// per server. Front thread.

/** The largest piece that uWebSockets.js delivers in one callback. */
const BLOCK_BYTES = 512 * 1024;
/** Blocks kept for reuse: 8 MiB together. */
const FREE_MAX = 16;

export class ReceiveBlocks {
  private readonly free: Uint8Array[] = [];

  /**
   * Copies `bytes` into a block. The caller owns the block until `giveBack`; a block that is never given back is
   * garbage collected.
   */
  copyOf(bytes: Uint8Array): Uint8Array {
    const isLarger = bytes.length > BLOCK_BYTES;
    const block = (isLarger ? undefined : this.free.pop()) ?? new Uint8Array(Math.max(bytes.length, BLOCK_BYTES));
    block.set(bytes);
    return block.subarray(0, bytes.length);
  }

  /** Returns a copy made by `copyOf` to the pool. The caller must not read it afterwards. */
  giveBack(copy: Uint8Array): void {
    if (this.free.length < FREE_MAX && copy.buffer.byteLength === BLOCK_BYTES)
      this.free.push(new Uint8Array(copy.buffer));
  }
}

/** The budget of body bytes that all requests share. */
export type BodyMemory = Pick<Admission, 'hold' | 'giveBack' | 'blocks'>;

export class Admission {
  private inFlight = 0;
  private heldBytes = 0;
  private hasClosed = false;
  /** Blocks that hold large body pieces until a reader takes them. */
  readonly blocks = new ReceiveBlocks();

  constructor(
    private readonly inFlightMax: number,
    private readonly heldBytesMax: number,
  ) {}

  get isClosed(): boolean {
    return this.hasClosed;
  }

  get bytesHeld(): number {
    return this.heldBytes;
  }

  /** Refuses every new request from now on. */
  close(): void {
    this.hasClosed = true;
  }

  /** Throws 503 `shutting_down` once closed. */
  checkOpen(): void {
    if (this.hasClosed) throw new AppError('shutting_down');
  }

  /** Counts a request as in flight, or throws 503 `overloaded`. Each successful call is paired with one `leave`. */
  enter(): void {
    if (this.inFlight >= this.inFlightMax) throw overloaded();
    this.inFlight += 1;
  }

  leave(): void {
    this.inFlight -= 1;
  }

  /** Counts body bytes as held until `giveBack`. Returns false, and counts nothing, if they exceed the budget. */
  hold(bytes: number): boolean {
    const fits = this.heldBytes + bytes <= this.heldBytesMax;
    if (fits) this.heldBytes += bytes;
    return fits;
  }

  giveBack(bytes: number): void {
    this.heldBytes -= bytes;
  }
}

export function overloaded(message?: string): AppError {
  return new AppError('overloaded', message);
}
