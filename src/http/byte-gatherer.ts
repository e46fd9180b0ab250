// Puts chunks of bytes of unknown number together, in one buffer that grows. Used for bodies and files by body.ts and
// form.ts, on the front thread; the bytes are copied as they come, so that no single step takes long.

/** An announced length is trusted for so much of it; more is set aside only once as much has really come. */
const TRUSTED_BYTES = 1024 * 1024;
const FIRST_BYTES_MIN = 4096;

export class ByteGatherer {
  private buffer: Buffer = Buffer.alloc(0);
  private lengthBytes = 0;

  /** `expectedBytes`: the announced length, undefined when unknown. It only steers the allocation. */
  constructor(private readonly expectedBytes: number | undefined) {}

  add(chunk: Uint8Array): void {
    const neededBytes = this.lengthBytes + chunk.length;
    if (neededBytes > this.buffer.length) this.growTo(neededBytes);
    this.buffer.set(chunk, this.lengthBytes);
    this.lengthBytes = neededBytes;
  }

  /** All bytes so far: the whole of their ArrayBuffer where the announced length was right. */
  take(): Buffer {
    return this.buffer.subarray(0, this.lengthBytes);
  }

  private growTo(neededBytes: number): void {
    const larger = Buffer.allocUnsafeSlow(this.capacityFor(neededBytes));
    larger.set(this.take());
    this.buffer = larger;
  }

  private capacityFor(neededBytes: number): number {
    const expectedBytes = this.expectedBytes ?? 0;
    const isCredible = expectedBytes <= TRUSTED_BYTES || neededBytes > TRUSTED_BYTES;
    if (isCredible && expectedBytes >= neededBytes) return expectedBytes;
    return Math.max(neededBytes, 2 * this.buffer.length, FIRST_BYTES_MIN);
  }
}
