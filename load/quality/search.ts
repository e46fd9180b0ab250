// How good searches are over HTTP: nDCG@10 and recall@100 of each mode on the judged collections of ../shared/data,
// whole documents, title and text joined by a space, with the built-in embedder and with the shared model, beside
// references measured elsewhere (bm25s; exact cosine; fused by ranks and by scores at depth 100). Vectors that
// load/embed-quality.ts has kept come from a local endpoint. node dist/load/retrieval-quality.js [--tiny] [COLLECTION
// …] [EMBEDDER …]: all where none is named. --tiny takes samples.
import type { SheafClient } from '../../src/client/client.js';
import { printTable, readChoices } from '../kit/command.js';
import { type JudgedDocument, type JudgedQuery, dataFolder, ndcgOf, readJudged, recallOf } from '../kit/text-sets.js';
import { ingestJudged, passageOf, rankingsOf, SEARCH_MODES, withEmbedder } from '../kit/judged-searches.js';
import { KeptEmbedder } from '../kit/embedders.js';

const COLLECTIONS = ['cranfield', 'scifact', 'npl-vaswani'];
const EMBEDDERS = ['builtin', 'minilm'];

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

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

async function rowsOf(client: SheafClient, embedder: string, judged: Judged): Promise<string[][]> {
  await ingestJudged(client, judged.name, judged.documents);
  const rows: string[][] = [];
  for (const [mode, body] of Object.entries(SEARCH_MODES)) {
    const best = (k: number): Promise<string[][]> => {
      const searches = judged.queries.map(({ text }) => ({ ...body, q: text, k }));
      return rankingsOf(client, judged.name, searches);
    };
    const [ten, hundred] = [await best(10), await best(100)];
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

async function measure(embedder: string, judged: readonly Judged[], kept?: KeptEmbedder): Promise<void> {
  const rows = await withEmbedder(kept, async (client) => {
    const all: string[][] = [];
    for (const one of judged) all.push(...(await rowsOf(client, embedder, one)));
    return all;
  });
  printTable(`retrieval with ${embedder}${tiny ? ', of samples: no quality figures' : ''}`, [
    ['collection', 'embedder', 'mode', 'nDCG@10', 'reference', 'recall@100'],
    ...rows,
  ]);
}

async function measureModel(embedder: string, judged: readonly Judged[]): Promise<void> {
  const kept = new KeptEmbedder(embedder);
  for (const { documents, queries } of judged)
    for (const texts of [documents.map(passageOf), queries.map(({ text }) => text)]) kept.load(texts);
  await measure(embedder, judged, kept);
  if (kept.missed > 0)
    console.log(`  ${kept.missed} texts had to be embedded: node dist/load/embed-quality.js keeps their vectors`);
}

const judged = readCollections();
for (const embedder of judged.length > 0 ? chosen(EMBEDDERS) : []) {
  if (embedder === 'builtin') await measure(embedder, judged);
  else if (dataFolder('model-minilm-l6')) await measureModel(embedder, judged);
}
