// `sheaf eval`: the quality of searches by judged queries, for settings side by side, and the fusion weights that fit
// them best. It only searches, so it runs beside other work of a server; its searches are logged like all others.
import { readFileSync } from 'node:fs';
import { createPrng } from '../base/prng.js';
import type { JudgedQuery as StoredQuery } from '../api/judgements.js';
import type { SearchBody } from '../api/search.js';
import { SheafError } from '../client/errors.js';
import { type Grades, bootstrapInterval, meanOf, ndcgOf, recallOf, reciprocalRankOf } from '../ranking/evaluation.js';
import { type Target, withInterrupt } from './command-line.js';
import { UsageError } from './errors.js';
import { type Output, count, line, table } from './output.js';
import { startProgress } from './progress.js';

export interface JudgedFiles {
  readonly queries: string;
  readonly judgements: string;
}

export interface EvaluationOptions {
  /** Two files, or the name of a judgement set of the collection. */
  readonly judged: JudgedFiles | string;
  /** Settings by name: the fields of a search body beside the text. */
  readonly settings: Readonly<Record<string, Setting>>;
  /** Hits of each search, and documents of which recall is the share. */
  readonly depth: number;
  readonly connections: number;
  readonly fit: boolean;
  readonly seed: number;
  readonly json: boolean;
}

export type Setting = Omit<SearchBody, 'q' | 'k'>;

export const DEPTH_DEFAULT = 100;

/** What is compared where no settings are given. */
export const SETTINGS_DEFAULT: Readonly<Record<string, Setting>> = {
  vector: { mode: 'vector' },
  boost: { mode: 'boost' },
  hybrid: { mode: 'hybrid' },
};

interface JudgedQuery {
  readonly text: string;
  /** By document id. */
  readonly grades: Grades<string>;
}

/** Measures of one query. */
interface Scores {
  readonly ndcg: number;
  readonly recall: number;
  readonly mrr: number;
}

const MEASURES = ['ndcg', 'recall', 'mrr'] as const;
type Measure = (typeof MEASURES)[number];

