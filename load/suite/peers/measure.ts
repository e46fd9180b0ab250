// Measurement of databases: contents and queries, filling one database, and one turn of a database at a workload. A
// turn judges its answers and then sends the same requests as fast as the connections permit, with the CPU time of its
// process.
import { type CannonRequest, closedLoop } from '../../kit/closed-loop.js';
import { dot } from '../../kit/cosine.js';
import { inBatches, untilIdle } from '../../kit/fill.js';
import { hasCranfield, readCranfieldQueries, readWordWindows, variantsOf } from '../../kit/text-sets.js';
import { VECTOR_DIM, clustered, windows } from '../../kit/vector-sets.js';
import { type Filter, type Hit, type Row, send } from './drivers.js';
import type { Contestant, MemoryMb } from './participants.js';

export const K = 10;
export const TENTH: Filter = { field: 'tenth', value: 'g3' };
export const HUNDREDTH: Filter = { field: 'hundredth', value: 'g37' };

/** A vector as numbers of 7 digits, so that all databases and the exact answers use the same numbers. */
const digits = (vector: Float32Array): number[] => Array.from(vector, (value) => Number(value.toPrecision(7)));

export interface RowSet {
  readonly source: string;
  readonly rows: readonly Row[];
  readonly queries: readonly (readonly number[])[];
}

/**
 * Contents and queries of all databases: real 384-dimensional vectors if present, else seeded ones, each with a text
 * and two groups; and the exact answers.
 */
export function rowSet(count: number): RowSet {
  const { name, rows, queries } = windows(count) ?? clustered(count, VECTOR_DIM, 1);
  const texts = textsFor(count);
  return {
    source: name,
    rows: rows.map((vector, row) => ({
      row,
      vector: digits(vector),
      text: texts[row] as string,
      groups: { tenth: `g${row % 10}`, hundredth: `g${row % 100}` },
    })),
    queries: queries.map(digits),
  };
}

/**
 * Only the words of a text: PaveDB rewrites quotation marks, semicolons and dashes in metadata, and hits are compared
 * with what was stored.
 */
const plain = (text: string): string => text.replace(/[^\p{L}\p{N}]+/gu, ' ').trim();

/** Windows of 22 words of real text if present. */
export function textsFor(count: number): string[] {
  const real = readWordWindows(count)?.windows;
  return Array.from({ length: count }, (_, i) =>
    plain(real?.[i] ?? `text number ${i} of a set that is made up of words that say how many there are`),
  );
}

/** Questions of words from the Cranfield queries if present: first unchanged, then endless variants. */
export function questions(count: number): { judged: readonly string[]; unseen: () => string } {
  const judged = hasCranfield()
    ? readCranfieldQueries().slice(0, count)
    : ['how many words are there', 'what is the number of this text', 'a set of texts', 'what do words say'];
  const variants = variantsOf(judged);
  return { judged, unseen: () => variants.next().value };
}

/** For each of the first queries, the numbers of the K nearest rows by cosine among those that match the filter. */
export function nearest({ rows, queries }: RowSet, count: number, filter?: Filter): number[][] {
  const fitting = rows.filter(({ groups }) => filter === undefined || groups[filter.field] === filter.value);
  const units = fitting.map(({ vector }) => unit(vector));
  return queries.slice(0, count).map((query) => {
    const scores = units.map((row) => dot(row, query));
    // Only scores that reach the Kth best of a sample can be among the K best.
    const floor = scores.slice(0, 1000).sort((a, b) => b - a)[K - 1] ?? -Infinity;
    const above = scores.flatMap((score, i) => (score >= floor ? [{ score, row: fitting[i]!.row }] : []));
    return above
      .sort((a, b) => b.score - a.score)
      .slice(0, K)
      .map(({ row }) => row);
  });
}

function unit(vector: readonly number[]): Float64Array {
  const length = Math.sqrt(dot(vector, vector));
  return Float64Array.from(vector, (value) => value / length);
}

/** Warm-up lets JavaScript be compiled; Python is not compiled. */
const WARM_UP_SECONDS = 3;
const JUDGED_AT_ONCE = 4;

export interface Measured {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMsPerRequest?: number;
  readonly memory?: MemoryMb;
}

interface Load {
  readonly requests: CannonRequest[];
  readonly connections: number;
  readonly seconds: number;
}

export async function measure(
  { url, process }: Contestant,
  { requests: all, connections, seconds }: Load,
): Promise<Measured> {
  const requests = inTurn(all);
  if (seconds > WARM_UP_SECONDS) await closedLoop({ url, connections, seconds: WARM_UP_SECONDS, requests });
  const cpuBefore = process?.cpuMs() ?? 0;
  const {
    requests: answered,
    requestsPerSecond,
    p50Ms,
    p99Ms,
  } = await closedLoop({ url, connections, seconds, requests });
  if (answered === 0) throw new Error(`no answer within ${seconds} s`);
  if (process === undefined) return { requestsPerSecond, p50Ms, p99Ms };
  return {
    requestsPerSecond,
    p50Ms,
    p99Ms,
    cpuMsPerRequest: (process.cpuMs() - cpuBefore) / answered,
    memory: process.memory(),
  };
}

