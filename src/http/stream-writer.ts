// Writes chunks of a reply of unknown length, no faster than the socket takes them. Made by reply-stream.ts for each
// streamed reply, on the front thread. Invariants: 1. `response` is not touched after `end` or `abandon`. 2. Beside
// what the library waits to send there is at most one slice of ours: a `write` resolves once there is room for the next
// one.
import type { WireResponse } from './wire.js';

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
export interface HoldableBody {
  readonly hasEnded: boolean;
  readonly isPaused: boolean;
  /** A write that does not fit makes the library read again from a socket that is held back: called after each. */
  holdAgain(): void;
}

export class StreamWriter {
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
