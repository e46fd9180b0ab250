// Memory into which large pieces of bodies are copied as they come off the socket, used again and again. The library
// reads on without a turn for others for as long as a client fills what it reads into, so what is done with each piece
// there has to be short; and it is the first touch of new memory that takes most of a copy: five times as long as the
// rest where this was measured. One for each server, made by admission.ts; front thread.

/** What the library hands over at most. */
const BLOCK_BYTES = 512 * 1024;
/** Kept for the next pieces: 8 MiB. */
const FREE_MAX = 16;

export class ReceiveBlocks {
  private readonly free: Uint8Array[] = [];

  /** A copy, in a block that is the caller's until it gives it back; one that is never given back is merely lost. */
  copyOf(bytes: Uint8Array): Uint8Array {
    const isLarger = bytes.length > BLOCK_BYTES;
    const block = (isLarger ? undefined : this.free.pop()) ?? new Uint8Array(Math.max(bytes.length, BLOCK_BYTES));
    block.set(bytes);
    return block.subarray(0, bytes.length);
  }

  /** Takes back what `copyOf` gave; nobody reads it any more. */
  giveBack(copy: Uint8Array): void {
    if (this.free.length < FREE_MAX && copy.buffer.byteLength === BLOCK_BYTES)
      this.free.push(new Uint8Array(copy.buffer));
  }
}
