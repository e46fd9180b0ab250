// The bytes of one request body as they come off the socket: counted against a limit, queued until somebody asks, and
// held back at the socket (pause, resume) while nobody does. Made by body.ts, fed by the library, on the front thread.
// Invariants: 1. onData is attached within the route callback, or the first bytes are lost. 2. `response` is not
// touched after `release` (the exchange calls it before it replies) or `abandon`. 3. After a failure every `next`
// rejects with it.
import { Readable, type Transform, pipeline } from 'node:stream';
import zlib, { constants, createBrotliDecompress, createGunzip } from 'node:zlib';
import { AppError } from '../api/errors.js';
import { type Room, overloaded } from './admission.js';
import type { WireResponse } from './uws.js';

// How long the reader of a body has waited for its latest bytes: a body that stands still, or trickles, does not hold
// its place for ever. One for each body, driven by body-source.ts on the front thread. Pure.

/** Less than this, while somebody waits, is no progress. */
const PROGRESS_BYTES_MIN = 1024;

/** All times are performance.now(). */
export class TrickleClock {
  /** Spent waiting for the latest `trickledBytes`. */
  private waitedMs = 0;
  private trickledBytes = 0;
  private sinceMs: number | undefined;

  /** A reader begins to wait. */
  begin(nowMs: number): void {
    this.sinceMs = nowMs;
  }

  /** Bytes have come, and nobody waits any more. */
  count(bytes: number, nowMs: number): void {
    this.waitedMs = this.stalledMs(nowMs);
    this.sinceMs = undefined;
    this.trickledBytes += bytes;
    if (this.trickledBytes >= PROGRESS_BYTES_MIN) this.waitedMs = this.trickledBytes = 0;
  }

  /** The sender may have had a reason to wait: its time begins anew. */
  excuse(nowMs: number): void {
    this.waitedMs = this.trickledBytes = 0;
    if (this.sinceMs !== undefined) this.sinceMs = nowMs;
  }

  /** Milliseconds waited in vain; the time in which nobody waits does not count. */
  stalledMs(nowMs: number): number {
    return this.waitedMs + (this.sinceMs === undefined ? 0 : nowMs - this.sinceMs);
  }
}

/**
 * So much may wait in memory for a slow reader; then the socket is paused. The library still hands over all that it can
 * read without a pause: a body of 28 MB was seen to come whole, from a client as fast as this server.
 */
const QUEUE_BYTES_MAX = 1024 * 1024;
/** A piece of so much stands in a block that is used again, and is handed on in a turn of its own. */
const LARGE_BYTES_MIN = 64 * 1024;

export interface BodyLimit {
  readonly bytesMax: number;
  /** The 413 to fail with. */
  readonly refusal: () => AppError;
}

interface Piece {
  readonly bytes: Uint8Array;
  /** Whether the bytes stand in a block, to be given back. */
  readonly isLarge: boolean;
}

/** `take`: what is done with the next piece, undefined at the end. */
type Waiter = { take(piece: Piece | undefined): void; reject(error: AppError): void };

export class BodySource implements AsyncIterable<Buffer> {
  private readonly queue: Piece[] = [];
  /** Its reader may still look at it. */
  private lent: Piece | undefined;
  private queuedBytes = 0;
  private waiter: Waiter | undefined;
  private tellOver = (): void => undefined;
  private failure: AppError | undefined;
  /** Whether we hold the socket back. */
  isPaused = false;
  /**
   * Whether the library, told to read on, may not know that the body is here: it then closes after 10 s in which
   * nothing comes.
   */
  wasResumed = false;
  private isReleased = false;
  /** Whether the last byte has come off the socket. */
  hasEnded = false;
  receivedBytes = 0;
  /** performance.now() of the latest bytes. */
  latestAtMs = 0;
  /** Bytes that count as held, to be given back when nothing of the request is under way any more. */
  heldBytes = 0;
  private readonly clock = new TrickleClock();

