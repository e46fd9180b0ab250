// The bytes of one request body as they come off the socket: counted against a limit, queued until somebody asks, and held
// back at the socket (pause, resume) while nobody does. Made by body.ts, fed by the library, on the front thread.
// Invariants: 1. onData is attached within the route callback, or the first bytes are lost. 2. `response` is not touched
// after `release` (the exchange calls it before it replies) or `abandon`. 3. After a failure every `next` rejects with it.
import { AppError } from '../contract/errors.js';
import { overloaded } from './admission.js';
import type { WireResponse } from './wire.js';

/** So much may wait in memory for a slow reader; then the socket is paused. */
const QUEUE_BYTES_MAX = 1024 * 1024;

export interface BodyLimit {
  readonly bytesMax: number;
  /** The 413 to fail with. */
  readonly refusal: () => AppError;
  /** Counts bytes against what the server may hold of all bodies together; false when that is used up. */
  readonly hold: (bytes: number) => boolean;
}

interface Waiter {
  resolve(chunk: Buffer | undefined): void;
  reject(error: AppError): void;
}

export class BodySource implements AsyncIterable<Buffer> {
  private readonly queue: Buffer[] = [];
  private queuedBytes = 0;
  private waiter: Waiter | undefined;
  private failure: AppError | undefined;
  private isPaused = false;
  private isReleased = false;
  /** True once the last byte has come off the socket. */
  hasEnded = false;
  receivedBytes = 0;
  /** Bytes that count as held, to be given back when nothing of the request is under way any more. */
  heldBytes = 0;
  /** performance.now() of the latest bytes. */
  private progressAtMs = performance.now();

  constructor(private readonly response: WireResponse, private readonly limit: BodyLimit) {
    response.onData((chunk, isLast) => this.push(chunk, isLast));
  }

  /** The next bytes, undefined at the end. One call at a time. Rejects over the limit and after `release` or `abandon`. */
  next(): Promise<Buffer | undefined> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    const chunk = this.queue.shift();
    if (chunk !== undefined) this.queuedBytes -= chunk.length;
    if (this.queuedBytes < QUEUE_BYTES_MAX) this.resume();
    if (chunk !== undefined || this.hasEnded) return Promise.resolve(chunk);
    return new Promise((resolve, reject) => (this.waiter = { resolve, reject }));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (let chunk = await this.next(); chunk !== undefined; chunk = await this.next()) yield chunk;
  }

  /** Lets go of the socket before a reply: the library swallows what is still to come, and a reader still waiting rejects. */
  release(): void {
    this.resume();
    this.abandon();
  }

  /** The same when the connection is gone: the socket is not touched any more. */
  abandon(): void {
    this.isReleased = true;
    if (!this.hasEnded) this.fail(new AppError('internal_error', 'The client does not wait for an answer any more.'));
  }

  /** Milliseconds since the client last sent anything, 0 while we are the slow side or all is here. */
  stalledMs(nowMs: number): number {
    return this.hasEnded || this.isPaused ? 0 : nowMs - this.progressAtMs;
  }

  private push(chunk: ArrayBuffer, isLast: boolean): void {
    this.hasEnded = isLast;
    this.receivedBytes += chunk.byteLength;
    this.progressAtMs = performance.now();
    if (this.failure !== undefined || this.isReleased) return;
    if (this.receivedBytes > this.limit.bytesMax) return this.fail(this.limit.refusal());
    if (!this.limit.hold(chunk.byteLength)) return this.fail(overloaded());
    this.heldBytes += chunk.byteLength;
    if (chunk.byteLength > 0) this.hand(Buffer.from(new Uint8Array(chunk)));
    if (isLast) this.wake(undefined);
  }

  /** Makes readers reject and drops what is queued. The first failure stays. */
  private fail(error: AppError): void {
    if (this.failure !== undefined) return;
    this.failure = error;
    this.queue.length = 0;
    this.waiter?.reject(error);
    this.waiter = undefined;
  }

  private hand(copy: Buffer): void {
    if (this.wake(copy)) return;
    this.queue.push(copy);
    this.queuedBytes += copy.length;
    if (this.queuedBytes >= QUEUE_BYTES_MAX && !this.isPaused && !this.hasEnded) {
      this.isPaused = true;
      this.response.pause();
    }
  }

  private wake(chunk: Buffer | undefined): boolean {
    const waiter = this.waiter;
    this.waiter = undefined;
    waiter?.resolve(chunk);
    return waiter !== undefined;
  }

  private resume(): void {
    if (!this.isPaused || this.isReleased) return;
    this.isPaused = false;
    this.progressAtMs = performance.now();
    this.response.resume();
  }
}
