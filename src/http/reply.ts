// A reply of unknown length on its way: blocks of its source, written as the socket takes them, while the body may
// still be coming. Made by exchange.ts once the first block is there; front thread.
import { STATUS_CODES } from 'node:http';
import type { RequestOutcome } from '../base/trace.js';
import { type Room, overloaded } from './admission.js';
import type { BodySource } from './body-source.js';
import type { Afterwards } from './connection-policy.js';
import type { Answer, PieceBlocks } from './envelope.js';
import type { HttpLimits } from './options.js';
import type { WireResponse } from './uws.js';

// Writes a finished reply to the socket, with back-pressure for those that do not fit into it. Called by exchange.ts on
// the front thread, once for each request.

export interface Manner {
  readonly requestId: string;
  /** A reply to HEAD: all headers, and the length of the body instead of the body. */
  readonly isHead: boolean;
  readonly afterwards: Afterwards;
  /** Beside those of the answer. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The buffer in which the library gathers what is written while it reads requests. */
const LIBRARY_BUFFER_BYTES = 16 * 1024;
/** Larger replies are handed over as the socket takes them; the library can close after smaller ones by itself. */
const WHOLE_BYTES_MAX = 64 * 1024;

/**
 * Calls `written` once everything has been handed to the socket. When the client goes away before, it is never called.
 */
export function writeReply(response: WireResponse, answer: Answer, manner: Manner, written: () => void): void {
  const isLarge = answer.body.length > WHOLE_BYTES_MAX && !manner.isHead;
  const libraryCloses = manner.afterwards === 'close' && !manner.isHead && !isLarge;
  response.cork(() => {
    writeHead(response, answer, manner, libraryCloses);
    if (isLarge) handOver(response, answer.body, written);
    else if (manner.isHead) response.endWithoutBody();
    else response.end(answer.body, libraryCloses);
  });
  if (!isLarge) written();
}

/**
 * Writes a reply and drops the connection before the library looks at what came behind the request. A reply waits in
 * the library's buffer until all that came with the request has been read, and executed; one that does not fit there
 * goes to the socket at once. So all of it is written as one status line that is longer than that buffer.
 */
export function writeLastReply(response: WireResponse, answer: Answer, manner: Manner): void {
  const headers = {
    'X-Request-ID': manner.requestId,
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
      manner.isHead ? Buffer.alloc(0) : body,
    ]),
  );
  response.close();
}

function writeHead(response: WireResponse, answer: Answer, manner: Manner, libraryCloses: boolean): void {
  response.writeStatus(`${answer.status} ${STATUS_CODES[answer.status]}`);
  response.writeHeader('X-Request-ID', manner.requestId);
  response.writeHeader('Content-Type', answer.contentType);
  for (const name in answer.headers) response.writeHeader(name, answer.headers[name] as string);
  for (const name in manner.headers) response.writeHeader(name, manner.headers[name] as string);
  if (manner.afterwards !== 'keep' && !libraryCloses) response.writeHeader('Connection', 'close');
  // Not as an argument of endWithoutBody: the library would take the reply for unfinished and drop the next request.
  if (manner.isHead && answer.rest === undefined) response.writeHeader('Content-Length', String(answer.body.length));
}

function handOver(response: WireResponse, body: Uint8Array, written: () => void): void {
  const [, isComplete] = response.tryEnd(body, body.length);
  if (isComplete) return written();
  response.onWritable((offset) => {
    const [hasTakenAll, isNowComplete] = response.tryEnd(body.subarray(offset), body.length);
    if (isNowComplete) written();
    return hasTakenAll;
  });
}

// Writes chunks of a reply of unknown length, no faster than the socket takes them. Front thread. Invariants: 1.
// `response` is not touched after `end` or `abandon`. 2. Beside what the library waits to send there is at most one
// slice of ours: a `write` resolves once there is room for the next one.

/**
 * A chunk for the client, and at most what piles up in the library for a reader that is slow. Node 20's fetch reads on
 * while its reader waits, as much as a socket gives, and takes one chunk a turn: with chunks of 16 KB a large download
 * took gigabytes of its memory, and its time grew with the square.
 */
const SLICE_BYTES = 64 * 1024;
/**
 * How often a socket that is held back is asked for room: while it is, the library does not tell when there is some.
 */
const PROBE_MS = 25;

/** What the writer has to know of the body that may come at the same time. */
interface HoldableBody {
  readonly hasEnded: boolean;
  readonly isPaused: boolean;
  /** A write that does not fit makes the library read again from a socket that is held back: called after each. */
  holdAgain(): void;
}