  constructor(
    private readonly response: WireResponse,
    private readonly limit: BodyLimit,
    private readonly room: Room,
  ) {
    response.onData((chunk, isLast) => this.push(chunk, isLast));
  }

  /**
   * The next bytes, undefined at the end. One call at a time. Rejects over the limit and after `release` or `abandon`.
   */
  next(): Promise<Buffer | undefined> {
    return this.pull(({ bytes, isLarge }) => (isLarge ? Buffer.from(bytes) : (bytes as Buffer)));
  }

  /** The same without a copy: the bytes are good until the next call. */
  lend(): Promise<Uint8Array | undefined> {
    return this.pull((piece) => (this.lent = piece).bytes);
  }

  /** The same without a copy: `take` is given bytes that are used again once it returns. False at the end. */
  async read(take: (bytes: Uint8Array) => void): Promise<boolean> {
    return (await this.pull(({ bytes }) => (take(bytes), true))) ?? false;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (let chunk = await this.next(); chunk !== undefined; chunk = await this.next()) yield chunk;
  }

  /** Resolves, outside the library's callbacks, when the last byte is here or none is wanted any more. */
  over(): Promise<void> {
    return new Promise((resolve) => {
      if (this.hasEnded || this.failure !== undefined) setImmediate(resolve);
      else this.tellOver = () => setImmediate(resolve);
    });
  }

  /**
   * A write that does not fit makes the library read again from a socket that is held back: to be called after each.
   */
  holdAgain(): void {
    if (this.isPaused && !this.isReleased) this.response.pause();
  }

  /** Bytes that were taken and used count no longer as held. For readers that keep nothing. */
  letGo(bytes: number): void {
    this.heldBytes -= bytes;
    this.room.giveBack(bytes);
  }

  /**
   * Lets go of the socket before a reply: the library swallows what is still to come, and a reader still waiting
   * rejects.
   */
  release(): void {
    this.resume();
    this.abandon();
  }

  /** The same when the connection is gone: the socket is not touched any more. */
  abandon(): void {
    this.isReleased = true;
    if (!this.hasEnded) this.fail(new AppError('internal_error', 'The client does not wait for an answer any more.'));
  }

  /** How long somebody has waited in vain for this body; 0 while we are the slow side or all is here. */
  stalledMs(nowMs: number): number {
    return this.waiter === undefined ? 0 : this.clock.stalledMs(nowMs);
  }

  /** The client may have had a reason to wait: its time begins anew. */
  excuse(): void {
    this.clock.excuse(performance.now());
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
      else this.clock.begin(performance.now());
    });
  }

  private push(chunk: ArrayBuffer, isLast: boolean): void {
    this.hasEnded = isLast;
    this.receivedBytes += chunk.byteLength;
    this.latestAtMs = performance.now();
    this.clock.count(chunk.byteLength, this.latestAtMs);
    if (this.failure !== undefined || this.isReleased) return;
    if (this.receivedBytes > this.limit.bytesMax) return this.fail(this.limit.refusal());
    if (!this.room.hold(chunk.byteLength)) return this.fail(overloaded());
    this.heldBytes += chunk.byteLength;
    if (chunk.byteLength > 0) this.keep(new Uint8Array(chunk));
    if (!isLast) return;
    if (this.queue.length === 0) this.wake(undefined);
    this.tellOver();
    // There is nothing left to hold back, and of a socket that is held back nobody learns that its client has gone.
    setImmediate(() => this.resume());
  }

  /** Makes readers reject and drops what is queued. The first failure stays. */
  private fail(error: AppError): void {
    if (this.failure !== undefined) return;
    this.failure = error;
    for (const piece of this.queue.splice(0)) this.giveBack(piece);
    this.tellOver();
    this.waiter?.reject(error);
    this.waiter = undefined;
  }

  /** `bytes` are the library's, which uses them again. */
  private keep(bytes: Uint8Array): void {
    const isLarge = bytes.length >= LARGE_BYTES_MIN;
    const piece = { bytes: isLarge ? this.room.blocks.copyOf(bytes) : Buffer.from(bytes), isLarge };
    const isFirst = this.queue.length === 0;
    if (isFirst && !isLarge && this.wake(piece)) return;
    this.queue.push(piece);
    this.queuedBytes += bytes.length;
    // The library may come with more before others have their turn.
    if (isFirst && this.waiter) setImmediate(() => this.handOn());
    if (this.queuedBytes < QUEUE_BYTES_MAX || this.hasEnded) return;
    this.isPaused = true;
    this.response.pause();
    // When this callback has returned, the library tries once more to write what it still has of a streamed reply.
    setImmediate(() => this.holdAgain());
  }

  /** The first piece, to whoever waits for it. */
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
    if (isLarge) this.room.blocks.giveBack(bytes);
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

