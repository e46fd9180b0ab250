// Vector sets for load programs: real ones from the data folder beside the project if present, and seeded ones.
import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { CHUNK_OVERLAP_DEFAULT, CHUNK_SIZE_DEFAULT } from '../../src/api/limits.js';
import { type Prng, createPrng } from '../../src/base/prng.js';
import { BuiltinEmbedder } from '../../src/embedding/builtin/embedder.js';
import { chunkText } from '../../src/text/chunking.js';
import { hasCranfield, readCranfieldDocuments, readCranfieldQueries } from './text-sets.js';

interface NpyArray {
  readonly shape: readonly number[];
  readonly values: Float32Array | Int8Array | Int32Array;
}

/**
 * Reads NumPy's .npy files (format 1.0 to 3.0: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html):
 * little-endian float16, float32, int8 and int32 in C order. Reads the first `rowsMax` rows; float16 becomes float32.
 * Throws an Error that names the file if it is invalid.
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

/** The first `rowsMax` rows of a matrix of floats, as views. */
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

/** Decodes an IEEE 754 half: sign 1, exponent 5 (bias 15), fraction 10. */
function fromHalf(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

export interface VectorSet {
  readonly name: string;
  readonly rows: readonly Float32Array[];
  readonly queries: readonly Float32Array[];
}

/** Dimensions of the real text vectors and of their substitutes. */
export const VECTOR_DIM = 384;
const WINDOWS = '../shared/data/minilm-windows-60k';
const CRANFIELD = '../shared/data/cranfield-minilm-384d/doc_vectors.npy';

/** 384-dimensional vectors of real text windows with real queries; undefined if the data is absent. */
export function windows(rowsMax: number): VectorSet | undefined {
  if (!existsSync(WINDOWS)) return undefined;
  return {
    name: 'minilm-windows-60k',
    rows: readRows(`${WINDOWS}/vectors.npy`, rowsMax),
    queries: readRows(`${WINDOWS}/queries.npy`),
  };
}

/** 384-dimensional vectors of 1,398 documents; the last 198 serve as queries. */
export function cranfield(): VectorSet | undefined {
  if (!existsSync(CRANFIELD)) return undefined;
  const all = readRows(CRANFIELD);
  return { name: 'cranfield-minilm-384d', rows: all.slice(0, -198), queries: all.slice(-198) };
}

const GLOVE = '../shared/data/glove-10k-50d/vectors.npy';
const SIFT = '../shared/data/siftsmall';
const MNIST = '../shared/data/mnist-t10k/t10k-images-idx3-ubyte.gz';
const MNIST_PIXELS = 784;
/** Sets that come without queries hold out this many of the last rows as queries. */
const KEPT_OUT = 200;

/** 50-dimensional word vectors with a flat spectrum. */
export function glove(): VectorSet | undefined {
  if (!existsSync(GLOVE)) return undefined;
  const all = readRows(GLOVE);
  return { name: 'glove-10k-50d', rows: all.slice(0, -KEPT_OUT), queries: all.slice(-KEPT_OUT) };
}

/**
 * 128-dimensional integer image descriptors with their queries. Ranked by cosine here, so the set's own truth does not
 * apply.
 */
export function sift(): VectorSet | undefined {
  if (!existsSync(SIFT)) return undefined;
  return {
    name: 'siftsmall',
    rows: readFvecs(`${SIFT}/siftsmall_base.fvecs`),
    queries: readFvecs(`${SIFT}/siftsmall_query.fvecs`),
  };
}

/** 784-dimensional images of handwritten digits. */
export function mnist(): VectorSet | undefined {
  if (!existsSync(MNIST)) return undefined;
  const pixels = gunzipSync(readFileSync(MNIST)).subarray(16);
  const all = Array.from({ length: pixels.length / MNIST_PIXELS }, (_, i) =>
    Float32Array.from(pixels.subarray(i * MNIST_PIXELS, (i + 1) * MNIST_PIXELS)),
  );
  return { name: 'mnist-t10k', rows: all.slice(0, -KEPT_OUT), queries: all.slice(-KEPT_OUT) };
}

/** Reads an .fvecs file: each row follows its length, little-endian. */
function readFvecs(path: string): Float32Array[] {
  const bytes = readFileSync(path);
  const dim = bytes.readInt32LE(0);
  return Array.from({ length: bytes.length / (4 + 4 * dim) }, (_, row) =>
    Float32Array.from({ length: dim }, (_, i) => bytes.readFloatLE((row * (dim + 1) + 1 + i) * 4)),
  );
}

/**
 * The Cranfield collection as the server stores it: chunks of the default size, built-in embedder, 512 dimensions, real
 * queries.
 */
export function cranfieldChunks(): VectorSet | undefined {
  if (!hasCranfield()) return undefined;
  const chunking = { strategy: 'fixed', size: CHUNK_SIZE_DEFAULT, overlap: CHUNK_OVERLAP_DEFAULT } as const;
  const chunks = readCranfieldDocuments().flatMap(({ text }) => chunkText(text, chunking).map((chunk) => chunk.text));
  return {
    name: 'cranfield chunks, built-in embedder',
    rows: embedAll(chunks),
    queries: embedAll(readCranfieldQueries()),
  };
}

function embedAll(texts: readonly string[]): Float32Array[] {
  const embedder = new BuiltinEmbedder();
  const { dim } = embedder;
  const vectors = embedder.vectorsOf(texts);
  return texts.map((_, i) => vectors.slice(i * dim, (i + 1) * dim));
}

/** Vectors around 40 centres, for machines without data. */
export function clustered(rows: number, dim: number, seed: number): VectorSet {
  const prng = createPrng(seed);
  const centres = vectors(prng, 40, dim);
  const noisy = (count: number): Float32Array[] =>
    vectors(prng, count, dim).map((noise) => {
      const centre = centres[prng.int(centres.length)] as Float32Array;
      return noise.map((value, i) => (centre[i] as number) + 0.7 * value);
    });
  return { name: `clustered, seed ${seed}`, rows: noisy(rows), queries: noisy(100) };
}

function vectors(prng: Prng, count: number, dim: number): Float32Array[] {
  return Array.from({ length: count }, () => Float32Array.from({ length: dim }, () => prng.normal()));
}

/** Length of the noise in a row that is made from a real one. */
const NOISE = 0.3;

/** More vectors than a set has: its own, and then the same again with noise. */
export function moreRows({ rows }: VectorSet, count: number): Float32Array[] {
  const prng = createPrng(1);
  return Array.from({ length: count }, (_, i) => {
    const row = rows[i % rows.length] as Float32Array;
    const scale = (NOISE * Math.hypot(...row)) / Math.sqrt(row.length);
    return i < rows.length ? row : row.map((value) => value + scale * prng.normal());
  });
}