/**
 * The requests in sequence over all connections: preparing all of them for each connection would take seconds in which
 * nothing is sent.
 */
function inTurn(requests: CannonRequest[]): CannonRequest[] {
  let sent = 0;
  return requests.length === 1
    ? requests
    : [{ ...(requests[0] as CannonRequest), setupRequest: () => requests[sent++ % requests.length] as CannonRequest }];
}

/** The means of several rounds, figure by figure. */
export function meanOf(rounds: readonly Measured[]): Measured {
  const mean = (figure: (round: Measured) => number): number =>
    rounds.reduce((sum, round) => sum + figure(round), 0) / rounds.length;
  const { cpuMsPerRequest, memory } = rounds.at(-1)!;
  return {
    requestsPerSecond: mean((round) => round.requestsPerSecond),
    p50Ms: mean((round) => round.p50Ms),
    p99Ms: mean((round) => round.p99Ms),
    ...(cpuMsPerRequest !== undefined && { cpuMsPerRequest: mean((round) => round.cpuMsPerRequest!) }),
    ...(memory && { memory }),
  };
}

interface Judged {
  readonly requests: readonly CannonRequest[];
  readonly hits: (answer: string) => Hit[];
  /** The correct answer of each request. */
  readonly truth: readonly (readonly number[])[];
  readonly textOf: (row: number) => string;
}

/**
 * Share of the correct rows that were found. Throws if a hit lacks its text, because the work would then not be the
 * same.
 */
export async function recallOf({ url }: Contestant, { requests, hits, truth, textOf }: Judged): Promise<number> {
  let found = 0;
  const queue = requests.entries();
  const work = async (): Promise<void> => {
    for (const [i, request] of queue) {
      const answer = hits(await send(url, request));
      if (answer.length > K) throw new Error(`${answer.length} hits where ${K} were asked for`);
      for (const { row, text } of answer)
        if (text !== textOf(row)) throw new Error(`row ${row} came with the text ${JSON.stringify(text.slice(0, 60))}`);
      found += answer.filter(({ row }) => truth[i]!.includes(row)).length;
    }
  };
  await Promise.all(Array.from({ length: JUDGED_AT_ONCE }, work));
  return found / truth.reduce((sum, rows) => sum + rows.length, 0);
}

interface Writes {
  readonly searches: Measured;
  readonly rowsPerSecond: number;
}

/** Measures searches beside one connection that writes batches without a pause. */
export async function measureBesideWrites(
  contestant: Contestant,
  load: Load,
  write: () => Promise<number>,
): Promise<Writes> {
  let written = 0;
  let isOver = false as boolean;
  const startedAt = performance.now();
  const writing = (async () => {
    while (!isOver) written += await write();
  })();
  // A failure is reported when the result is awaited. Until then it would end the process, and with it the turns of
  // other databases.
  writing.catch(() => undefined);
  try {
    const searches = await measure(contestant, load);
    isOver = true;
    await writing;
    return { searches, rowsPerSecond: written / ((performance.now() - startedAt) / 1000) };
  } finally {
    isOver = true;
    await writing.catch(() => undefined);
  }
}

/** The searches of all databases: by vector, with filters, by text; each with its requests and correct answers. */
export interface Workload {
  /** Name in words of the command line. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly takesPart: (contestant: Contestant) => boolean;
  readonly requests: (contestant: Contestant) => CannonRequest[];
  /** Absent if the right answers are not known. */
  readonly judged?: (contestant: Contestant) => Judged;
}

/** Description of what is searched, without a full stop. */
export const searchedIn = ({ rows, source }: RowSet): string =>
  `${rows.length.toLocaleString('en-US')} vectors of 384 numbers (${source}), k ${K}, text and metadata returned`;

/** `judged` is the number of queries for recall. */
export function vectorWorkloads(set: RowSet, judged: number): Workload[] {
  const over = searchedIn(set);
  return [
    vectorWorkload(set, judged, { name: 'peers-vectors', title: 'Search by vector', about: `${over}.` }),
    vectorWorkload(
      set,
      judged,
      {
        name: 'peers-filter-10',
        title: 'Search by vector under a filter that one row in 10 fits',
        about: `${over}; a metadata field equals a string.`,
      },
      TENTH,
    ),
    vectorWorkload(
      set,
      judged,
      {
        name: 'peers-filter-1',
        title: 'Search by vector under a filter that one row in 100 fits',
        about: `${over}; a metadata field equals a string.`,
      },
      HUNDREDTH,
    ),
  ];
}

