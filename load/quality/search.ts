// Answer quality on the judged collections of ../shared/data, with whole documents, title and text joined by a space:
// searches over HTTP in each mode, and embedders by exact cosine.
import { ndcgOf, recallOf } from '../../src/ranking/evaluation.js';
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import type { SheafClient } from '../../src/client/client.js';
import { chooser, type LoadOptions, printOrigin, printTable } from '../kit/command.js';
import { EMBEDDERS, CachedEmbedder, cacheRows, type LoadEmbedder, startEmbedder } from '../kit/embedders.js';
import { ingestJudged, passageOf, rankingsOf, SEARCH_MODES, withEmbedder } from '../kit/judged-searches.js';
import {
  dataFolder,
  JUDGED_COLLECTIONS,
  type JudgedDocument,
  type JudgedQuery,
  meanNdcg,
  readJudged,
} from '../kit/text-sets.js';

/** Embedders of the measured server. */
const SEARCH_EMBEDDERS = ['builtin', 'minilm'];

/** nDCG@10 of external references, in the order of JUDGED_COLLECTIONS. */
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

interface Judged {
  name: string;
  documents: JudgedDocument[];
  queries: JudgedQuery[];
}

/**
 * nDCG@10 and recall@100 of each mode with the built-in embedder and the shared model, compared with external
 * references (bm25s; exact cosine; fusion by ranks and by scores at depth 100). Vectors cached by `quality embedders`
 * come from a local endpoint.
 */
export async function search({ tiny, names }: LoadOptions): Promise<void> {
  const chosen = chooser(names, JUDGED_COLLECTIONS, SEARCH_EMBEDDERS);
  const judged = chosen(JUDGED_COLLECTIONS).flatMap((name): Judged[] => {
    const folder = dataFolder(name);
    return folder ? [{ name, ...readJudged(folder, tiny ? 60 : Infinity, tiny ? 5 : Infinity) }] : [];
  });
  for (const embedder of judged.length > 0 ? chosen(SEARCH_EMBEDDERS) : []) {
    if (embedder !== 'builtin' && !dataFolder('model-minilm-l6')) continue;
    const cached = embedder === 'builtin' ? undefined : cachedFor(embedder, judged);
    const rows = await withEmbedder(cached, async (client) => {
      const all: string[][] = [];
      for (const one of judged) all.push(...(await rowsOf(client, embedder, one, tiny)));
      return all;
    });
    printTable(`retrieval with ${embedder}${tiny ? ', of samples: no quality figures' : ''}`, [
      ['collection', 'embedder', 'mode', 'nDCG@10', 'reference', 'recall@100'],
      ...rows,
    ]);
    if (cached && cached.missed > 0)
      console.log(
        `  ${cached.missed} texts had to be embedded: node dist/load/main.js quality embedders caches their vectors`,
      );
  }
}

function cachedFor(embedder: string, judged: readonly Judged[]): CachedEmbedder {
  const cached = new CachedEmbedder(embedder);
  for (const { documents, queries } of judged)
    for (const texts of [documents.map(passageOf), queries.map(({ text }) => text)]) cached.load(texts);
  return cached;
}

async function rowsOf(client: SheafClient, embedder: string, judged: Judged, tiny: boolean): Promise<string[][]> {
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
    const reference = tiny ? undefined : REFERENCES[embedder]?.[mode]?.[JUDGED_COLLECTIONS.indexOf(judged.name)];
    rows.push([judged.name, embedder, mode, ndcg.toFixed(4), reference?.toFixed(3) ?? '', recall.toFixed(4)]);
  }
  return rows;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Published nDCG@10. */
const PUBLISHED: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  builtin: { cranfield: 0.46, scifact: 0.538, 'npl-vaswani': 0.325 },
  minilm: { cranfield: 0.5056, scifact: 0.6451, 'npl-vaswani': 0.4335 },
  'minilm-int8': { cranfield: 0.5036, scifact: 0.647, 'npl-vaswani': 0.432 },
};

/**
 * nDCG@10 of the built-in embedder and of the shared model in float32 and int8, compared with published figures: exact
 * cosine, linear gains. The model takes an hour or more for all three collections; its vectors are cached.
 */
export async function embedders({ tiny, names }: LoadOptions): Promise<void> {
  const chosen = chooser(names, JUDGED_COLLECTIONS, EMBEDDERS);
  for (const name of chosen(EMBEDDERS)) {
    const embedder = await startEmbedder(name, availableParallelism());
    for (const collection of embedder ? chosen(JUDGED_COLLECTIONS) : []) {
      const folder = dataFolder(collection);
      if (folder)
        console.log(
          `${name}, ${collection}: ${await qualityOf(name, embedder!, folder, tiny)}${tiny ? '' : `, published ${PUBLISHED[name]![collection]}`}`,
        );
    }
    await embedder?.close();
  }
  printOrigin();
}

async function qualityOf(name: string, embedder: LoadEmbedder, folder: string, tiny: boolean): Promise<string> {
  const { documents, queries } = readJudged(folder, tiny ? 60 : Infinity, tiny ? 10 : Infinity);
  const startedAtMs = performance.now();
  const progress = (done: number): void => {
    if (process.stderr.isTTY)
      process.stderr.write(`\r${basename(folder)}: ${done} of ${documents.length} documents\x1b[K`);
  };
  const passages = documents.map(({ title, text }) => `${title} ${text}`);
  const documentRows = cacheRows(name, passages, await embedder.passages(passages, progress));
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  const questions = queries.map(({ text }) => text);
  const ndcg = meanNdcg(
    documents,
    documentRows,
    queries,
    cacheRows(name, questions, await embedder.queries(questions)),
  );
  return `nDCG@10 ${ndcg.toFixed(4)} (${documents.length} documents, ${queries.length} queries, ${((performance.now() - startedAtMs) / 1000).toFixed(0)} s)`;
}
