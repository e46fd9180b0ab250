// The bytes of one request body as they come off the socket. They count against a limit, queue until a reader takes
// them, and the socket is paused while nobody does. Runs on front threads and on the main thread.
//
// Invariants: 1. `onData` is attached within the route callback, or the first bytes are lost. 2. `response` is not
// touched after `release` (which the exchange calls before it replies) or `abandon`. 3. After a failure every `next`
// rejects with it.
import { Readable, type Transform, pipeline } from 'node:stream';
import zlib, { constants, createBrotliDecompress, createGunzip } from 'node:zlib';
import { AppError } from '../api/errors.js';
import { type BodyMemory, overloaded } from './admission.js';
import type { WireResponse } from './uws.js';

// Stall timer: how long the reader of a body has waited for its latest bytes. It ends bodies that stand still or
// trickle. One per body. Pure.

/** Fewer bytes than this do not count as progress while a reader waits. */
const PROGRESS_BYTES_MIN = 1024;

/** A stall timer. All times are values of `performance.now()`. */
export class StallTimer {
  /** Time spent waiting for the latest `trickledBytes`. */
  private waitedMs = 0;
  private trickledBytes = 0;
  private sinceMs: number | undefined;

  /** Starts the clock: a reader begins to wait. */
  begin(nowMs: number): void {
    this.sinceMs = nowMs;
  }

  /** Counts received bytes and stops the clock: the reader has what it waited for. */
  count(bytes: number, nowMs: number): void {
    this.waitedMs = this.stalledMs(nowMs);
    this.sinceMs = undefined;
    this.trickledBytes += bytes;
    if (this.trickledBytes >= PROGRESS_BYTES_MIN) this.waitedMs = this.trickledBytes = 0;
  }

  /** Resets the time waited, because the sender may have had a reason to pause. */
  excuse(nowMs: number): void {
    this.waitedMs = this.trickledBytes = 0;
    if (this.sinceMs !== undefined) this.sinceMs = nowMs;
  }

  /** Milliseconds that readers have waited without progress. Time in which no reader waits does not count. */
  stalledMs(nowMs: number): number {
    return this.waitedMs + (this.sinceMs === undefined ? 0 : nowMs - this.sinceMs);
  }
}

/**
 * Bytes that may queue for a slow reader before the socket is paused. uWebSockets.js still delivers everything it can
 * read before the pause takes effect: a 28 MB body has arrived whole from a client as fast as the server.
 */
const QUEUE_BYTES_MAX = 1024 * 1024;
/** Pieces of at least this size are copied into a reusable block and delivered in an event-loop turn of their own. */
const LARGE_BYTES_MIN = 64 * 1024;

export interface BodyLimit {
  readonly bytesMax: number;
  /** The 413 that the body fails with. */
  readonly clientError: () => AppError;
}

interface Piece {
  readonly bytes: Uint8Array;
  /** Whether the bytes are in a reusable block that must be given back. */
  readonly isLarge: boolean;
}

/** `take` receives the next piece, or undefined at the end. */
type Waiter = { take(piece: Piece | undefined): void; reject(error: AppError): void };

export class BodySource implements AsyncIterable<Buffer> {
  private readonly queue: Piece[] = [];
  /** The piece that `lend` handed out last; its reader may still use it. */
  private lent: Piece | undefined;
  private queuedBytes = 0;
  private waiter: Waiter | undefined;
  private tellOver = (): void => undefined;
  private failure: AppError | undefined;
  /** Whether the socket is paused. */
  isPaused = false;
  /**
   * Whether the socket has been resumed, in which case uWebSockets.js may not know that the body has ended and closes
   * the connection after 10 s of silence.
   */
  wasResumed = false;
  private isReleased = false;
  private isSettled = false;
  /** Whether the last byte has arrived. */
  hasEnded = false;
  receivedBytes = 0;
  /** `performance.now()` when the latest bytes arrived. */
  latestAtMs = 0;
  /** Bytes counted as held; they are given back when the request has finished. */
  heldBytes = 0;
  private readonly stallTimer = new StallTimer();

  constructor(
    private readonly response: WireResponse,
    private readonly limit: BodyLimit,
    private readonly bodyMemory: BodyMemory,
  ) {
    response.onData((chunk, isLast) => this.push(chunk, isLast));
  }

  /**
   * The next bytes, or undefined at the end. One call at a time. Rejects if the body exceeds its limit, and after
   * `release` or `abandon`.
   */
  next(): Promise<Buffer | undefined> {
    return this.pull(({ bytes, isLarge }) => (isLarge ? Buffer.from(bytes) : (bytes as Buffer)));
  }

  /** Like `next`, without a copy: the bytes are valid until the next call. */
  lend(): Promise<Uint8Array | undefined> {
    return this.pull((piece) => (this.lent = piece).bytes);
  }

  /**
   * Like `next`, without a copy: `take` receives bytes that are reused once it returns. Resolves to false at the end.
   */
  async read(take: (bytes: Uint8Array) => void): Promise<boolean> {
    return (await this.pull(({ bytes }) => (take(bytes), true))) ?? false;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (let chunk = await this.next(); chunk !== undefined; chunk = await this.next()) yield chunk;
  }

