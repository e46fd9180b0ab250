// Who gets in: nobody once the server drains, and otherwise a bounded number of requests at a time, with a bounded
// number of bytes in their bodies: beyond that a request is refused at once instead of joining a queue that only grows.
// Owned by server.ts, asked by each exchange on the front thread.
import { AppError } from '../api/errors.js';

// Memory into which large pieces of bodies are copied as they come off the socket, used again and again. The library
// reads on without a turn for others for as long as a client fills what it reads into, so what is done with each piece
// there has to be short; and it is the first touch of new memory that takes most of a copy: five times as long as the
// rest where this was measured. One for each server, made by admission.ts; front thread.

/** What the library hands over at most. */
const BLOCK_BYTES = 512 * 1024;
/** Kept for the next pieces: 8 MiB. */
const FREE_MAX = 16;

export class ReceiveBlocks {
  private readonly free: Uint8Array[] = [];

  /** A copy, in a block that is the caller's until it gives it back; one that is never given back is merely lost. */
  copyOf(bytes: Uint8Array): Uint8Array {
    const isLarger = bytes.length > BLOCK_BYTES;
    const block = (isLarger ? undefined : this.free.pop()) ?? new Uint8Array(Math.max(bytes.length, BLOCK_BYTES));
    block.set(bytes);
    return block.subarray(0, bytes.length);
  }

  /** Takes back what `copyOf` gave; nobody reads it any more. */
  giveBack(copy: Uint8Array): void {
    if (this.free.length < FREE_MAX && copy.buffer.byteLength === BLOCK_BYTES)
      this.free.push(new Uint8Array(copy.buffer));
  }
}

const RETRY_AFTER_S = 1;

/** What the server may hold of all bodies together. */
export type Room = Pick<Admission, 'hold' | 'giveBack' | 'blocks'>;

export class Admission {
  private inFlight = 0;
  private heldBytes = 0;
  private hasClosed = false;
  /** Where bodies go as they come off the socket. */
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

  /** From now on every new request is refused. */
  close(): void {
    this.hasClosed = true;
  }

  /** Throws 503 `shutting_down` once closed. */
  checkOpen(): void {
    if (this.hasClosed) throw new AppError('shutting_down', undefined, { retryAfterS: RETRY_AFTER_S });
  }

  /** Takes a place, or throws 503 `overloaded`. Each place taken is given back by one `leave`. */
  enter(): void {
    if (this.inFlight >= this.inFlightMax) throw overloaded();
    this.inFlight += 1;
  }

  leave(): void {
    this.inFlight -= 1;
  }

  /**
   * Counts bytes of a body that are held from now on, until `giveBack`. False, and not counted, where there is no room.
   */
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
  return new AppError('overloaded', message, { retryAfterS: RETRY_AFTER_S });
}
