// Evaluates ways to search side by side: measures of each judged query, their means with intervals, differences to the
// first way, and fusion weights that are fitted on one half of the queries and tested on the other. Asks for searches by
// a function, so the command line and the console share it. Reads no clock.
import type { JudgedQuery } from '../api/judgements.js';
import type { SearchBody } from '../api/search.js';
import { createPrng } from '../base/prng.js';
import { type Grades, bootstrapInterval, meanOf, ndcgOf, recallOf, reciprocalRankOf } from './evaluation.js';

/** The fields of a search beside its text and `k`, and the collection if it is another one. */
export interface Setting extends Omit<SearchBody, 'q' | 'k'> {
  collection?: string;
}

/** Searches with a setting, and answers the ids of the documents found, best first. */
type Ask = (setting: Setting, query: string) => Promise<readonly string[]>;

/** What is compared where no settings are given. */
export const SETTINGS_DEFAULT: Readonly<Record<string, Setting>> = {
  vector: { mode: 'vector' },
  boost: { mode: 'boost' },
  hybrid: { mode: 'hybrid' },
};

/** Hits of each search where no depth is given. */
export const DEPTH_DEFAULT = 100;
export const SEED_DEFAULT = 1;

/** Measures of one query. */
export interface Scores {
  readonly ndcg: number;
  readonly recall: number;
  readonly mrr: number;
}

type Measure = keyof Scores;

