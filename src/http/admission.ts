// Who gets in: nobody once the server drains, and otherwise a bounded number of requests at a time, with a bounded
// number of bytes in their bodies: beyond that a request is refused at once instead of joining a queue that only grows.
// Owned by server.ts, asked by each exchange on the front thread.
import { AppError } from '../contract/errors.js';
import { ReceiveBlocks } from './receive-blocks.js';

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
