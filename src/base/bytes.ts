// Bytes that travel between threads.
// Used by the pools and the batch workers wherever a buffer is moved instead of copied.

/**
 * The bytes as a view whose whole buffer may be moved to another thread. Copied only where they fill less than half of
 * it: then it may be Buffer's pool, which holds others' bytes too and does not move.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const isOwner = bytes.buffer instanceof ArrayBuffer && bytes.byteLength * 2 >= bytes.buffer.byteLength;
  return isOwner ? (bytes as Uint8Array<ArrayBuffer>) : Uint8Array.from(bytes);
}
