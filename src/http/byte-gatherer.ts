// Puts chunks of bytes of unknown number together, for bodies and files. Used by body.ts and file-sink.ts, on the front
// thread; the bytes are copied as they come, a few megabytes in one step at most.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** An announced length is trusted for so much of it; more is set aside only once as much has really come. */
const TRUSTED_BYTES = 1024 * 1024;
const FIRST_BYTES_MIN = 4096;
/** What outgrows this, with no length announced, gathers in blocks that stay where they are until the end. */
const GROWN_BYTES_MAX = 2 * TRUSTED_BYTES;
const BLOCK_BYTES = 1024 * 1024;

export class ByteGatherer {
  private readonly full: Buffer[] = [];
  private block: Buffer = Buffer.alloc(0);
  private blockBytes = 0;
  /** All bytes so far. */
  lengthBytes = 0;

  /** `expectedBytes`: the announced length, undefined when unknown. It only steers the allocation. */
  constructor(private readonly expectedBytes: number | undefined) {}

  /** Copies the chunk. */
  add(chunk: Uint8Array): void {
    if (this.blockBytes + chunk.length > this.block.length) this.makeRoom(chunk.length);
    this.block.set(chunk, this.blockBytes);
    this.blockBytes += chunk.length;
    this.lengthBytes += chunk.length;
  }

  /**
   * All bytes so far, in one buffer, and the whole of its ArrayBuffer where the announced length was right. Blocks are
   * put together with a turn for others after each. Nothing is added meanwhile or afterwards.
   */
  async whole(): Promise<Buffer> {
    if (this.full.length === 0) return this.filled();
    const whole = Buffer.allocUnsafeSlow(this.lengthBytes);
    let at = 0;
    for (const block of [...this.full, this.filled()]) {
      whole.set(block, at);
      at += block.length;
      await nextTurn();
    }
    return whole;
  }

  private filled(): Buffer {
    return this.block.subarray(0, this.blockBytes);
  }

  private makeRoom(bytes: number): void {
    const isSmall = this.full.length === 0 && this.blockBytes <= GROWN_BYTES_MAX;
    const larger = Buffer.allocUnsafeSlow(
      isSmall ? this.capacityFor(this.lengthBytes + bytes) : Math.max(bytes, BLOCK_BYTES),
    );
    if (isSmall) larger.set(this.filled());
    else {
      this.full.push(this.filled());
      this.blockBytes = 0;
    }
    this.block = larger;
  }

  private capacityFor(neededBytes: number): number {
    const expectedBytes = this.expectedBytes ?? 0;
    const isCredible = expectedBytes <= TRUSTED_BYTES || neededBytes > TRUSTED_BYTES;
    if (isCredible && expectedBytes >= neededBytes) return expectedBytes;
    return Math.max(neededBytes, 2 * this.block.length, FIRST_BYTES_MIN);
  }
}
