// Bytes: how they travel between threads, how they are put together, and the order of texts by them; and strings that
// are kept. Small bytes are moved where they come from and copied where they go on; large ones lie in shared memory
// from the first thread on, so that whoever hands them on, the front thread above all, copies none of them.

/** From so many bytes on a copy takes longer than a thread that serves others may spend. */
const SHARED_BYTES_MIN = 256 * 1024;

type Bytes = Uint8Array | Float32Array;

/**
 * The bytes as a view whose whole buffer may be moved to another thread. Copied only where they fill less than half of
 * it: then it may be Buffer's pool, which holds others' bytes too and does not move.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const isOwner = bytes.buffer instanceof ArrayBuffer && bytes.byteLength * 2 >= bytes.buffer.byteLength;
  return isOwner ? (bytes as Uint8Array<ArrayBuffer>) : Uint8Array.from(bytes);
}

/** Lets the large arrays of an answer lie in shared memory, and answers the buffers of the others, which can be moved. */
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

/** The bytes in memory of this thread alone: native libraries (msgpackr, LMDB) take no others. */
export const unshared = <T extends Bytes>(view: T): T =>
  (view.buffer instanceof SharedArrayBuffer ? view.slice() : view) as T;

/** One after the other, in what `make` gives for their whole length. */
export function concat<T extends Bytes>(parts: readonly T[], make: (length: number) => T): T {
  const all = make(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Order of texts by their bytes in UTF-8, which is that of their code points: the order in which the store lists. */
export function compareUtf8(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at === end ? a.length - b.length : inUtf8(a.charCodeAt(at)) - inUtf8(b.charCodeAt(at));
}

/** Surrogates stand for what comes behind all other characters. */
const inUtf8 = (unit: number): number => ((unit & 0xf800) === 0xd800 ? unit + 0x10000 : unit);

/**
 * A copy of a string that is kept: a slice would keep the whole string that it was cut out of. By way of UTF-16, so
 * that a lone surrogate stays.
 */
export const ownString = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le');
