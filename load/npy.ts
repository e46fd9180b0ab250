// Reads NumPy's .npy files (format 1.0 to 3.0: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html):
// little-endian float16, float32, int8 and int32 in C order. Used by loads and tests.
import { readFileSync } from 'node:fs';

export interface NpyArray {
  readonly shape: readonly number[];
  readonly values: Float32Array | Int8Array | Int32Array;
}

/**
 * Reads a file, or the first `rowsMax` rows of it; float16 becomes float32. Throws Error naming the file when it is not
 * such a file.
 */
export function readNpy(path: string, rowsMax = Infinity): NpyArray {
  const bytes = readFileSync(path);
  if (bytes.subarray(0, 6).toString('latin1') !== '\x93NUMPY') throw new Error(`${path}: not a .npy file`);
  const wide = (bytes[6] as number) >= 2;
  const start = wide ? 12 : 10;
  const end = start + (wide ? bytes.readUInt32LE(8) : bytes.readUInt16LE(8));
  const header = bytes.subarray(start, end).toString('latin1');
  const kind = /'descr':\s*'([^']*)'/.exec(header)?.[1];
  const whole = /'shape':\s*\(([^)]*)\)/.exec(header)?.[1]?.match(/\d+/g)?.map(Number);
  const shape = whole?.map((size, axis) => (axis === 0 ? Math.min(size, rowsMax) : size));
  if (!kind || !shape || !/'fortran_order':\s*False/.test(header))
    throw new Error(`${path}: unsupported header ${header.trim()}`);
  const count = shape.reduce((product, size) => product * size, 1);
  const body = bytes.buffer.slice(bytes.byteOffset + end, bytes.byteOffset + bytes.length) as ArrayBuffer;
  return { shape, values: decode(path, kind, body, count) };
}

/** A matrix of floats by its rows, the first `rowsMax` of them: views, not copies. */
export function readRows(path: string, rowsMax = Infinity): Float32Array[] {
  const { shape, values } = readNpy(path, rowsMax);
  const [rows, width] = shape;
  if (rows === undefined || width === undefined || !(values instanceof Float32Array))
    throw new Error(`${path}: not a matrix of floats`);
  return Array.from({ length: rows }, (_, row) => values.subarray(row * width, (row + 1) * width));
}

function decode(path: string, kind: string, body: ArrayBuffer, count: number): NpyArray['values'] {
  switch (kind) {
    case '<f4':
      return new Float32Array(body, 0, count);
    case '<f2':
      return fromHalves(new Uint16Array(body, 0, count));
    case '|i1':
      return new Int8Array(body, 0, count);
    case '<i4':
      return new Int32Array(body, 0, count);
    default:
      throw new Error(`${path}: unsupported element type ${kind}`);
  }
}

function fromHalves(halves: Uint16Array): Float32Array {
  const known = Float32Array.from({ length: 65_536 }, (_, half) => fromHalf(half));
  const floats = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) floats[i] = known[halves[i] as number] as number;
  return floats;
}

/** An IEEE 754 half: sign 1, exponent 5 (bias 15), fraction 10. */
function fromHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}
