// Judged collections in a server: ingests their documents over HTTP and ranks them for their questions.
import type { Chunking } from '../../src/api/collections.js';
import type { SearchBody } from '../../src/api/search.js';
import { SheafClient } from '../../src/client/client.js';
import { endpointSettings, startEmbeddingsEndpoint, withServer } from './server.js';
import type { JudgedDocument } from './text-sets.js';
import type { CachedEmbedder } from './embedders.js';

const TENANT = 'load';
const CLIENTS = 4;
const MODEL_DIM = 384;

export const SEARCH_MODES: Readonly<Record<string, Omit<SearchBody, 'q'>>> = {
  'words alone': { mode: 'hybrid', fusion: { method: 'score', weights: { vector: 0, lexical: 1 } } },
  vector: { mode: 'vector' },
  boost: { mode: 'boost' },
  hybrid: { mode: 'hybrid' },
  'hybrid of scores': { mode: 'hybrid', fusion: { method: 'score' } },
};

export const passageOf = ({ title, text }: JudgedDocument): string => `${title} ${text}`;

/** Ingests each document, as one chunk unless another chunking is given. */
export async function ingestJudged(
  client: SheafClient,
  collection: string,
  documents: readonly JudgedDocument[],
  chunking: Chunking = { strategy: 'none' },
): Promise<void> {
  await client.createCollection(TENANT, collection, { chunking });
  const items = documents
    .map((document) => ({ docid: document._id, text: passageOf(document).slice(0, 32_768) }))
    .filter(({ text }) => text.trim() !== '');
  for await (const result of client.ingestStream(TENANT, collection, items))
    if (!result.ok) throw new Error(`${result.code}: ${result.error}`);
}

/** Ranked document ids for each search. */
export async function rankingsOf(
  client: SheafClient,
  collection: string,
  searches: readonly SearchBody[],
): Promise<string[][]> {
  const found: string[][] = [];
  const waiting = searches.entries();
  const ask = async (): Promise<void> => {
    for (const [i, search] of waiting) {
      const { matches } = await client.search(TENANT, collection, search);
      found[i] = matches.map(({ meta }) => meta.docid as string);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, ask));
  return found;
}

/** Runs `work` with a server that uses the built-in embedder, or the model of `cached`, which is closed afterwards. */
export async function withEmbedder<T>(
  cached: CachedEmbedder | undefined,
  work: (client: SheafClient) => Promise<T>,
): Promise<T> {
  if (!cached) return withServer(undefined, (url) => work(new SheafClient({ url })));
  const endpoint = await startEmbeddingsEndpoint((texts) => cached.vectorsOf(texts));
  try {
    const settings = endpointSettings(endpoint, cached.name, MODEL_DIM);
    return await withServer(undefined, (url) => work(new SheafClient({ url })), settings);
  } finally {
    endpoint.close();
    await cached.close();
  }
}
