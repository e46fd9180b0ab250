// What collections are filled with, and what they are asked: real vectors and texts where the data lies beside the
// project, else seeded ones. A workload's report names which. Used by fill.ts.
import { existsSync } from 'node:fs';
import { createPrng } from '../../src/base/prng.js';
import { itemOf, vectorBase } from '../kit/filling.js';
import { readJudged } from '../kit/judged.js';
import type { Fill } from './workload.js';

const CORPORA = ['cranfield', 'scifact', 'npl-vaswani'];
const DIM = 384;
const WORDS = 20_000;
const QUERIES = 500;

export interface Source {
  readonly name: string;
  /** Embedder and dimension of a collection for it. */
  readonly options: { embedder_type?: string; embedder_config?: { dim: number } };
  /** The document of a row as JSON. */
  item(row: number): string;
  docid(row: number): string;
  /** `"q":…` or `"v":…` of a search body; there are so many different ones that no cache has all of an answer. */
  query(n: number): string;
}

export function sourceOf({ of, documents, dim = DIM }: Fill): Source {
  return of === 'vectors' ? vectorSource(documents, dim) : textSource(documents);
}

function vectorSource(documents: number, dim: number): Source {
  const { name, rows, queries } = vectorBase(documents, dim);
  const asked = queries.map((query) => `"v":[${Array.from(query, (value) => value.toPrecision(7)).join(',')}]`);
  return {
    name: `${dim}-d vectors: ${name}`,
    options: { embedder_type: 'identity', embedder_config: { dim } },
    item: (row) => itemOf(rows, row),
    docid: (row) => `V${row}`,
    query: (n) => asked[n % asked.length] as string,
  };
}

/** Beyond the texts there are they come again, in documents of their own. */
function textSource(documents: number): Source {
  const { name, texts, questions } = realTexts() ?? madeTexts(documents);
  return {
    name: `texts: ${name}`,
    options: {},
    item: (row) => JSON.stringify({ docid: `T${row}`, text: texts[row % texts.length] }),
    docid: (row) => `T${row}`,
    query: (n) => `"q":${JSON.stringify(questions[n % questions.length])}`,
  };
}

interface Texts {
  readonly name: string;
  readonly texts: readonly string[];
  readonly questions: readonly string[];
}

function realTexts(): Texts | undefined {
  const folders = CORPORA.map((name) => `../shared/data/${name}`);
  if (!folders.every(existsSync)) return undefined;
  const read = folders.map((folder) => readJudged(folder, Infinity, Infinity));
  const texts = read
    .flatMap(({ documents }) => documents.map(({ title, text }) => `${title ?? ''}\n${text}`))
    .filter((text) => text.trim() !== '');
  return { name: CORPORA.join(', '), texts, questions: read.flatMap(({ queries }) => queries.map(({ text }) => text)) };
}

/** Made-up words, as often as those of a language: the nth about 1/n times as often as the first. */
function madeTexts(count: number): Texts {
  const prng = createPrng(1);
  const syllable = (): string => 'bdfgklmnprstvz'.charAt(prng.int(14)) + 'aeiou'.charAt(prng.int(5));
  const words = Array.from({ length: WORDS }, () => Array.from({ length: 1 + prng.int(4) }, syllable).join(''));
  const text = (length: number): string =>
    Array.from({ length }, () => words[Math.floor(WORDS ** prng.next()) - 1]).join(' ');
  return {
    name: 'made-up words, seed 1',
    texts: Array.from({ length: Math.min(count, WORDS) }, () => text(30 + prng.int(150))),
    questions: Array.from({ length: QUERIES }, () => text(4 + prng.int(10))),
  };
}