/** A mean over queries with its 95 % interval. */
export interface Figure {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

export interface Row extends Record<Measure, Figure> {
  readonly setting: string;
  /** The mean difference of nDCG@10 to the first setting, query by query; absent in the first row. */
  readonly difference?: Figure;
}

export interface Fitted {
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

/** Runs the searches of one evaluation. */
export interface Run {
  readonly ask: Ask;
  /** Searches that are under way at a time. */
  readonly connections: number;
  /** Called after each search. */
  searched(): unknown;
}

/** The scores of each query, in order. Rejects with the first error of `ask`. */
export async function scoresOf(run: Run, setting: Setting, queries: readonly JudgedQuery[]): Promise<Scores[]> {
  const found: Scores[] = [];
  const waiting = queries.entries();
  const work = async (): Promise<void> => {
    for (const [i, { text, judgements }] of waiting) {
      const ranking = [...new Set(await run.ask(setting, text))];
      const grades: Grades<string> = new Map(Object.entries(judgements));
      found[i] = {
        ndcg: ndcgOf(ranking, grades),
        recall: recallOf(ranking, grades),
        mrr: reciprocalRankOf(ranking, grades),
      };
      run.searched();
    }
  };
  await Promise.all(Array.from({ length: run.connections }, work));
  return found;
}

function figureOf(values: readonly number[], seed: number): Figure {
  const [low, high] = bootstrapInterval(values, seed);
  return { mean: meanOf(values), low, high };
}

/** The row of a setting. `first`: the scores of the first setting, if this is another one. */
export function rowOf(
  setting: string,
  scores: readonly Scores[],
  first: readonly Scores[] | undefined,
  seed: number,
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
const TRIED: readonly Setting[] = (['rank', 'score'] as const).flatMap((method) =>
  WEIGHTS.map(
    (vector): Setting => ({
      mode: 'hybrid',
      fusion: { method, weights: { vector, lexical: Math.round((1 - vector) * 10) / 10 } },
    }),
  ),
);
const HYBRID: Setting = { mode: 'hybrid' };
/** Below this, what fits one half says nothing of the other. */
export const FITTED_QUERIES_MIN = 20;

/** The queries that choose the weights and those that test them, a random half each. */
function halvesOf(queries: readonly JudgedQuery[], seed: number): [JudgedQuery[], JudgedQuery[]] {
  const shuffled = shuffle(queries, seed);
  const half = Math.ceil(shuffled.length / 2);
  return [shuffled.slice(0, half), shuffled.slice(half)];
}

/** The number of searches that `fitWeights` makes for so many queries. */
export function searchesToFit(queries: number): number {
  const half = Math.ceil(queries / 2);
  return half * TRIED.length + 2 * (queries - half);
}

/**
 * Chooses the fusion by nDCG@10 on a random half of the queries, and measures it on the others. The same seed gives the
 * same halves.
 */
export async function fitWeights(run: Run, queries: readonly JudgedQuery[], seed: number): Promise<Fitted> {
  const [train, test] = halvesOf(queries, seed);
  let best: { setting: Setting; mean: number } | undefined;
  for (const setting of TRIED) {
    const mean = meanOf((await scoresOf(run, setting, train)).map(({ ndcg }) => ndcg));
    if (!best || mean > best.mean) best = { setting, mean };
  }
  const { setting, mean } = best as { setting: Setting; mean: number };
  const [fitted, unfitted] = [await scoresOf(run, setting, test), await scoresOf(run, HYBRID, test)];
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

/** What fitted weights are worth, in a sentence. */
export const adviceOf = ({ difference }: Fitted): string =>
  difference.low > 0
    ? 'The fitted weights are better on queries that did not choose them.'
    : 'That is no sure improvement: keep the weights as they are, or judge more queries.';

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

/** A figure with three digits and its interval, as `0.712 (0.680 to 0.741)`. */
export const figureText = ({ mean, low, high }: Figure): string =>
  `${digits(mean)} (${digits(low)} to ${digits(high)})`;
export const digits = (value: number): string => value.toFixed(3);

// Files of judgements: queries as JSON lines {_id or id, text}, and judgements as tab-separated columns, with or without
// a header: query, document, grade (BEIR), or query, 0, document, grade (TREC).

/** Files of judgements that cannot be used. The message says which line, and what it should be. */
export class UnusableJudgements extends Error {
  override readonly name = 'UnusableJudgements';
}

/** The text of a file, and its name for messages. */
interface NamedText {
  readonly name: string;
  readonly text: string;
}

/** The queries that have a judgement. Throws UnusableJudgements. */
export function judgedQueries(queries: NamedText, judgements: NamedText): JudgedQuery[] {
  const grades = gradesIn(judgements);
  const found: JudgedQuery[] = [];
  for (const [n, text] of linesOf(queries)) {
    const query = jsonOf(text) as { _id?: unknown; id?: unknown; text?: unknown } | undefined;
    const id = query?._id ?? query?.id;
    if (typeof query?.text !== 'string' || (typeof id !== 'string' && typeof id !== 'number'))
      throw new UnusableJudgements(`${queries.name}, line ${n}: should be JSON with "_id" and "text".`);
    const judged = grades.get(String(id));
    if (judged && query.text.trim() !== '')
      found.push({ id: String(id), text: query.text, judgements: Object.fromEntries(judged) });
  }
  if (found.length === 0)
    throw new UnusableJudgements(
      `No query of ${queries.name} has a judgement in ${judgements.name}: compare the ids of both.`,
    );
  return found;
}

function gradesIn(judgements: NamedText): Map<string, Map<string, number>> {
  const grades = new Map<string, Map<string, number>>();
  for (const [n, text] of linesOf(judgements)) {
    const columns = text.split(text.includes('\t') ? '\t' : / +/);
    const [query = '', , third = ''] = columns;
    const [docid = '', grade] = columns.length >= 4 ? [third, Number(columns[3])] : [columns[1], Number(third)];
    if (n === 1 && Number.isNaN(grade)) continue;
    if (columns.length < 3 || Number.isNaN(grade))
      throw new UnusableJudgements(
        `${judgements.name}, line ${n}: should be query, document and grade, with tabs between.`,
      );
    const ofQuery = grades.get(query) ?? new Map<string, number>();
    grades.set(query, ofQuery.set(docid, grade));
  }
  return grades;
}

const linesOf = ({ text }: NamedText): [number, string][] =>
  text
    .split('\n')
    .map((one, i): [number, string] => [i + 1, one.trim()])
    .filter(([, one]) => one !== '');

/** The fields of a setting as JSON; undefined if they are no object. */
export function settingIn(json: string): Setting | undefined {
  const setting = jsonOf(json);
  return typeof setting === 'object' && setting !== null && !Array.isArray(setting) ? (setting as Setting) : undefined;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
