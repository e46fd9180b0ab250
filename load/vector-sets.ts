// The vectors that loads are run on: real ones from the data folder beside the project, where it is there, and seeded ones.
// Used by the programs that measure the kernel itself, without a server.
import { existsSync } from 'node:fs';
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
  return { name: 'minilm-windows-60k', rows: readRows(`${WINDOWS}/vectors.npy`, rowsMax), queries: readRows(`${WINDOWS}/queries.npy`) };
}

/** 384-d vectors of 1,398 documents; the last 198 are kept out as queries. */
export function cranfield(): VectorSet | undefined {
  if (!existsSync(CRANFIELD)) return undefined;
  const all = readRows(CRANFIELD);
  return { name: 'cranfield-minilm-384d', rows: all.slice(0, -198), queries: all.slice(-198) };
}

/** What the server makes of the Cranfield collection: chunks of the default size by the built-in embedder, 512-d; real queries. */
export function cranfieldChunks(): VectorSet | undefined {
  if (!hasCranfield()) return undefined;
  const chunking = { strategy: 'fixed', size: CHUNK_SIZE_DEFAULT, overlap: CHUNK_OVERLAP_DEFAULT } as const;
  const chunks = readCranfieldDocuments().flatMap(({ text }) => chunkText(text, chunking).map((chunk) => chunk.text));
  return { name: 'cranfield chunks, built-in embedder', rows: embedAll(chunks), queries: embedAll(readCranfieldQueries()) };
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
