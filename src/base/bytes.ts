// Byte arrays and strings: passing them between threads, concatenation, ordering by UTF-8, and strings without a
// parent. Small arrays are transferred or copied; large ones are put in shared memory by the thread that creates them,
// so that no thread that passes them on has to copy them. Any thread.

/** Copying more bytes than this would block a thread that serves other requests for too long. */
const SHARED_BYTES_MIN = 256 * 1024;

type Bytes = Uint8Array | Float32Array;

/**
 * Returns a view whose whole buffer may be transferred to another thread. Copies if the view fills less than half of
 * its buffer, which may then be Node's buffer pool: that holds other data and cannot be transferred.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const isOwner = bytes.buffer instanceof ArrayBuffer && bytes.byteLength * 2 >= bytes.buffer.byteLength;
  return isOwner ? (bytes as Uint8Array<ArrayBuffer>) : Uint8Array.from(bytes);
}

/**
 * Moves the large arrays of an answer to shared memory, in place, and returns the buffers of the others for transfer.
 */
export function sharedIn<T extends object>(answer: T): ArrayBuffer[] {
  const moved: ArrayBuffer[] = [];
  for (const [name, value] of Object.entries(answer) as [keyof T, unknown][]) {
    if (!(value instanceof Uint8Array || value instanceof Float32Array)) continue;
    const shared = sharedBytes(value);
    answer[name] = shared as T[keyof T];
    if (shared.buffer instanceof ArrayBuffer) moved.push(shared.buffer);
  }
  return moved;
}

function sharedBytes(view: Bytes): Bytes {
  if (view.byteLength < SHARED_BYTES_MIN || view.buffer instanceof SharedArrayBuffer) return view;
  const memory = new SharedArrayBuffer(view.byteLength);
  const shared = view instanceof Uint8Array ? new Uint8Array(memory) : new Float32Array(memory);
  shared.set(view);
  return shared;
}

/**
 * Returns the bytes in unshared memory, copied if necessary: native libraries (msgpackr, LMDB) accept no shared memory.
 */
export const unshared = <T extends Bytes>(view: T): T =>
  (view.buffer instanceof SharedArrayBuffer ? view.slice() : view) as T;

/** Concatenates arrays into the one that `make` creates for the total length. */
export function concat<T extends Bytes>(parts: readonly T[], make: (length: number) => T): T {
  const all = make(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Compares texts by their UTF-8 bytes, which is the order of their code points and the order of keys in the store. */
export function compareUtf8(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at === end ? a.length - b.length : inUtf8(a.charCodeAt(at)) - inUtf8(b.charCodeAt(at));
}

/** Surrogates encode code points that sort after all others. */
const inUtf8 = (unit: number): number => ((unit & 0xf800) === 0xd800 ? unit + 0x10000 : unit);

/** Copies a string, because a slice keeps its whole parent alive. Uses UTF-16, so that lone surrogates survive. */
export const ownString = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le');
