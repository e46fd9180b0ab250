// Compares vector databases: the same rows over HTTP, the same requests on the same connections, in turns, with one
// database running at a time.
//
// npm run load -- peers [--tiny] [--install] [--only sheaf,chroma] [--vectors 20000] [--texts 6500] [--connections 32]
// [--seconds 10] [--rounds 2] [--judged 200] [--fill-seconds 900] [--out FOLDER] [--report FILE]
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { createPrng } from '../../../src/base/prng.js';
import { withFolder } from '../../kit/server.js';
import { VECTOR_DIM } from '../../kit/vector-sets.js';
import type { Figure, WorkloadReport } from '../report.js';
import { UsageError } from '../workload.js';
import {
  type Filled,
  K,
  type Measured,
  type RowSet,
  type Workload,
  exactByText,
  fillTexts,
  fillVectors,
  meanOf,
  measure,
  measureBesideWrites,
  questions,
  recallOf,
  rowSet,
  searchedIn,
  takesTexts,
  textWorkload,
  textsFor,
  vectorWorkloads,
} from './measure.js';
import { type Candidate, type Contestant, Field, candidates, installAll } from './participants.js';

/** The options of a comparison. */
interface PeersOptions {
  readonly vectors: number;
  readonly texts: number;
  readonly connections: number;
  /** Duration of each measurement. */
  readonly seconds: number;
  /** Number of rounds; in each, every database has a turn at every workload. */
  readonly rounds: number;
  /** Number of queries for which recall is measured. */
  readonly judged: number;
  /** A database that has not stored all rows within this time is excluded. */
  readonly fillSeconds: number;
  readonly install: boolean;
  /** Lower-case names of the databases to compare; empty for all. */
  readonly only: readonly string[];
}

const FULL = {
  vectors: 20_000,
  texts: 6_500,
  connections: 32,
  seconds: 10,
  rounds: 2,
  judged: 200,
  'fill-seconds': 900,
};
const TINY = { vectors: 500, texts: 60, connections: 32, seconds: 1, rounds: 1, judged: 20, 'fill-seconds': 15 };
type NumberName = keyof typeof FULL;

/** Throws UsageError for unknown arguments and invalid numbers. */
export function readPeersOptions(args: readonly string[]): PeersOptions {
  const strings = [...(Object.keys(FULL) as NumberName[]), 'only'].map((name) => [name, { type: 'string' }] as const);
  const given = parsed(args, {
    ...Object.fromEntries(strings),
    tiny: { type: 'boolean' },
    install: { type: 'boolean' },
  }) as Partial<Record<NumberName | 'only', string>> & { tiny?: boolean; install?: boolean };
  const number = (name: NumberName): number => {
    const value = given[name] === undefined ? (given.tiny ? TINY : FULL)[name] : Number(given[name]);
    if (!Number.isInteger(value) || value < 1) throw new UsageError(`--${name} wants a whole number of at least 1`);
    return value;
  };
  return {
    vectors: number('vectors'),
    texts: number('texts'),
    connections: number('connections'),
    seconds: number('seconds'),
    rounds: number('rounds'),
    judged: number('judged'),
    fillSeconds: number('fill-seconds'),
    install: given.install === true,
    only: given.only?.toLowerCase().split(',') ?? [],
  };
}

