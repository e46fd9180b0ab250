// A reply of unknown length on its way: blocks of its source, written as the socket takes them, while the body may
// still be coming. Made by exchange.ts once the first block is there; front thread.
import { overloaded, type Room } from './admission.js';
import type { BodySource } from './body-source.js';
import type { Answer } from './envelope.js';
import type { HttpLimits, Outcome } from './options.js';
import type { PieceBlocks } from './piece-blocks.js';
import { type Manner, writeHead } from './reply.js';
import { StreamWriter } from './stream-writer.js';
import type { WireResponse } from './wire.js';

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
  verdict(nowMs: number): Outcome | undefined {
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
