// How good searches are over HTTP: nDCG@10 and recall@100 of each mode on the judged collections of ../shared/data,
// whole documents, title and text joined by a space, with the built-in embedder and with the shared model, beside
// references measured elsewhere (bm25s; exact cosine; fused by ranks and by scores at depth 100). Vectors that
// load/embed-quality.ts has kept come from a local endpoint. node dist/load/retrieval-quality.js [--tiny] [COLLECTION
// …] [EMBEDDER …]: all where none is named. --tiny takes samples.
import type { SearchBody } from '../src/contract/api/search.js';
import { SheafClient } from '../src/client/client.js';
import { readChoices } from './kit/arguments.js';
import { dataFolder } from './kit/data.js';
import { endpointSettings, startEmbeddingsEndpoint } from './kit/embeddings-endpoint.js';
import { ndcgOf, readJudged, recallOf, type JudgedDocument, type JudgedQuery } from './kit/judged.js';
import { KeptEmbedder } from './kit/kept-embedder.js';
import { printTable } from './kit/report.js';
import { withServer, type Settings } from './kit/server.js';

const COLLECTIONS = ['cranfield', 'scifact', 'npl-vaswani'];
const EMBEDDERS = ['builtin', 'minilm'];
const MODEL_DIM = 384;
const TENANT = 'load';
const CLIENTS = 4;

const MODES: Readonly<Record<string, Omit<SearchBody, 'q'>>> = {
  'words alone': { mode: 'hybrid', fusion: { method: 'score', weights: { vector: 0, lexical: 1 } } },
  vector: { mode: 'vector' },
  boost: { mode: 'boost' },
  hybrid: { mode: 'hybrid' },
  'hybrid of scores': { mode: 'hybrid', fusion: { method: 'score' } },
};

/** nDCG@10 in the order of COLLECTIONS. */
const REFERENCES: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>> = {
  builtin: {
    'words alone': [0.528, 0.679, 0.436],
    vector: [0.46, 0.538, 0.325],
    'hybrid of scores': [0.54, 0.69, 0.443],
  },
  minilm: {
    'words alone': [0.528, 0.679, 0.436],
    vector: [0.506, 0.645, 0.434],
    hybrid: [0.559, 0.715, 0.489],
    'hybrid of scores': [0.573, 0.738, 0.499],
  },
};

const { tiny, chosen } = readChoices(COLLECTIONS, EMBEDDERS);

interface Judged {
  name: string;
  documents: JudgedDocument[];
  queries: JudgedQuery[];
}

const passageOf = ({ title, text }: JudgedDocument): string => `${title} ${text}`;

async function ingest(client: SheafClient, { name, documents }: Judged): Promise<void> {
  await client.createCollection(TENANT, name, { chunking: { strategy: 'none' } });
  const items = documents
    .map((document) => ({ docid: document._id, text: passageOf(document).slice(0, 32_768) }))
    .filter(({ text }) => text.trim() !== '');
  for await (const result of client.ingestStream(TENANT, name, items))
    if (!result.ok) throw new Error(`${result.code}: ${result.error}`);
}

/** Document ids of the k best for each query. */
async function rankings(
  client: SheafClient,
  { name, queries }: Judged,
  body: Omit<SearchBody, 'q'>,
  k: number,
): Promise<string[][]> {
  const found: string[][] = [];
  const waiting = queries.entries();
  const ask = async (): Promise<void> => {
    for (const [i, { text }] of waiting) {
      const { matches } = await client.search(TENANT, name, { ...body, q: text, k });
      found[i] = matches.map(({ meta }) => meta.docid as string);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, ask));
  return found;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

async function rowsOf(client: SheafClient, embedder: string, judged: Judged): Promise<string[][]> {
  await ingest(client, judged);
  const rows: string[][] = [];
  for (const [mode, body] of Object.entries(MODES)) {
    const [ten, hundred] = [await rankings(client, judged, body, 10), await rankings(client, judged, body, 100)];
    const ndcg = mean(ten.map((ids, i) => ndcgOf(ids, judged.queries[i]!.grades)));
    const recall = mean(hundred.map((ids, i) => recallOf(ids, judged.queries[i]!.grades)));
    const reference = tiny ? undefined : REFERENCES[embedder]?.[mode]?.[COLLECTIONS.indexOf(judged.name)];
    rows.push([judged.name, embedder, mode, ndcg.toFixed(4), reference?.toFixed(3) ?? '', recall.toFixed(4)]);
  }
  return rows;
}

function readCollections(): Judged[] {
  return chosen(COLLECTIONS).flatMap((name) => {
    const folder = dataFolder(name);
    return folder ? [{ name, ...readJudged(folder, tiny ? 60 : Infinity, tiny ? 5 : Infinity) }] : [];
  });
}

async function measure(embedder: string, judged: readonly Judged[], settings: Settings): Promise<void> {
  const rows = await withServer(
    undefined,
    async (url) => {
      const client = new SheafClient({ url });
      const all: string[][] = [];
      for (const one of judged) all.push(...(await rowsOf(client, embedder, one)));
      return all;
    },
    settings,
  );
  printTable(`retrieval with ${embedder}${tiny ? ', of samples: no quality figures' : ''}`, [
    ['collection', 'embedder', 'mode', 'nDCG@10', 'reference', 'recall@100'],
    ...rows,
  ]);
}

async function measureModel(embedder: string, judged: readonly Judged[]): Promise<void> {
  const kept = new KeptEmbedder(embedder);
  for (const { documents, queries } of judged)
    for (const texts of [documents.map(passageOf), queries.map(({ text }) => text)]) kept.load(texts);
  const endpoint = await startEmbeddingsEndpoint((texts) => kept.vectorsOf(texts));
  await measure(embedder, judged, endpointSettings(endpoint, embedder, MODEL_DIM));
  if (kept.missed > 0)
    console.log(`  ${kept.missed} texts had to be embedded: node dist/load/embed-quality.js keeps their vectors`);
  endpoint.close();
  await kept.close();
}

const judged = readCollections();
for (const embedder of judged.length > 0 ? chosen(EMBEDDERS) : []) {
  if (embedder === 'builtin') await measure(embedder, judged, {});
  else if (dataFolder('model-minilm-l6')) await measureModel(embedder, judged);
}
