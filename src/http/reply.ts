// Writes replies: whole replies with back-pressure, and streamed replies block by block while the request body may
// still be arriving. Runs on front threads and on the main thread.
import { STATUS_CODES } from 'node:http';
import type { RequestEnd } from '../base/trace.js';
import { type BodyMemory, overloaded } from './admission.js';
import type { BodySource } from './body-source.js';
import { type Afterwards, SWALLOWED_BYTES_MAX } from './connection-policy.js';
import { type Answer, BLOCK_WAIT_MS, type PieceBlocks } from './envelope.js';
import type { HttpLimits } from './options.js';
import type { WireResponse } from './uws.js';

// Writes a whole reply to the socket, with back-pressure if it does not fit. Called once per request.

export interface ReplyOptions {
  readonly requestId: string;
  /** The reply to a HEAD request has all headers, and the length of the body instead of the body. */
  readonly isHead: boolean;
  readonly afterwards: Afterwards;
  /** Headers in addition to those of the answer. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The size of the buffer in which uWebSockets.js collects writes while it reads requests. */
const LIBRARY_BUFFER_BYTES = 16 * 1024;
/**
 * Larger replies are written as the socket takes them. After smaller ones uWebSockets.js can close the connection
 * itself.
 */
const WHOLE_BYTES_MAX = 64 * 1024;

/**
 * Calls `ending` before the last byte is passed to the socket, and `written` after it; neither if the client disconnects
 * before.
 */
export function writeReply(
  response: WireResponse,
  answer: Answer,
  options: ReplyOptions,
  { ending, written }: { ending: () => void; written: () => void },
): void {
  const isLarge = answer.body.length > WHOLE_BYTES_MAX && !options.isHead;
  const libraryCloses = options.afterwards === 'close' && !options.isHead && !isLarge;
  if (!isLarge) ending();
  response.cork(() => {
    writeHead(response, answer, options, libraryCloses);
    if (isLarge) handOver(response, answer.body, ending, written);
    else if (options.isHead) response.endWithoutBody();
    else response.end(answer.body, libraryCloses);
  });
  if (!isLarge) written();
}

/**
 * Writes a reply and closes the connection before uWebSockets.js parses the bytes behind the request. The library
 * buffers a reply until it has parsed, and executed, everything that arrived with the request, but sends one that
 * exceeds its buffer at once. So the whole reply is written as one status line that is longer than that buffer.
 */
export function writeLastReply(response: WireResponse, answer: Answer, options: ReplyOptions): void {
  const headers = {
    'X-Request-ID': options.requestId,
    'Content-Type': answer.contentType,
    ...answer.headers,
    Connection: 'close',
    'Content-Length': LIBRARY_BUFFER_BYTES,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const body = Buffer.alloc(LIBRARY_BUFFER_BYTES, ' ');
  body.set(answer.body);
  response.writeStatus(
    Buffer.concat([
      Buffer.from(`${answer.status} ${STATUS_CODES[answer.status]}\r\n${lines.join('')}\r\n`),
      options.isHead ? Buffer.alloc(0) : body,
    ]),
  );
  response.close();
}

function writeHead(response: WireResponse, answer: Answer, options: ReplyOptions, libraryCloses: boolean): void {
  response.writeStatus(`${answer.status} ${STATUS_CODES[answer.status]}`);
  response.writeHeader('X-Request-ID', options.requestId);
  response.writeHeader('Content-Type', answer.contentType);
  for (const name in answer.headers) response.writeHeader(name, answer.headers[name] as string);
  for (const name in options.headers) response.writeHeader(name, options.headers[name] as string);
  if (options.afterwards !== 'keep' && !libraryCloses) response.writeHeader('Connection', 'close');
  // The length is not passed to `endWithoutBody`: uWebSockets.js would consider the reply unfinished and drop the next
  // request.
  if (options.isHead && answer.rest === undefined) response.writeHeader('Content-Length', String(answer.body.length));
}

/** The last byte waits until the socket has taken all others. */
function handOver(response: WireResponse, body: Uint8Array, ending: () => void, written: () => void): void {
  const last = body.length - 1;
  const send = (offset: number): boolean => {
    if (offset < last && !response.tryEnd(body.subarray(offset, last), body.length)[0]) return false;
    ending();
    const [hasTakenAll, isComplete] = response.tryEnd(body.subarray(last), body.length);
    if (isComplete) written();
    return hasTakenAll;
  };
  if (!send(0)) response.onWritable(send);
}

// Writes chunks of a reply of unknown length, no faster than the socket takes them. Runs on front threads and on the
// main thread.
//
// Invariants: 1. `response` is not touched after `end` or `abandon`. 2. At most one slice waits in addition to what
// uWebSockets.js buffers: a `write` resolves once there is space for the next slice.

/**
 * The size of a chunk, and the most that uWebSockets.js buffers for a slow reader. Node 20's `fetch` reads ahead of its
 * reader as much as the socket gives, one chunk per turn: with 16 KB chunks a large download took gigabytes of client
 * memory and quadratic time.
 */
const SLICE_BYTES = 64 * 1024;
/**
 * How often a paused socket is probed for space: while it is paused, uWebSockets.js does not report that there is some.
 */
const PROBE_MS = 25;

/** What the writer needs of a body that may arrive at the same time. */
interface HoldableBody {
  readonly hasEnded: boolean;
  readonly isPaused: boolean;
  /**
   * Pauses the socket again. Called after each write, because a write that does not fit makes uWebSockets.js resume
   * reading.
   */
  holdAgain(): void;
}

class StreamWriter {
  /** Whether nothing more can be written, because the reply is complete or the client has disconnected. */
  isOver = false;
  private wake: ((isRoom: boolean) => void) | undefined;
  private sliceBytes = SLICE_BYTES;
  writtenBytes = 0;
  /** `performance.now()` when the socket last had space. */
  roomAtMs = performance.now();

  constructor(
    private readonly response: WireResponse,
    private readonly body: HoldableBody | undefined,
  ) {
    response.onWritable(() => this.drain());
    // Pausing once saves, for a later `resume`, the poll flags of a socket without pending writes.
    if (body !== undefined && !body.isPaused) this.touch();
  }

  /** Whether the socket is full, that is, the client is the slow side. */
  get isFull(): boolean {
    return this.wake !== undefined;
  }

  /** Resolves when the socket may have space for more, or the client has disconnected. One call at a time. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length && !this.isOver; ) {
      const slice = bytes.subarray(at, at + this.sliceBytes);
      at += slice.length;
      const isRoom = this.send(slice) || (await this.room());
      // One byte is enough to learn whether there is space again.
      this.sliceBytes = isRoom ? SLICE_BYTES : 1;
      if (isRoom) this.roomAtMs = performance.now();
    }
  }

  /** Resets the 10 s timeout of uWebSockets.js, which runs while a body or a slow reader keeps it waiting. */
  touch(): void {
    if (this.body?.isPaused) return this.body.holdAgain();
    this.response.pause();
    this.response.resume();
  }

  /** Ends the reply, which tells the client that the body is complete. */
  end(): void {
    this.isOver = true;
    this.response.cork(() => this.response.end());
  }

  /** Stops writing because the client has disconnected. A pending `write` resolves. */
  abandon(): void {
    this.isOver = true;
    this.goOn(true);
  }

  private drain(): boolean {
    // An empty cork makes uWebSockets.js send what it still buffers.
    this.response.cork(() => undefined);
    this.body?.holdAgain();
    this.goOn(true);
    return true;
  }

  private send(slice: Uint8Array): boolean {
    let hasRoom = true;
    this.response.cork(() => (hasRoom = this.response.write(slice)));
    this.writtenBytes += slice.length;
    this.body?.holdAgain();
    return hasRoom;
  }

  /** True when uWebSockets.js reports space, false when it is time to probe. */
  private async room(): Promise<boolean> {
    const { body } = this;
    const mayBeHeldBack = body !== undefined && (body.isPaused || !body.hasEnded);
    const timer = mayBeHeldBack ? setTimeout(() => this.goOn(false), PROBE_MS) : undefined;
    const isRoom = await new Promise<boolean>((resolve) => (this.wake = resolve));
    clearTimeout(timer);
    return isRoom;
  }

  private goOn(isRoom: boolean): void {
    const { wake } = this;
    this.wake = undefined;
    wake?.(isRoom);
  }
}

/** A client that takes nothing for this long is cut off. */
const READER_TIMEOUT_MS = 60_000;
/** uWebSockets.js allows 10 s of silence; the timeout is reset well before. */
const TOUCH_MS = 4000;
/**
 * Bytes of a reply that are buffered while its request body still arrives. Many clients read only after they have sent
 * everything: without the buffer, client and server would wait for each other.
 */
const AHEAD_BYTES_MAX = 32 * 1024 * 1024;
/** The same bound where nothing can be written before the body is complete. */
const HALF_DUPLEX_BYTES_MAX = 256 * 1024 * 1024;

export class ReplyStream {
  private readonly writer: StreamWriter;
  private touchedAtMs = performance.now();
  private aheadBytes = 0;
  private writing = Promise.resolve();

  constructor(
    private readonly response: WireResponse,
    /** The request body, which may still be arriving. */
    private readonly body: BodySource | undefined,
    private readonly limits: Pick<HttpLimits, 'bodyTimeoutMs' | 'requestTimeoutMs'>,
    private readonly bodyMemory: BodyMemory,
    /** Whether nothing may be written before the request body is complete (TLS). */
    private readonly isHalfDuplex: boolean,
  ) {
    this.writer = new StreamWriter(response, body);
  }

  get writtenBytes(): number {
    return this.writer.writtenBytes;
  }

  /**
   * Writes the whole reply. Resolves to false if the client disconnects before the end. Rejects with what the source
   * throws, in which case the reply is truncated.
   */
  async write(answer: Answer, rest: PieceBlocks, options: ReplyOptions): Promise<boolean> {
    const begin = (): void => {
      if (!this.writer.isOver) this.response.cork(() => writeHead(this.response, answer, options, false));
    };
    if (this.isHalfDuplex && this.body?.hasEnded === false) this.writing = this.body.over().then(begin);
    else begin();
    await this.add(answer.body);
    for (let isLast = false; !isLast && !this.writer.isOver; ) {
      const block = await rest.next(BLOCK_WAIT_MS);
      isLast = block.isLast;
      this.body?.excuse();
      await this.add(block.bytes);
    }
    if (!this.writer.isOver) await this.swallow();
    await this.writing;
    return !this.writer.isOver;
  }

  /** Completes the reply. */
  end(): void {
    this.body?.release();
    this.writer.end();
  }

  abandon(): void {
    this.writer.abandon();
  }

  /** Why the stream must be cut off now; undefined while it may go on. Called periodically. */
  verdict(nowMs: number): RequestEnd | undefined {
    const silentMs = nowMs - Math.max(this.writer.roomAtMs, this.body?.latestAtMs ?? 0);
    if ((this.body?.stalledMs(nowMs) ?? 0) > this.limits.bodyTimeoutMs) return 'body_timeout';
    if (this.writer.isFull) {
      if (silentMs > READER_TIMEOUT_MS) return 'aborted';
    } else if (silentMs > (this.limits.requestTimeoutMs ?? Infinity)) return 'failed';
    if (nowMs - this.touchedAtMs > TOUCH_MS) {
      this.touchedAtMs = nowMs;
      this.writer.touch();
    }
    return undefined;
  }

  /** Passes a block to the writer, and waits for it unless the block may be buffered. */
  private async add(bytes: Uint8Array): Promise<void> {
    const bytesMax = this.isHalfDuplex ? HALF_DUPLEX_BYTES_MAX : AHEAD_BYTES_MAX;
    const isKept =
      this.body?.hasEnded === false && this.aheadBytes + bytes.length <= bytesMax && this.bodyMemory.hold(bytes.length);
    if (!isKept && this.isHalfDuplex && this.body?.hasEnded === false)
      throw overloaded('The server has no memory left to buffer the answers until the whole body has arrived.');
    if (isKept) this.aheadBytes += bytes.length;
    this.writing = this.writing
      .then(() => this.writer.write(bytes))
      .then(() => {
        if (isKept) this.letGo(bytes.length);
      });
    if (!isKept) await this.writing;
  }

  private letGo(bytes: number): void {
    this.aheadBytes -= bytes;
    this.bodyMemory.giveBack(bytes);
  }

  /**
   * Reads the rest of the body, so that the next request on the connection can be parsed. Rejects if the rest is large.
   */
  private async swallow(): Promise<void> {
    const { body } = this;
    let swallowedBytes = 0;
    while (body !== undefined && !body.hasEnded) {
      const chunk = await body.next();
      if (chunk !== undefined) body.letGo(chunk.length);
      swallowedBytes += chunk?.length ?? 0;
      if (swallowedBytes > SWALLOWED_BYTES_MAX)
        throw new Error('the handler has not read the body of its streamed reply');
    }
  }
}
