// Contents of a workload's collections, filling them, and its figures: documents per second and cost per document.
import { existsSync } from 'node:fs';
import { cpus } from 'node:os';
import { createPrng } from '../../src/base/prng.js';
import type { Chart } from '../kit/charts.js';
import { itemOf, postItems, vectorBase } from '../kit/fill.js';
import { JUDGED_COLLECTIONS, readJudged } from '../kit/text-sets.js';
import { VECTOR_DIM } from '../kit/vector-sets.js';
import { type Figure, type Part, type Table, told } from './report.js';
import { type CollectionName, type Spent, type Target, spending, tenantOf } from './target.js';
import type { Fill, Workload } from './workload.js';

const WORDS = 20_000;
const QUERIES = 500;

interface Source {
  readonly name: string;
  /** Embedder and dimensions of a collection for it. */
  readonly options: { embedder_type?: string; embedder_config?: { dim: number } };
  /** The document of a row as JSON. */
  item(row: number): string;
  docid(row: number): string;
  /** `"q":…` or `"v":…` of a search body; there are enough different ones that no cache has all answers. */
  query(n: number): string;
}

/**
 * Contents and queries of collections: real vectors and texts if the data is beside the project, else seeded ones. The
 * report of a workload names the source.
 */
export function sourceOf({ of, documents, dim = VECTOR_DIM }: Fill): Source {
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

/** Texts as documents. Beyond the number of texts they repeat in further documents. */
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
  const folders = JUDGED_COLLECTIONS.map((name) => `../shared/data/${name}`);
  if (!folders.every(existsSync)) return undefined;
  const read = folders.map((folder) => readJudged(folder, Infinity, Infinity));
  const texts = read
    .flatMap(({ documents }) => documents.map(({ title, text }) => `${title ?? ''}\n${text}`))
    .filter((text) => text.trim() !== '');
  return {
    name: JUDGED_COLLECTIONS.join(', '),
    texts,
    questions: read.flatMap(({ queries }) => queries.map(({ text }) => text)),
  };
}

/** Made-up words with frequencies as in a language: the nth word is about 1/n times as frequent as the first. */
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

const BATCHES = { vectors: 200, texts: 50 };

/** A collection of `fill`, or several with the same contents. */
export interface Filled {
  readonly fill: Fill;
  readonly source: Source;
  readonly collections: readonly CollectionName[];
  readonly seconds: number;
  /** Cost of one document; undefined where the server does not report it. */
  readonly spent: Spent | undefined;
}

function collectionsOf(workload: string, { name, tenant, collections = 1 }: Fill): CollectionName[] {
  return Array.from({ length: collections }, (_, i) => ({
    tenant: tenantOf(tenant),
    name: `${workload}-${name}${collections > 1 ? i + 1 : ''}`,
  }));
}

/** Fills a collection, replacing the data of an earlier run. */
export async function fillOne(target: Target, workload: string, fill: Fill): Promise<Filled> {
  const { documents } = fill;
  const source = sourceOf(fill);
  const collections = collectionsOf(workload, fill);
  for (const { tenant, name } of collections) {
    await target.client.deleteCollection(tenant, name).catch(() => undefined);
    await target.client.createCollection(tenant, name, source.options);
  }
  const { url, headers } = target;
  const { seconds, spent } = await spending(target, 'ingest', async () => {
    for (const collection of collections)
      await postItems({ url, headers, ...collection }, documents, BATCHES[fill.of], source.item);
  });
  return { fill, source, collections, seconds, spent };
}

/** Deletes all collections of the workload. Failures are ignored, because the next run replaces them. */
export async function dropAll(target: Target, { name: workload, fill }: Workload): Promise<void> {
  for (const { tenant, name } of fill.flatMap((one) => collectionsOf(workload, one)))
    await target.client.deleteCollection(tenant, name).catch(() => undefined);
}

/** The report of filling; `filled` has all collections of the workload. */
export function fillPart(filled: readonly Filled[]): Part {
  const rate = (one: Filled): number => stored(one) / one.seconds;
  const figures: Figure[] = filled.map((one) => ({
    name: `${one.fill.name}: documents filled`,
    value: rate(one),
    unit: '1/s',
    better: 'higher',
  }));
  const rows = filled.map((one) => {
    const { fill, source, seconds, spent } = one;
    const each = (ms: number | undefined): string => told(ms === undefined ? undefined : ms / stored(one));
    return [
      fill.name,
      source.name,
      told(stored(one)),
      told(seconds),
      told(rate(one)),
      each(spent?.serverCpuMs),
      each(spent?.loadCpuMs),
      told(cores(spent?.serverCpuMs, seconds)),
      told(spent && spent.serverMemoryBytes / 1e6),
    ];
  });
  const columns = [
    'collection',
    'of',
    'documents',
    'seconds',
    'documents/s',
    'server CPU ms each',
    'generator CPU ms each',
    'server cores',
    'server MB',
  ];
  return {
    figures,
    tables: [{ title: 'Filled', columns, rows }, ...phaseTables(filled)],
    charts: rateCharts(filled, rate),
  };
}

const stored = ({ fill, collections }: Filled): number => fill.documents * collections.length;

/** Mean number of busy cores; undefined if the server does not report it. */
export const cores = (cpuMs: number | undefined, seconds: number): number | undefined =>
  cpuMs === undefined ? undefined : Math.min(cpus().length, cpuMs / 1000 / seconds);

function phaseTables(filled: readonly Filled[]): Table[] {
  const phases = [...new Set(filled.flatMap(({ spent }) => spent?.phases.map(({ name }) => name) ?? []))];
  const rows = filled.map(({ fill, spent }) => [
    fill.name,
    told(spent?.count),
    told(spent?.httpMs),
    ...phases.map((phase) => told(spent?.phases.find(({ name }) => name === phase)?.meanMs)),
  ]);
  return phases.length === 0
    ? []
    : [
        {
          title:
            'Where the time of an ingest goes, in the server: means in ms of a batch, and of a part of one by phase',
          columns: ['collection', 'parts', 'whole request', ...phases],
          rows,
        },
      ];
}

function rateCharts(filled: readonly Filled[], rate: (one: Filled) => number): Chart[] {
  if (filled.length < 2) return [];
  return [
    {
      title: 'Documents filled a second',
      kind: 'bar',
      x: 'collection',
      y: 'documents/s',
      series: [{ name: 'documents/s', points: filled.map((one) => ({ x: one.fill.name, y: rate(one) })) }],
    },
  ];
}
