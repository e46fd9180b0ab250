// The same searches against whichever vector databases are there, in one go: filled with the same rows over HTTP, asked
// by the same requests on the same connections, in turns, one running at a time. Called by commands.ts.
// npm run load -- peers [--tiny] [--install] [--only sheaf,chroma] [--vectors 20000] [--texts 6500] [--connections 32]
// [--seconds 10]
//   [--rounds 2] [--judged 200] [--fill-seconds 900] [--qdrant URL] [--weaviate URL] [--elasticsearch URL] [--out FOLDER] [--report FILE]
import { createPrng } from '../../src/base/prng.js';
import { withFolder } from '../kit/server.js';
import { Field, type Contestant } from './peers/field.js';
import { fillTexts, fillVectors, type Filled } from './peers/fill.js';
import { meanOf, measure, measureBesideWrites, recallOf, type Measured } from './peers/measure.js';
import { readPeersOptions, type PeersOptions } from './peers/options.js';
import { candidates, installAll } from './peers/participants.js';
import { BASE, fillReport, searchReport, type FillResult, type Result } from './peers/results.js';
import { DIM, K, questions, rowSet, textsFor, type RowSet } from './peers/rows.js';
import {
  exactByText,
  searchedIn,
  takesTexts,
  textWorkload,
  vectorWorkloads,
  type Workload,
} from './peers/workloads.js';
import type { WorkloadReport } from './report.js';

const WRITE_BATCH = 50;
const say = (line: string): void => console.log(line);

/**
 * A report of filling and one of each workload. Who is not there, or fails, is named on standard output. Throws
 * UsageError for arguments that it does not have.
 */
export async function runPeers(args: readonly string[]): Promise<WorkloadReport[]> {
  const options = readPeersOptions(args);
  if (options.install) installAll(say);
  const all = candidates(options.urls).filter(
    ({ name }) => options.only.length === 0 || options.only.includes(name.toLowerCase()),
  );
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
    told('vectors', (contestant) => fillVectors(contestant, set.rows, DIM, limitMs), filledIn),
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

/** Says, once it is done, how it went: a comparison takes minutes. */
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
  // Who failed in a round is out of the last one too.
  const results = [...measured.at(-1)!.keys()].map((name): [string, Result] => [
    name,
    { measured: meanOf(measured.map((round) => round.get(name)!)), ...(recalls && { recall: recalls.get(name)! }) },
  ]);
  return searchReport(workload, new Map(results));
}

/** Rows are replaced by themselves, so that the answers stay. */
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

/** Right is what Sheaf finds by an exact scan, where it takes part. */
async function runTexts(field: Field, texts: readonly string[], options: PeersOptions): Promise<WorkloadReport> {
  const asked = questions(options.judged);
  const judges = await field.each(
    'exact search by text',
    (contestant) => exactByText(contestant, asked.judged),
    (contestant) => contestant.name === BASE && takesTexts(contestant),
  );
  return runWorkload(field, textWorkload(texts, asked, judges.get(BASE)), options);
}