class StreamWriter {
  /** Nothing more can be written: the client has gone, or has all. */
  isOver = false;
  private wake: ((isRoom: boolean) => void) | undefined;
  private sliceBytes = SLICE_BYTES;
  writtenBytes = 0;
  /** performance.now() of when the socket last had room. */
  roomAtMs = performance.now();

  constructor(
    private readonly response: WireResponse,
    private readonly body: HoldableBody | undefined,
  ) {
    response.onWritable(() => this.drain());
    // Leaves behind, for a later `resume`, what a socket without bytes to write is polled for.
    if (body !== undefined && !body.isPaused) this.touch();
  }

  /** Whether the client is the slow side. */
  get isFull(): boolean {
    return this.wake !== undefined;
  }

  /** Resolves when the socket may have room for more, or the client has gone. One call at a time. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length && !this.isOver; ) {
      const slice = bytes.subarray(at, at + this.sliceBytes);
      at += slice.length;
      const isRoom = this.send(slice) || (await this.room());
      // One byte is enough to learn whether there is room again.
      this.sliceBytes = isRoom ? SLICE_BYTES : 1;
      if (isRoom) this.roomAtMs = performance.now();
    }
  }

  /**
   * Keeps the library from closing the connection after 10 s, which it does where a body or a slow reader lets it wait.
   */
  touch(): void {
    if (this.body?.isPaused) return this.body.holdAgain();
    this.response.pause();
    this.response.resume();
  }

  /** The last chunk: the client knows that the body is whole. */
  end(): void {
    this.isOver = true;
    this.response.cork(() => this.response.end());
  }

  /** The client has gone: whoever waits for room goes on, and learns it. */
  abandon(): void {
    this.isOver = true;
    this.goOn(true);
  }

  private drain(): boolean {
    // An empty cork is how the library is made to send what it still holds of the chunks before.
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

  /** True when the library tells of room, false when it is time to look. */
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

/** A piece waits so long for others that come with it. */
const BLOCK_WAIT_MS = 1;
/** A reader that makes no room for so long is cut off. */
const READER_TIMEOUT_MS = 60_000;
/** The library allows 10 s of silence; well within them it is told that all is well. */
const TOUCH_MS = 4000;
/** So much of a body that its handler did not want is read after the reply; a client that sends more is cut off. */
const SWALLOWED_BYTES_MAX = 64 * 1024;
/**
 * So much of a reply is kept while its body still comes. Many clients read only after they have sent everything: held
 * back by an answer that they do not take yet, they would wait for us and we for them.
 */
const AHEAD_BYTES_MAX = 32 * 1024 * 1024;
/** The same where nothing can be written before the body is here. */
const HALF_DUPLEX_BYTES_MAX = 256 * 1024 * 1024;

export class ReplyStream {
  private readonly writer: StreamWriter;
  private touchedAtMs = performance.now();
  private aheadBytes = 0;
  private writing = Promise.resolve();

  constructor(
    private readonly response: WireResponse,
    /** The body, where it may still be coming. */
    private readonly body: BodySource | undefined,
    private readonly limits: Pick<HttpLimits, 'bodyTimeoutMs' | 'requestTimeoutMs'>,
    private readonly room: Room,
    /** Whether nothing may be written before the body is here. */
    private readonly isHalfDuplex: boolean,
  ) {
    this.writer = new StreamWriter(response, body);
  }

  get writtenBytes(): number {
    return this.writer.writtenBytes;
  }

  /**
   * Writes all of it. False when the client went away before. Rejects with what the source throws; then the reply is
   * cut short.
   */
  async write(answer: Answer, rest: PieceBlocks, manner: Manner): Promise<boolean> {
    const begin = (): void => {
      if (!this.writer.isOver) this.response.cork(() => writeHead(this.response, answer, manner, false));
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

  /** Tells the client that it has all. */
  end(): void {
    this.body?.release();
    this.writer.end();
  }

  abandon(): void {
    this.writer.abandon();
  }

  /** Why the stream is to be cut off now; undefined while it goes on. To be asked every now and then. */
  verdict(nowMs: number): RequestOutcome | undefined {
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

  /** Hands a block to the writer, and waits for it unless the block may be kept. */
  private async add(bytes: Uint8Array): Promise<void> {
    const bytesMax = this.isHalfDuplex ? HALF_DUPLEX_BYTES_MAX : AHEAD_BYTES_MAX;
    const isKept =
      this.body?.hasEnded === false && this.aheadBytes + bytes.length <= bytesMax && this.room.hold(bytes.length);
    if (!isKept && this.isHalfDuplex && this.body?.hasEnded === false)
      throw overloaded('The answers cannot be kept until the body is here.');
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
    this.room.giveBack(bytes);
  }

  /**
   * Reads what is left of the body, so that the next request on the connection is found. Rejects where that is a lot.
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
