// nDCG@10 of embedders on three judged collections, beside the figures they were published with: exact cosine over
// whole documents, title and text joined by a space, gains linear. The built-in embedder, and the shared model in
// float32 and int8. node dist/load/embed-quality.js [--tiny] [COLLECTION …] [EMBEDDER …]: all of them where none is
// named; reads ../shared/data. The model takes an hour or more for all three collections. --tiny takes samples, whose
// figures are no quality figures.
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { printOrigin, readChoices } from './kit/command.js';
import { dataFolder, meanNdcg, readJudged } from './kit/text-sets.js';
import { EMBEDDERS, type LoadEmbedder, keepRows, startEmbedder } from './kit/embedders.js';

type Figures = Readonly<Record<string, number>>;

const COLLECTIONS = ['cranfield', 'scifact', 'npl-vaswani'];
const PUBLISHED: Readonly<Record<string, Figures>> = {
  builtin: { cranfield: 0.46, scifact: 0.538, 'npl-vaswani': 0.325 },
  minilm: { cranfield: 0.5056, scifact: 0.6451, 'npl-vaswani': 0.4335 },
  'minilm-int8': { cranfield: 0.5036, scifact: 0.647, 'npl-vaswani': 0.432 },
};

const { tiny, chosen } = readChoices(COLLECTIONS, EMBEDDERS);

async function measure(name: string, embedder: LoadEmbedder, folder: string): Promise<string> {
  const { documents, queries } = readJudged(folder, tiny ? 60 : Infinity, tiny ? 10 : Infinity);
  const startedAtMs = performance.now();
  const progress = (done: number): void => {
    if (process.stderr.isTTY)
      process.stderr.write(`\r${basename(folder)}: ${done} of ${documents.length} documents\x1b[K`);
  };
  const passages = documents.map(({ title, text }) => `${title} ${text}`);
  const documentRows = keepRows(name, passages, await embedder.passages(passages, progress));
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  const questions = queries.map(({ text }) => text);
  const ndcg = meanNdcg(documents, documentRows, queries, keepRows(name, questions, await embedder.queries(questions)));
  return `nDCG@10 ${ndcg.toFixed(4)} (${documents.length} documents, ${queries.length} queries, ${((performance.now() - startedAtMs) / 1000).toFixed(0)} s)`;
}

for (const name of chosen(EMBEDDERS)) {
  const embedder = await startEmbedder(name, availableParallelism());
  for (const collection of embedder ? chosen(COLLECTIONS) : []) {
    const folder = dataFolder(collection);
    if (folder)
      console.log(
        `${name}, ${collection}: ${await measure(name, embedder!, folder)}${tiny ? '' : `, published ${PUBLISHED[name]![collection]}`}`,
      );
  }
  await embedder?.close();
}
printOrigin();