  /** Resolves, outside the callbacks of uWebSockets.js, when the last byte has arrived or the body has failed. */
  over(): Promise<void> {
    return new Promise((resolve) => {
      if (this.hasEnded || this.failure !== undefined) setImmediate(resolve);
      else this.tellOver = () => setImmediate(resolve);
    });
  }

  /**
   * Pauses the socket again if it should be paused. Must be called after each write, because a write that does not fit
   * makes uWebSockets.js resume reading.
   */
  holdAgain(): void {
    if (this.isPaused && !this.isReleased) this.response.pause();
  }

  /** Stops counting bytes as held. For readers that do not keep what they read. */
  letGo(bytes: number): void {
    if (this.isSettled) return;
    this.heldBytes -= bytes;
    this.bodyMemory.giveBack(bytes);
  }

  /** The bytes that are still counted as held. A reader that goes on, on another thread, lets go of nothing any more. */
  settle(): number {
    this.isSettled = true;
    return this.heldBytes;
  }

  /**
   * Detaches from the socket before a reply. uWebSockets.js discards the rest of the body, and a waiting reader
   * rejects.
   */
  release(): void {
    this.resume();
    this.abandon();
  }

  /** Like `release`, for a connection that is gone: the socket is not touched. */
  abandon(): void {
    this.isReleased = true;
    if (!this.hasEnded) this.fail(new AppError('internal_error', 'The client does not wait for an answer any more.'));
  }

  /** How long a reader has waited for bytes without progress; 0 while no reader waits or the body is complete. */
  stalledMs(nowMs: number): number {
    return this.waiter === undefined ? 0 : this.stallTimer.stalledMs(nowMs);
  }

  /** Resets the stall timer, because the client may have had a reason to pause. */
  excuse(): void {
    this.stallTimer.excuse(performance.now());
  }

  private pull<T>(use: (piece: Piece) => T): Promise<T | undefined> {
    if (this.lent) this.giveBack(this.lent);
    this.lent = undefined;
    if (this.failure !== undefined) return Promise.reject(this.failure);
    const [first] = this.queue;
    if (this.queuedBytes < QUEUE_BYTES_MAX) this.resume();
    if (first === undefined && this.hasEnded) return Promise.resolve(undefined);
    if (first?.isLarge === false) return Promise.resolve(use(this.shifted()));
    return new Promise((resolve, reject) => {
      const take = (piece: Piece | undefined): void => {
        try {
          resolve(piece && use(piece));
        } catch (error) {
          reject(error as Error);
        }
      };
      this.waiter = { take, reject };
      if (first) setImmediate(() => this.handOn());
      else this.stallTimer.begin(performance.now());
    });
  }

  private push(chunk: ArrayBuffer, isLast: boolean): void {
    this.hasEnded = isLast;
    this.receivedBytes += chunk.byteLength;
    this.latestAtMs = performance.now();
    this.stallTimer.count(chunk.byteLength, this.latestAtMs);
    if (this.failure !== undefined || this.isReleased) return;
    if (this.receivedBytes > this.limit.bytesMax) return this.fail(this.limit.clientError());
    if (!this.bodyMemory.hold(chunk.byteLength)) return this.fail(overloaded());
    this.heldBytes += chunk.byteLength;
    if (chunk.byteLength > 0) this.keep(new Uint8Array(chunk));
    if (!isLast) return;
    if (this.queue.length === 0) this.wake(undefined);
    this.tellOver();
    // Nothing is left to hold back, and on a paused socket uWebSockets.js does not report that the client has
    // disconnected.
    setImmediate(() => this.resume());
  }

  /** Makes readers reject and drops the queue. Only the first failure counts. */
  private fail(error: AppError): void {
    if (this.failure !== undefined) return;
    this.failure = error;
    for (const piece of this.queue.splice(0)) this.giveBack(piece);
    this.tellOver();
    this.waiter?.reject(error);
    this.waiter = undefined;
  }

  /** Queues `bytes`, which belong to uWebSockets.js and are reused when the callback returns. */
  private keep(bytes: Uint8Array): void {
    const isLarge = bytes.length >= LARGE_BYTES_MIN;
    const piece = { bytes: isLarge ? this.bodyMemory.blocks.copyOf(bytes) : Buffer.from(bytes), isLarge };
    const isFirst = this.queue.length === 0;
    if (isFirst && !isLarge && this.wake(piece)) return;
    this.queue.push(piece);
    this.queuedBytes += bytes.length;
    // uWebSockets.js may deliver more before the event loop runs anything else.
    if (isFirst && this.waiter) setImmediate(() => this.handOn());
    if (this.queuedBytes < QUEUE_BYTES_MAX || this.hasEnded) return;
    this.isPaused = true;
    this.response.pause();
    // After this callback returns, uWebSockets.js retries pending writes of a streamed reply, which resumes reading.
    setImmediate(() => this.holdAgain());
  }