function parsed(args: readonly string[], options: NonNullable<ParseArgsConfig['options']>): object {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

interface Result {
  readonly measured: Measured;
  /** Absent if recall was not measured. */
  readonly recall?: number;
  /** Absent if nothing was written meanwhile. */
  readonly rowsPerSecond?: number;
}

type Words = Pick<Workload, 'name' | 'title' | 'about'>;
/** The database that the others are compared with. */
const BASE = 'Sheaf';
const HEAD = [
  'database',
  'requests/s',
  `${BASE} against it`,
  'p50 ms',
  'p99 ms',
  'recall@10',
  'CPU ms a request',
  'memory MB',
  'its own MB',
];

/** The results of a comparison as reports of workloads: a table, figures, and a bar per database, ordered by name. */
function searchReport({ name, title, about }: Words, results: ReadonlyMap<string, Result>): WorkloadReport {
  const base = results.get(BASE)?.measured.requestsPerSecond;
  const writes = [...results.values()].some(({ rowsPerSecond }) => rowsPerSecond !== undefined);
  const rows = [...results].map(([database, result]) => [
    database,
    ...cellsOf(result, base),
    ...(writes ? [whole(result.rowsPerSecond)] : []),
  ]);
  const points = [...results].map(([x, { measured }]) => ({ x, y: measured.requestsPerSecond }));
  return {
    name,
    title,
    about,
    figures: [...results].flatMap(([database, result]) => figuresOf(database, result, base)),
    tables: [{ title, columns: [...HEAD, ...(writes ? ['rows written/s'] : [])], rows }],
    charts: [{ title, kind: 'bar', x: 'database', y: 'requests/s', series: [{ name: 'requests/s', points }] }],
  };
}

function cellsOf({ measured, recall }: Result, base: number | undefined): string[] {
  const { requestsPerSecond, p50Ms, p99Ms, cpuMsPerRequest, memory } = measured;
  return [
    whole(requestsPerSecond),
    digits(base && base / requestsPerSecond),
    digits(p50Ms),
    digits(p99Ms),
    digits(recall, 4),
    digits(cpuMsPerRequest),
    whole(memory?.resident),
    whole(memory?.anonymous),
  ];
}

function figuresOf(database: string, { measured, recall, rowsPerSecond }: Result, base: number | undefined): Figure[] {
  const { requestsPerSecond, p50Ms, p99Ms, cpuMsPerRequest, memory } = measured;
  const figure = (what: string, value: number | undefined, unit: string, better: Figure['better']): Figure[] =>
    value === undefined ? [] : [{ name: `${database} ${what}`, value, unit, better }];
  return [
    ...figure('requests', requestsPerSecond, '1/s', 'higher'),
    ...figure('p50', p50Ms, 'ms', 'lower'),
    ...figure('p99', p99Ms, 'ms', 'lower'),
    ...figure('recall@10', recall, '', 'higher'),
    ...figure('CPU a request', cpuMsPerRequest, 'ms', 'lower'),
    ...figure('memory', memory?.resident, 'MB', 'lower'),
    ...figure('rows written', rowsPerSecond, '1/s', 'higher'),
    ...(database === BASE || base === undefined
      ? []
      : [
          { name: `${BASE} against ${database}`, value: base / requestsPerSecond, unit: '', better: 'higher' as const },
        ]),
  ];
}

const FILL_HEAD = ['database', 'version', 'what', 'rows/s', 'seconds until it rests', 'CPU ms a row'];

interface FillResult {
  readonly contestant: Contestant;
  readonly what: 'vectors' | 'texts';
  readonly filled: Filled;
}

function fillReport(results: readonly FillResult[]): WorkloadReport {
  const title = 'Filling';
  const rate = ({ rows, storedMs }: Filled): number => (rows / storedMs) * 1000;
  return {
    name: 'peers-fill',
    title,
    about:
      'The same rows over HTTP, in batches of 200, four requests under way; then until the database has indexed them and does nothing any more.',
    figures: results.map(({ contestant, what, filled }) => ({
      name: `${contestant.name} ${what} filled`,
      value: rate(filled),
      unit: '1/s',
      better: 'higher',
    })),
    tables: [
      {
        title,
        columns: FILL_HEAD,
        rows: results.map(({ contestant, what, filled }) => [
          contestant.name,
          contestant.version,
          what,
          whole(rate(filled)),
          digits(filled.restedMs / 1000),
          digits(filled.cpuMs && filled.cpuMs / filled.rows),
        ]),
      },
    ],
    charts: [],
  };
}

const ABSENT = '';
const whole = (value: number | undefined): string =>
  value === undefined ? ABSENT : Math.round(value).toLocaleString('en-US');

function digits(value: number | undefined, count = 3): string {
  return value === undefined ? ABSENT : String(Number(value.toPrecision(count)));
}

const WRITE_BATCH = 50;
const say = (line: string): void => console.log(line);

/**
 * Reports of filling and of each workload. Absent or failing databases are named on standard output. Throws UsageError
 * for unknown arguments.
 */
export async function runPeers(
  args: readonly string[],
  present: readonly Candidate[] = candidates(),
): Promise<WorkloadReport[]> {
  const options = readPeersOptions(args);
  if (options.install) installAll(say);
  const all = present.filter(({ name }) => options.only.length === 0 || options.only.includes(name.toLowerCase()));
  return withFolder(async (folder) => {
    const field = new Field(say);
    try {
      await field.enter(all, folder);
      return await compare(field, options);
    } finally {
      await field.end();
    }
  });
}

async function compare(field: Field, options: PeersOptions): Promise<WorkloadReport[]> {
  const set = rowSet(options.vectors);
  const texts = textsFor(options.texts);
  const fills = await fillAll(field, set, texts, options);
  const searches: WorkloadReport[] = [];
  for (const workload of vectorWorkloads(set, options.judged))
    searches.push(await runWorkload(field, workload, options));
  searches.push(await runBesideWrites(field, set, options));
  if (field.present.some(takesTexts)) searches.push(await runTexts(field, texts, options));
  return [fillReport(fills), ...searches];
}

async function fillAll(
  field: Field,
  set: RowSet,
  texts: readonly string[],
  { fillSeconds }: PeersOptions,
): Promise<FillResult[]> {
  const limitMs = fillSeconds * 1000;
  const contestants = new Map(field.present.map((contestant) => [contestant.name, contestant]));
  const vectors = await field.each(
    'filling with vectors',
    told('vectors', (contestant) => fillVectors(contestant, set.rows, VECTOR_DIM, limitMs), filledIn),
  );
  const written = await field.each(
    'filling with texts',
    told('texts', (contestant) => fillTexts(contestant, texts, limitMs), filledIn),
    takesTexts,
  );
  const results = (what: FillResult['what'], filled: typeof vectors): FillResult[] =>
    [...filled].map(([name, one]) => ({ contestant: contestants.get(name)!, what, filled: one }));
  return [...results('vectors', vectors), ...results('texts', written)];
}

/** Prints how the work went when it is done, because a comparison takes minutes. */
function told<T>(
  what: string,
  work: (contestant: Contestant) => Promise<T>,
  how: (result: T) => string,
): (contestant: Contestant) => Promise<T> {
  return async (contestant) => {
    const result = await work(contestant);
    say(`${what}, ${contestant.name}: ${how(result)}`);
    return result;
  };
}

const filledIn = ({ rows, storedMs, restedMs }: Filled): string =>
  `${rows} stored in ${(storedMs / 1000).toFixed(1)} s, at rest ${(restedMs / 1000).toFixed(1)} s later`;
const rateOf = ({ requestsPerSecond }: Measured): string => `${requestsPerSecond.toFixed(0)} requests/s`;

async function runWorkload(
  field: Field,
  workload: Workload,
  { rounds, seconds, connections }: PeersOptions,
): Promise<WorkloadReport> {
  const { judged } = workload;
  const recalls =
    judged &&
    (await field.each(workload.name, (contestant) => recallOf(contestant, judged(contestant)), workload.takesPart));
  const measured: Map<string, Measured>[] = [];
  for (let round = 0; round < rounds; round++) {
    measured.push(
      await field.each(
        workload.name,
        told(
          workload.name,
          (contestant) => measure(contestant, { requests: workload.requests(contestant), connections, seconds }),
          rateOf,
        ),
        workload.takesPart,
      ),
    );
  }
  // Databases that failed in an earlier round are missing in the last one too.
  const results = [...measured.at(-1)!.keys()].map((name): [string, Result] => [
    name,
    { measured: meanOf(measured.map((round) => round.get(name)!)), ...(recalls && { recall: recalls.get(name)! }) },
  ]);
  return searchReport(workload, new Map(results));
}

/** Measures searches beside writes. Rows are replaced by the same rows, so the right answers stay the same. */
async function runBesideWrites(
  field: Field,
  set: RowSet,
  { seconds, connections }: PeersOptions,
): Promise<WorkloadReport> {
  const results = await field.each('search beside writes', async (contestant): Promise<Result> => {
    const prng = createPrng(1);
    const write = async (): Promise<number> => {
      const rows = new Set(Array.from({ length: WRITE_BATCH }, () => prng.int(set.rows.length)));
      await contestant.driver.put(
        [...rows].map((row) => set.rows[row]!),
        false,
      );
      return rows.size;
    };
    const requests = set.queries.map((query) => contestant.driver.byVector(query, K));
    const { searches, rowsPerSecond } = await measureBesideWrites(
      contestant,
      { requests, connections, seconds },
      write,
    );
    return { measured: searches, rowsPerSecond };
  });
  return searchReport(
    {
      name: 'peers-beside-writes',
      title: 'Search by vector beside writes',
      about: `${searchedIn(set)}. Beside it one connection replaces ${WRITE_BATCH} rows at a time without a pause.`,
    },
    results,
  );
}

/** Measures text searches. The right answers come from an exact scan by Sheaf, if it takes part. */
async function runTexts(field: Field, texts: readonly string[], options: PeersOptions): Promise<WorkloadReport> {
  const asked = questions(options.judged);
  const judges = await field.each(
    'exact search by text',
    (contestant) => exactByText(contestant, asked.judged),
    (contestant) => contestant.name === BASE && takesTexts(contestant),
  );
  return runWorkload(field, textWorkload(texts, asked, judges.get(BASE)), options);
}
