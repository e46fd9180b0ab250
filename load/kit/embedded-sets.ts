// Vector sets made from the judged collections by the shared model or the built-in embedder: other texts, lengths and
// spectra than minilm-windows-60k, each with ten thousand real queries. Slow embeddings are cached in the temporary
// folder.
import { availableParallelism } from 'node:os';
import { cranfieldChunks, glove, mnist, sift, type VectorSet } from './vector-sets.js';
import { dataFolder, readJudged } from './text-sets.js';
import { cacheRows, cachedRows, startEmbedder } from './embedders.js';

const QUERIES = 10_000;
/** Number of words at the beginning of a text that become a query; like the title, they are left out of the rows. */
const KEPT_OUT = 10;

interface Recipe {
  readonly embedder: string;
  readonly collections: readonly string[];
  /** Words of a window, and words from the beginning of a window to that of the next. */
  readonly words: number;
  readonly stride: number;
  /**
   * Collections whose titles and beginnings become queries: the set's own, or others for out-of-distribution queries.
   */
  readonly asked: readonly string[];
}

const ABSTRACTS = { collections: ['npl-vaswani', 'cranfield'], words: 16, stride: 12 };
const PASSAGES = { collections: ['scifact'], words: 48, stride: 20 };
const MODEL = 'minilm-int8';

const RECIPES: Readonly<Record<string, Recipe>> = {
  /** Used for tuning. */
  abstracts: { ...ABSTRACTS, embedder: MODEL, asked: ABSTRACTS.collections },
  'abstracts-far': { ...ABSTRACTS, embedder: MODEL, asked: PASSAGES.collections },
  /** Held out: nothing is tuned on it. */
  passages: { ...PASSAGES, embedder: MODEL, asked: PASSAGES.collections },
  'passages-far': { ...PASSAGES, embedder: MODEL, asked: ABSTRACTS.collections },
  'passages-builtin': { ...PASSAGES, embedder: 'builtin', asked: PASSAGES.collections },
};

/** Real vector sets: those above and sets of other sources; each is undefined if its data is absent. */
export const REAL_SETS: Readonly<Record<string, () => VectorSet | undefined | Promise<VectorSet | undefined>>> = {
  chunks: cranfieldChunks,
  glove,
  sift,
  mnist,
  ...Object.fromEntries(Object.entries(RECIPES).map(([name, recipe]) => [name, () => embedded(name, recipe)])),
};

async function embedded(name: string, recipe: Recipe): Promise<VectorSet | undefined> {
  const { collections, asked, embedder } = recipe;
  if ([...collections, ...asked].some((collection) => !dataFolder(collection))) return undefined;
  const judged = (collection: string) => readJudged(dataFolder(collection)!, Infinity, Infinity);
  const windows = new Map<string, boolean>();
  for (const { title = '', text } of collections.flatMap((collection) => judged(collection).documents)) {
    const keptOut = wordsOf(title).length + KEPT_OUT;
    for (const { start, window } of windowsOf(`${title} ${text}`, recipe))
      windows.set(window, (windows.get(window) ?? true) && start >= keptOut);
  }
  const questions = collections.flatMap((collection) => judged(collection).queries.map(({ text }) => text));
  const beginnings = asked.flatMap((collection) =>
    judged(collection).documents.flatMap(({ title, text }) => [
      ...(title ? [title] : []),
      wordsOf(text).slice(0, KEPT_OUT).join(' '),
    ]),
  );
  const texts = [...new Set([...questions, ...spread(beginnings, QUERIES)])].filter(Boolean).slice(0, QUERIES);
  const vectors = await vectorsOf(embedder, [...windows.keys()]);
  const queries = vectors && (await vectorsOf(embedder, texts));
  if (!queries) return undefined;
  const isRow = [...windows.values()];
  return { name, rows: vectors.filter((_, i) => isRow[i]), queries };
}

const wordsOf = (text: string): string[] => text.trim().split(/\s+/).filter(Boolean);

function windowsOf(text: string, { words, stride }: Recipe): { start: number; window: string }[] {
  const all = wordsOf(text);
  return Array.from({ length: Math.max(1, Math.ceil((all.length - words) / stride) + 1) }, (_, i) => ({
    start: i * stride,
    window: all.slice(i * stride, i * stride + words).join(' '),
  })).filter(({ window }) => window.length > 0);
}

/** `count` of all items, evenly spread from the first to the last. */
const spread = (all: readonly string[], count: number): string[] =>
  all.length <= count ? [...all] : Array.from({ length: count }, (_, i) => all[Math.floor((i * all.length) / count)]!);

async function vectorsOf(name: string, texts: readonly string[]): Promise<Float32Array[] | undefined> {
  const cached = cachedRows(name, texts);
  if (cached) return cached;
  const embedder = await startEmbedder(name, availableParallelism());
  if (!embedder) return undefined;
  console.error(`embedding ${texts.length} texts by ${name}`);
  const rows = cacheRows(name, texts, await embedder.passages(texts));
  await embedder.close();
  return rows;
}
