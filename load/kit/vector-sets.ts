// The vectors that loads are run on: real ones from the data folder beside the project, where it is there, and seeded
// ones. Used by the programs that measure the kernel itself, without a server.
import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { createPrng, type Prng } from '../src/base/prng.js';
import { CHUNK_OVERLAP_DEFAULT, CHUNK_SIZE_DEFAULT } from '../src/contract/limits.js';
import { chunkText } from '../src/text/chunk.js';
import { loadBuiltinEmbedder } from '../workers/embed/builtin/builtin-embedder.js';
import { hasCranfield, readCranfieldDocuments, readCranfieldQueries } from './kit/cranfield.js';
import { readRows } from './npy.js';

export interface VectorSet {
  readonly name: string;
  readonly rows: readonly Float32Array[];
  readonly queries: readonly Float32Array[];
}

const WINDOWS = '../shared/data/minilm-windows-60k';
const CRANFIELD = '../shared/data/cranfield-minilm-384d/doc_vectors.npy';

/** 384-d vectors of real text windows with real queries; undefined where the data is not there. */
export function windows(rowsMax: number): VectorSet | undefined {
  if (!existsSync(WINDOWS)) return undefined;
  return {
    name: 'minilm-windows-60k',
    rows: readRows(`${WINDOWS}/vectors.npy`, rowsMax),
    queries: readRows(`${WINDOWS}/queries.npy`),
  };
}

/** 384-d vectors of 1,398 documents; the last 198 are kept out as queries. */
export function cranfield(): VectorSet | undefined {
  if (!existsSync(CRANFIELD)) return undefined;
  const all = readRows(CRANFIELD);
  return { name: 'cranfield-minilm-384d', rows: all.slice(0, -198), queries: all.slice(-198) };
}

const GLOVE = '../shared/data/glove-10k-50d/vectors.npy';
const SIFT = '../shared/data/siftsmall';
const MNIST = '../shared/data/mnist-t10k/t10k-images-idx3-ubyte.gz';
const MNIST_PIXELS = 784;
/** Of sets that come without queries, so many of the last rows are kept out as such. */
const KEPT_OUT = 200;

/** 50-d vectors of words: a flat spectrum. */
export function glove(): VectorSet | undefined {
  if (!existsSync(GLOVE)) return undefined;
  const all = readRows(GLOVE);
  return { name: 'glove-10k-50d', rows: all.slice(0, -KEPT_OUT), queries: all.slice(-KEPT_OUT) };
}

/**
 * 128-d descriptors of pictures, whole numbers; its queries. Ranked by cosine here, so its own truth does not count.
 */
export function sift(): VectorSet | undefined {
  if (!existsSync(SIFT)) return undefined;
  return {
    name: 'siftsmall',
    rows: readFvecs(`${SIFT}/siftsmall_base.fvecs`),
    queries: readFvecs(`${SIFT}/siftsmall_query.fvecs`),
  };
}

/** 784 pixels of handwritten digits. */
export function mnist(): VectorSet | undefined {
  if (!existsSync(MNIST)) return undefined;
  const pixels = gunzipSync(readFileSync(MNIST)).subarray(16);
  const all = Array.from({ length: pixels.length / MNIST_PIXELS }, (_, i) =>
    Float32Array.from(pixels.subarray(i * MNIST_PIXELS, (i + 1) * MNIST_PIXELS)),
  );
  return { name: 'mnist-t10k', rows: all.slice(0, -KEPT_OUT), queries: all.slice(-KEPT_OUT) };
}

/** Each row behind its length, little-endian. */
function readFvecs(path: string): Float32Array[] {
  const bytes = readFileSync(path);
  const dim = bytes.readInt32LE(0);
  return Array.from({ length: bytes.length / (4 + 4 * dim) }, (_, row) =>
    Float32Array.from({ length: dim }, (_, i) => bytes.readFloatLE((row * (dim + 1) + 1 + i) * 4)),
  );
}

/**
 * What the server makes of the Cranfield collection: chunks of the default size by the built-in embedder, 512-d; real
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
  const { dim, embed } = loadBuiltinEmbedder();
  const vectors = embed(texts);
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