function vectorWorkload(
  set: RowSet,
  judged: number,
  words: Pick<Workload, 'name' | 'title' | 'about'>,
  filter?: Filter,
): Workload {
  const truth = nearest(set, judged, filter);
  const requests = ({ driver }: Contestant): CannonRequest[] =>
    set.queries.map((query) => driver.byVector(query, K, filter));
  return {
    ...words,
    takesPart: () => true,
    requests,
    judged: (contestant) => ({
      requests: requests(contestant).slice(0, truth.length),
      hits: contestant.driver.hits,
      truth,
      textOf: (row) => set.rows[row]!.text,
    }),
  };
}

export const takesTexts = ({ driver }: Contestant): boolean => driver.texts !== undefined;

/** `truth` has the correct rows of the judged questions, if they are known. */
export function textWorkload(
  texts: readonly string[],
  { judged, unseen }: ReturnType<typeof questions>,
  truth: readonly (readonly number[])[] | undefined,
): Workload {
  return {
    name: 'peers-texts',
    title: 'Search by text',
    about: `${texts.length.toLocaleString('en-US')} texts of 22 words, k ${K}; each database embeds the questions itself, through all-MiniLM-L6-v2, and has seen none of them before. Right are the nearest by Sheaf's exact scan.`,
    takesPart: takesTexts,
    requests: ({ driver }) => {
      const ask = (text: string): CannonRequest => driver.texts!.byText(text, K);
      return [{ ...ask(''), setupRequest: () => ask(unseen()) }];
    },
    ...(truth && {
      judged: ({ driver }: Contestant): Judged => ({
        requests: judged.map((text) => driver.texts!.byText(text, K)),
        hits: driver.texts!.hits,
        truth,
        textOf: (row) => texts[row]!,
      }),
    }),
  };
}

/** The nearest rows of each question, with every vector scored. */
export async function exactByText({ driver, url }: Contestant, asked: readonly string[]): Promise<number[][]> {
  const rows: number[][] = [];
  for (const text of asked)
    rows.push(driver.texts!.hits(await send(url, driver.texts!.byText(text, K, true))).map(({ row }) => row));
  return rows;
}

const BATCH = 200;
const CHECK_MS = 500;

export interface Filled {
  readonly rows: number;
  /** Time from the first request to the last answer. */
  readonly storedMs: number;
  /** Time from then until the database is idle. */
  readonly restedMs: number;
  /** CPU time of both; absent if the process is not local. */
  readonly cpuMs?: number;
}

/** Throws if the database has not stored all rows in time. */
export async function fillVectors(
  contestant: Contestant,
  rows: readonly Row[],
  dim: number,
  limitMs: number,
): Promise<Filled> {
  await contestant.driver.create(dim);
  return fill(contestant, rows, (some) => contestant.driver.put(some, true), limitMs);
}

export async function fillTexts(contestant: Contestant, texts: readonly string[], limitMs: number): Promise<Filled> {
  const driver = contestant.driver.texts!;
  await driver.create();
  const numbered = texts.map((text, from) => ({ text, from }));
  return fill(
    contestant,
    numbered,
    (some) =>
      driver.put(
        some.map(({ text }) => text),
        some[0]!.from,
      ),
    limitMs,
  );
}

/**
 * Fills a database over HTTP as any client could, batches on a few connections, and waits until it has done what it
 * does with them afterwards.
 */
async function fill<T>(
  contestant: Contestant,
  items: readonly T[],
  put: (some: readonly T[]) => Promise<void>,
  limitMs: number,
): Promise<Filled> {
  const startedAt = performance.now();
  const cpuBefore = contestant.process?.cpuMs();
  await inBatches(items.length, BATCH, async (from, to) => {
    if (performance.now() - startedAt > limitMs)
      throw new Error(`${from} of ${items.length} taken in ${Math.round(limitMs / 1000)} s`);
    await put(items.slice(from, to));
  });
  const storedMs = performance.now() - startedAt;
  await untilIndexed(contestant, limitMs);
  return {
    rows: items.length,
    storedMs,
    restedMs: performance.now() - startedAt - storedMs,
    ...(cpuBefore !== undefined && { cpuMs: contestant.process!.cpuMs() - cpuBefore }),
  };
}

/** Waits until the database reports that all rows are indexed and, if its process is local, is nearly idle. */
async function untilIndexed({ driver, process }: Contestant, limitMs: number): Promise<void> {
  const isIdle = await untilIdle(
    () => process?.cpuMs() ?? 0,
    CHECK_MS,
    limitMs,
    () => driver.isIndexed(),
  );
  if (!isIdle) throw new Error(`not indexed after ${Math.round(limitMs / 1000)} s`);
}
