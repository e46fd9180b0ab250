// `sheaf eval`: the quality of searches by judged queries, for settings side by side, and the fusion weights that fit
// them best. It only searches, so it runs beside other work of a server; its searches are logged like all others.
import { readFileSync } from 'node:fs';
import type { JudgedQuery } from '../api/judgements.js';
import { SheafError } from '../client/errors.js';
import {
  FITTED_QUERIES_MIN,
  type Fitted,
  type Row,
  type Run,
  type Scores,
  type Setting,
  UnusableJudgements,
  adviceOf,
  digits,
  figureText,
  fitWeights,
  judgedQueries,
  rowOf,
  scoresOf,
  searchesToFit,
  settingIn,
} from '../ranking/side-by-side.js';
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
  /** Settings by name. */
  readonly settings: Readonly<Record<string, Setting>>;
  /** Hits of each search, and documents of which recall is the share. */
  readonly depth: number;
  readonly connections: number;
  readonly fit: boolean;
  readonly seed: number;
  readonly json: boolean;
}

/** Prints the figures. Throws UsageError for files and settings that cannot be used. */
export async function evaluate(target: Target, options: EvaluationOptions, output: Output): Promise<void> {
  const { fit, seed, depth } = options;
  const queries = await queriesOf(target, options.judged);
  if (fit && queries.length < FITTED_QUERIES_MIN)
    throw new UsageError(`--fit needs at least ${FITTED_QUERIES_MIN} judged queries: half of them test the weights.`);
  const settings = Object.entries(options.settings);
  const total = queries.length * settings.length + (fit ? searchesToFit(queries.length) : 0);
  const progress = startProgress(output.stderr, total, 'search');
  const all: Scores[][] = [];
  let fitted: Fitted | undefined;
  try {
    await withInterrupt(async (signal) => {
      const run = runOf(target, options, signal, progress.update);
      for (const [, setting] of settings) all.push(await scoresOf(run, setting, queries));
      if (fit) fitted = await fitWeights(run, queries, seed);
    });
  } finally {
    progress.stop();
  }
  const rows = settings.map(([setting], i) => rowOf(setting, all[i] as Scores[], i > 0 ? all[0] : undefined, seed));
  if (options.json)
    return line(output.stdout, JSON.stringify({ queries: queries.length, settings: rows, fitted }, null, 2));
  line(output.stdout, shown(queries.length, rows, depth));
  if (fitted) line(output.stdout, `\n${shownFit(fitted)}`);
}

function runOf(
  { client, tenant, collection }: Target,
  { connections, depth }: EvaluationOptions,
  signal: AbortSignal,
  update: (done: number) => void,
): Run {
  let done = 0;
  return {
    connections,
    searched: () => update(++done),
    ask: async (setting, q) => {
      const { collection: other = collection, ...fields } = setting;
      try {
        const { matches } = await client.search(
          tenant,
          other,
          { ...fields, q, k: depth, with_text: false },
          { signal },
        );
        return matches.map(({ id, meta }) => (meta.docid as string | undefined) ?? id);
      } catch (error) {
        if (error instanceof SheafError && (error.status === 422 || error.code === 'collection_not_found'))
          throw new UsageError(`The setting ${JSON.stringify(setting)} is refused: ${error.message}`);
        throw error;
      }
    },
  };
}

function shown(queries: number, rows: readonly Row[], depth: number): string {
  const head = ['setting', 'nDCG@10', `recall@${depth}`, 'MRR', 'difference of nDCG@10'];
  const cells = rows.map(({ setting, ndcg, recall, mrr, difference }) => [
    setting,
    figureText(ndcg),
    digits(recall.mean),
    digits(mrr.mean),
    difference ? figureText(difference) : '',
  ]);
  const note = `${count(queries, 'query')}; in brackets 95 % intervals by the bootstrap. Differences are to the first setting, query by query.`;
  return `${table(head, cells)}\n${note}`;
}

const shownFit = (fitted: Fitted): string =>
  [
    `Fitted on ${count(fitted.trainQueries, 'query')} (nDCG@10 ${digits(fitted.train)}): ${JSON.stringify(fitted.setting.fusion)}`,
    `Tested on ${count(fitted.testQueries, 'query')}: ${figureText(fitted.test)}; mode hybrid as it is: ${figureText(fitted.unfitted)}; difference ${figureText(fitted.difference)}`,
    adviceOf(fitted),
  ].join('\n');

async function queriesOf(
  { client, tenant, collection }: Target,
  judged: JudgedFiles | string,
): Promise<readonly JudgedQuery[]> {
  if (typeof judged !== 'string') return readJudged(judged);
  return (await client.getJudgements(tenant, collection, judged)).queries;
}

/** The judged queries of two files. Throws UsageError for files that cannot be used. */
export function readJudged({ queries, judgements }: JudgedFiles): JudgedQuery[] {
  try {
    return judgedQueries({ name: queries, text: textOf(queries) }, { name: judgements, text: textOf(judgements) });
  } catch (error) {
    throw error instanceof UnusableJudgements ? new UsageError(error.message) : error;
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** A setting of the command line: NAME={"mode":"hybrid"}. Throws UsageError. */
export function settingOf(word: string): [string, Setting] {
  const at = word.indexOf('=');
  const setting = settingIn(word.slice(at + 1));
  if (at < 1 || !setting)
    throw new UsageError(
      `--setting ${word} should be a name, = and the fields of a search, as words={"mode":"hybrid"}.`,
    );
  return [word.slice(0, at), setting];
}