  /** Delivers the first queued piece to the waiting reader. */
  private handOn(): void {
    if (this.waiter === undefined || this.queue.length === 0) return;
    const piece = this.shifted();
    this.wake(piece);
    if (piece !== this.lent) this.giveBack(piece);
  }

  private shifted(): Piece {
    const piece = this.queue.shift() as Piece;
    this.queuedBytes -= piece.bytes.length;
    if (this.queuedBytes < QUEUE_BYTES_MAX) this.resume();
    return piece;
  }

  private giveBack({ bytes, isLarge }: Piece): void {
    if (isLarge) this.bodyMemory.blocks.giveBack(bytes);
  }

  private wake(piece: Piece | undefined): boolean {
    const waiter = this.waiter;
    this.waiter = undefined;
    waiter?.take(piece);
    return waiter !== undefined;
  }

  private resume(): void {
    if (!this.isPaused || this.isReleased) return;
    this.isPaused = false;
    this.wasResumed = true;
    this.response.resume();
  }
}

// A compressed request body (`Content-Encoding`), decompressed on demand in Node's thread pool. Decompressed bytes
// count against the limit of the route, so a decompression bomb fails as soon as it exceeds it. Runs on front threads
// and on the main thread.

/** What readers of a body use of its source. */
export type ByteSource = Pick<BodySource, 'next' | 'read' | 'lend' | 'letGo'> & AsyncIterable<Buffer>;

/** Node supports zstd from 22.15; its type declarations do not. */
type Zstd = { createZstdDecompress?: (options: object) => Transform };
const { createZstdDecompress } = zlib as Zstd;
/** A window of at most 8 MiB, the size that RFC 8878 recommends every decoder to support. */
const ZSTD = { chunkSize: 64 * 1024, params: { [(constants as Record<string, number>).ZSTD_d_windowLogMax ?? 0]: 23 } };

const PIECES = { chunkSize: 64 * 1024 };

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', () => createGunzip(PIECES)],
  ['x-gzip', () => createGunzip(PIECES)],
  ['br', () => createBrotliDecompress(PIECES)],
  ...(createZstdDecompress ? ([['zstd', () => createZstdDecompress(ZSTD)]] as const) : []),
]);
const CODINGS = [...DECODERS.keys()].filter((name) => name !== 'x-gzip').join(', ');

/**
 * The decoder for a `Content-Encoding`; undefined for an uncompressed body. Throws 415 for an unknown coding and for
 * several codings.
 */
export function decoderFor(contentEncoding: string): (() => Transform) | undefined {
  const coding = contentEncoding.trim().toLowerCase();
  if (coding === '' || coding === 'identity') return undefined;
  const decoder = DECODERS.get(coding);
  if (decoder) return decoder;
  throw new AppError(
    'unsupported_content_encoding',
    `The Content-Encoding of a body should be one of ${CODINGS}, or absent.`,
    { headers: { 'Accept-Encoding': CODINGS } },
  );
}

export class DecodedSource implements ByteSource {
  /** Decompressed bytes counted as held. */
  heldBytes = 0;
  private isSettled = false;
  private unpackedBytes = 0;
  private readonly unpacked: Transform;
  private readonly pieces: AsyncIterator<Buffer>;

  constructor(
    packed: BodySource,
    decoder: () => Transform,
    private readonly limit: BodyLimit,
    private readonly bodyMemory: BodyMemory,
  ) {
    // Errors surface where the pieces are awaited.
    this.unpacked = pipeline(Readable.from(fed(packed)), decoder(), () => undefined);
    this.pieces = this.unpacked[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  async next(): Promise<Buffer | undefined> {
    try {
      const { done, value } = await this.pieces.next();
      if (done) return undefined;
      this.unpackedBytes += value.length;
      if (this.unpackedBytes > this.limit.bytesMax) throw this.limit.clientError();
      if (!this.bodyMemory.hold(value.length)) throw overloaded();
      this.heldBytes += value.length;
      return value;
    } catch (error) {
      this.close();
      throw error instanceof AppError ? error : new AppError('invalid_content_encoding');
    }
  }

  lend(): Promise<Uint8Array | undefined> {
    return this.next();
  }

  async read(take: (bytes: Uint8Array) => void): Promise<boolean> {
    const piece = await this.next();
    if (piece !== undefined) take(piece);
    return piece !== undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (let piece = await this.next(); piece !== undefined; piece = await this.next()) yield piece;
  }

  /** Stops decompressing. */
  close(): void {
    this.unpacked.destroy();
  }

  settle(): number {
    this.isSettled = true;
    return this.heldBytes;
  }

  letGo(bytes: number): void {
    if (this.isSettled) return;
    this.heldBytes -= bytes;
    this.bodyMemory.giveBack(bytes);
  }
}

async function* fed(packed: BodySource): AsyncGenerator<Buffer> {
  for await (const chunk of packed) {
    yield chunk;
    packed.letGo(chunk.length);
  }
}
