// The spaces of the torture program: the built-in one, one behind an endpoint of its own that takes its time, and that
// of given vectors. What the endpoint gives follows from the text, so a search there can be compared with brute force.
import { setTimeout as sleep } from 'node:timers/promises';
import { createPrng } from '../../../src/base/prng.js';
import { BUILTIN, identitySpace, spaceOf } from '../../../src/embedding/spaces.js';
import { startEmbeddingsEndpoint } from '../embeddings-endpoint.js';
import type { Settings } from '../server.js';
import { VECTOR_DIM } from './revision.js';

const FAR_DIM = 16;
const FAR_MODEL = 'far';
/** A text takes so long at most; a page of them keeps a job at work while it is killed. */
const TEXT_MS_MAX = 4;

export const NEAR = BUILTIN.space.vector_space_key;
export const FAR = spaceOf('openai', FAR_MODEL, { dim: FAR_DIM }).vector_space_key;
export const GIVEN = identitySpace(null, { dim: VECTOR_DIM }).vector_space_key;

/** Runs `work` with the settings of a server that has them all. */
export async function withSpaces<T>(seed: number, work: (settings: Settings) => Promise<T>): Promise<T> {
  const prng = createPrng(seed);
  const endpoint = await startEmbeddingsEndpoint(async (texts) => {
    await sleep(prng.int(1 + texts.length * TEXT_MS_MAX));
    return texts.map((text) => Float32Array.from(farVectorOf(text)));
  });
  try {
    const instance = { key: FAR_MODEL, type: 'openai', url: endpoint.url, model: FAR_MODEL, dim: FAR_DIM };
    return await work({ SHEAF_EMBEDDER__INSTANCES: JSON.stringify([instance]), SHEAF_EMBEDDER__DEFAULT: BUILTIN.key });
  } finally {
    endpoint.close();
  }
}

export function farVectorOf(text: string): number[] {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  const prng = createPrng(hash);
  return Array.from({ length: FAR_DIM }, () => Math.fround(prng.normal()));
}

/** The key of the other space that a collection of texts may be in. */
export const otherSpace = (space: string): string => (space === FAR ? NEAR : FAR);