// The bytes of a request body that came compressed (Content-Encoding), as they were before: unpacked as they are
// asked for, by Node's thread pool, and counted against the limit of the route, so that a bomb is refused once it has
// grown over it. Made by body.ts; front thread.

/** What the readers of a body need of it. */
export type ByteSource = Pick<BodySource, 'next' | 'read' | 'lend' | 'letGo'> & AsyncIterable<Buffer>;

/** Node has zstd from 22.15 on; the types do not know it yet. */
type Zstd = { createZstdDecompress?: (options: object) => Transform };
const { createZstdDecompress } = zlib as Zstd;
/** A window of 8 MiB, which RFC 8878 asks every reader to take, and no more. */
const ZSTD = { chunkSize: 64 * 1024, params: { [(constants as Record<string, number>).ZSTD_d_windowLogMax ?? 0]: 23 } };

const PIECES = { chunkSize: 64 * 1024 };

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', () => createGunzip(PIECES)],
  ['x-gzip', () => createGunzip(PIECES)],
  ['br', () => createBrotliDecompress(PIECES)],
  ...(createZstdDecompress ? ([['zstd', () => createZstdDecompress(ZSTD)]] as const) : []),
]);
const CODINGS = [...DECODERS.keys()].filter((name) => name !== 'x-gzip').join(', ');

/** Undefined for a body that came as it is. Throws 415 for a coding that is not known, and for several. */
export function decoderFor(contentEncoding: string): (() => Transform) | undefined {
  const coding = contentEncoding.trim().toLowerCase();
  if (coding === '' || coding === 'identity') return undefined;
  const decoder = DECODERS.get(coding);
  if (decoder) return decoder;
  throw new AppError(
    'unsupported_content_encoding',
    `The Content-Encoding of a body is one of ${CODINGS}, or it has none.`,
    { headers: { 'Accept-Encoding': CODINGS } },
  );
}

export class DecodedSource implements ByteSource {
  /** As BodySource has it. */
  heldBytes = 0;
  private unpackedBytes = 0;
  private readonly unpacked: Transform;
  private readonly pieces: AsyncIterator<Buffer>;

  constructor(
    packed: BodySource,
    decoder: () => Transform,
    private readonly limit: BodyLimit,
    private readonly room: Room,
  ) {
    // What goes wrong is thrown where the pieces are awaited.
    this.unpacked = pipeline(Readable.from(fed(packed)), decoder(), () => undefined);
    this.pieces = this.unpacked[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  async next(): Promise<Buffer | undefined> {
    try {
      const { done, value } = await this.pieces.next();
      if (done) return undefined;
      this.unpackedBytes += value.length;
      if (this.unpackedBytes > this.limit.bytesMax) throw this.limit.refusal();
      if (!this.room.hold(value.length)) throw overloaded();
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

  /** Nobody wants more. */
  close(): void {
    this.unpacked.destroy();
  }

  letGo(bytes: number): void {
    this.heldBytes -= bytes;
    this.room.giveBack(bytes);
  }
}

async function* fed(packed: BodySource): AsyncGenerator<Buffer> {
  for await (const chunk of packed) {
    yield chunk;
    packed.letGo(chunk.length);
  }
}