/** A mean over queries with its 95 % interval. */
interface Figure {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

interface Row extends Record<Measure, Figure> {
  readonly setting: string;
  /** The mean difference of nDCG@10 to the first setting, query by query; absent in the first row. */
  readonly difference?: Figure;
}

interface Fitted {
  readonly setting: Setting;
  /** Queries that chose the weights, and queries that tested them. */
  readonly trainQueries: number;
  readonly testQueries: number;
  readonly train: number;
  readonly test: Figure;
  /** nDCG@10 of mode hybrid with its own weights on the same test queries, and the difference to it. */
  readonly unfitted: Figure;
  readonly difference: Figure;
}

/** Prints the figures. Throws UsageError for files and settings that cannot be used. */
export async function evaluate(target: Target, options: EvaluationOptions, output: Output): Promise<void> {
  const queries = await judgedQueries(target, options.judged);
  const settings = Object.entries(options.settings);
  const [train, test] = halvesOf(queries, options);
  const total = queries.length * settings.length + train.length * FITTED.length + 2 * test.length;
  const progress = startProgress(output.stderr, total, 'search');
  let done = 0;
  const run = (setting: Setting, of: readonly JudgedQuery[]): Promise<Scores[]> =>
    withInterrupt((signal) =>
      scoresOf(target, { setting, queries: of, options, signal, searched: () => progress.update(++done) }),
    );
  const all: Scores[][] = [];
  let fit: Fitted | undefined;
  try {
    for (const [, setting] of settings) all.push(await run(setting, queries));
    if (options.fit) fit = await fitWeights(train, test, run, options.seed);
  } finally {
    progress.stop();
  }
  const rows = settings.map(([setting], i) => rowOf(setting, all[i] as Scores[], i > 0 ? all[0] : undefined, options));
  if (options.json)
    return line(output.stdout, JSON.stringify({ queries: queries.length, settings: rows, fitted: fit }, null, 2));
  line(output.stdout, shown(queries.length, rows, options.depth));
  if (fit) line(output.stdout, `\n${shownFit(fit)}`);
}

interface Run {
  readonly setting: Setting;
  readonly queries: readonly JudgedQuery[];
  readonly options: EvaluationOptions;
  readonly signal: AbortSignal;
  searched(): void;
}

/** The scores of each query, in order. */
async function scoresOf({ client, tenant, collection }: Target, run: Run): Promise<Scores[]> {
  const { setting, queries, options, signal, searched } = run;
  const found: Scores[] = [];
  const waiting = queries.entries();
  const ask = async (): Promise<void> => {
    for (const [i, { text, grades }] of waiting) {
      const body = { ...setting, q: text, k: options.depth, with_text: false };
      const { matches } = await client.search(tenant, collection, body, { signal });
      const ranking = [...new Set(matches.map(({ id, meta }) => (meta.docid as string | undefined) ?? id))];
      found[i] = {
        ndcg: ndcgOf(ranking, grades),
        recall: recallOf(ranking, grades),
        mrr: reciprocalRankOf(ranking, grades),
      };
      searched();
    }
  };
  try {
    await Promise.all(Array.from({ length: options.connections }, ask));
  } catch (error) {
    if (error instanceof SheafError && error.status === 422)
      throw new UsageError(`The setting ${JSON.stringify(setting)} is refused: ${error.message}`);
    throw error;
  }
  return found;
}

function figureOf(values: readonly number[], seed: number): Figure {
  const [low, high] = bootstrapInterval(values, seed);
  return { mean: meanOf(values), low, high };
}

function rowOf(
  setting: string,
  scores: readonly Scores[],
  first: readonly Scores[] | undefined,
  { seed }: EvaluationOptions,
): Row {
  const figure = (measure: Measure): Figure =>
    figureOf(
      scores.map((one) => one[measure]),
      seed,
    );
  return {
    setting,
    ndcg: figure('ndcg'),
    recall: figure('recall'),
    mrr: figure('mrr'),
    ...(first && { difference: differenceOf(scores, first, seed) }),
  };
}

const differenceOf = (scores: readonly Scores[], others: readonly Scores[], seed: number): Figure =>
  figureOf(
    scores.map(({ ndcg }, i) => ndcg - (others[i] as Scores).ndcg),
    seed,
  );

/** Weights of the vector ranking that are tried; the words have the rest. */
const WEIGHTS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
const FITTED: readonly Setting[] = (['rank', 'score'] as const).flatMap((method) =>
  WEIGHTS.map(
    (vector): Setting => ({
      mode: 'hybrid',
      fusion: { method, weights: { vector, lexical: Math.round((1 - vector) * 10) / 10 } },
    }),
  ),
);
const HYBRID: Setting = { mode: 'hybrid' };
/** Below this, what fits one half says nothing of the other. */
const FITTED_QUERIES_MIN = 20;

/** The queries that choose the weights and those that test them, a random half each; none if nothing is fitted. */
function halvesOf(queries: readonly JudgedQuery[], { fit, seed }: EvaluationOptions): [JudgedQuery[], JudgedQuery[]] {
  if (!fit) return [[], []];
  if (queries.length < FITTED_QUERIES_MIN)
    throw new UsageError(`--fit needs at least ${FITTED_QUERIES_MIN} judged queries: half of them test the weights.`);
  const shuffled = shuffle(queries, seed);
  const half = Math.ceil(shuffled.length / 2);
  return [shuffled.slice(0, half), shuffled.slice(half)];
}

/** Chooses the fusion by nDCG@10 on the queries of `train`, and measures it on those of `test`. */
async function fitWeights(
  train: readonly JudgedQuery[],
  test: readonly JudgedQuery[],
  run: (setting: Setting, of: readonly JudgedQuery[]) => Promise<Scores[]>,
  seed: number,
): Promise<Fitted> {
  let best: { setting: Setting; mean: number } | undefined;
  for (const setting of FITTED) {
    const mean = meanOf((await run(setting, train)).map(({ ndcg }) => ndcg));
    if (!best || mean > best.mean) best = { setting, mean };
  }
  const { setting, mean } = best as { setting: Setting; mean: number };
  const [fitted, unfitted] = [await run(setting, test), await run(HYBRID, test)];
  const ndcgs = (scores: readonly Scores[]): number[] => scores.map(({ ndcg }) => ndcg);
  return {
    setting,
    trainQueries: train.length,
    testQueries: test.length,
    train: mean,
    test: figureOf(ndcgs(fitted), seed),
    unfitted: figureOf(ndcgs(unfitted), seed),
    difference: differenceOf(fitted, unfitted, seed),
  };
}

/** Fisher and Yates. */
function shuffle<T>(items: readonly T[], seed: number): T[] {
  const shuffled = [...items];
  const prng = createPrng(seed);
  for (let i = shuffled.length - 1; i > 0; i--) {
    const other = prng.int(i + 1);
    [shuffled[i], shuffled[other]] = [shuffled[other] as T, shuffled[i] as T];
  }
  return shuffled;
}

const number = (value: number): string => value.toFixed(3);
const interval = ({ mean, low, high }: Figure): string => `${number(mean)} (${number(low)} to ${number(high)})`;

function shown(queries: number, rows: readonly Row[], depth: number): string {
  const head = ['setting', 'nDCG@10', `recall@${depth}`, 'MRR', 'difference of nDCG@10'];
  const cells = rows.map(({ setting, ndcg, recall, mrr, difference }) => [
    setting,
    interval(ndcg),
    number(recall.mean),
    number(mrr.mean),
    difference ? interval(difference) : '',
  ]);
  const note = `${count(queries, 'query')}; in brackets 95 % intervals by the bootstrap. Differences are to the first setting, query by query.`;
  return `${table(head, cells)}\n${note}`;
}

function shownFit({ setting, trainQueries, testQueries, train, test, unfitted, difference }: Fitted): string {
  const isBetter = difference.low > 0;
  return [
    `Fitted on ${count(trainQueries, 'query')} (nDCG@10 ${number(train)}): ${JSON.stringify(setting.fusion)}`,
    `Tested on ${count(testQueries, 'query')}: ${interval(test)}; mode hybrid as it is: ${interval(unfitted)}; difference ${interval(difference)}`,
    isBetter
      ? 'The fitted weights are better on queries that did not choose them.'
      : 'That is no sure improvement: keep the weights as they are, or judge more queries.',
  ].join('\n');
}

// Files: queries as JSON lines {_id or id, text}, and judgements as tab-separated columns, with or without a header:
// query, document, grade (BEIR), or query, 0, document, grade (TREC).

async function judgedQueries(
  { client, tenant, collection }: Target,
  judged: JudgedFiles | string,
): Promise<JudgedQuery[]> {
  const { queries } =
    typeof judged === 'string'
      ? await client.getJudgements(tenant, collection, judged)
      : { queries: readJudged(judged) };
  return queries.map(({ text, judgements }) => ({ text, grades: new Map(Object.entries(judgements)) }));
}

/** The judged queries of two files. Throws UsageError for files that cannot be used. */
export function readJudged({ queries: queriesFile, judgements }: JudgedFiles): StoredQuery[] {
  const grades = readJudgements(judgements);
  const queries: StoredQuery[] = [];
  for (const [n, text] of linesOf(queriesFile)) {
    const query = jsonOf(text) as { _id?: unknown; id?: unknown; text?: unknown } | undefined;
    const id = query?._id ?? query?.id;
    if (typeof query?.text !== 'string' || (typeof id !== 'string' && typeof id !== 'number'))
      throw new UsageError(`${queriesFile}, line ${n}: should be JSON with "_id" and "text".`);
    const judged = grades.get(String(id));
    if (judged && query.text.trim() !== '')
      queries.push({ id: String(id), text: query.text, judgements: Object.fromEntries(judged) });
  }
  if (queries.length === 0)
    throw new UsageError(`No query of ${queriesFile} has a judgement in ${judgements}: compare the ids of both.`);
  return queries;
}

function readJudgements(file: string): Map<string, Map<string, number>> {
  const grades = new Map<string, Map<string, number>>();
  for (const [n, text] of linesOf(file)) {
    const columns = text.split(text.includes('\t') ? '\t' : / +/);
    const [query = '', , third = ''] = columns;
    const [docid = '', grade] = columns.length >= 4 ? [third, Number(columns[3])] : [columns[1], Number(third)];
    if (n === 1 && Number.isNaN(grade)) continue;
    if (columns.length < 3 || Number.isNaN(grade))
      throw new UsageError(`${file}, line ${n}: should be query, document and grade, with tabs between.`);
    const ofQuery = grades.get(query) ?? new Map<string, number>();
    grades.set(query, ofQuery.set(docid, grade));
  }
  return grades;
}

function linesOf(file: string): [number, string][] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  return text
    .split('\n')
    .map((one, i): [number, string] => [i + 1, one.trim()])
    .filter(([, one]) => one !== '');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A setting of the command line: NAME={"mode":"hybrid"}. Throws UsageError. */
export function settingOf(word: string): [string, Setting] {
  const at = word.indexOf('=');
  const setting = jsonOf(word.slice(at + 1));
  if (at < 1 || typeof setting !== 'object' || setting === null || Array.isArray(setting))
    throw new UsageError(
      `--setting ${word} should be a name, = and the fields of a search, as words={"mode":"hybrid"}.`,
    );
  return [word.slice(0, at), setting as Setting];
}
