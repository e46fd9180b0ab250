// The CPU times by which `sheaf capacity` estimates the number of cores, measured and printed beside its constants. CPU
// time includes all threads of the server. Other work on the machine raises it, so the load average at the start is
// printed as well.
import { loadavg } from 'node:os';
import { SheafClient } from '../src/client/client.js';
import { CPU } from '../src/cli/capacity.js';
import { type CannonRequest, jsonPost } from './kit/closed-loop.js';
import { type LoadOptions, printTable } from './kit/command.js';
import { createVectorCollection, ingestVectors, untilIdle, vectorItems, vectorQueries } from './kit/fill.js';
import { ingestJudged } from './kit/judged-searches.js';
import { plainClosedLoop } from './kit/plain-closed-loop.js';
import { cpuMs, questionRate } from './kit/server-usage.js';
import { type LoadServer, startServer, withFolder } from './kit/server.js';
import { dataFolder, JUDGED_COLLECTIONS, readJudged } from './kit/text-sets.js';
import { buildIndex } from './kit/vector-engine.js';
import { clustered, VECTOR_DIM, windows } from './kit/vector-sets.js';

const TENANT = 'load';
const CONNECTIONS = 32;
const K = 10;
const BATCH = 500;
const WARM_UP_SECONDS = 2;
/** The CPU time of a search is the median of so many rounds. */
const ROUNDS = 3;
const IDLE_CHECK_MS = 1000;

interface Scale {
  readonly vectors: number;
  readonly texts: number;
  readonly graphRows: number;
  readonly seconds: number;
}

export async function capacity({ tiny, number }: LoadOptions): Promise<void> {
  const scale: Scale = {
    vectors: tiny ? 300 : 50_000,
    texts: tiny ? 50 : CPU.hybrid.chunks,
    graphRows: tiny ? 300 : CPU.graphSearch.chunks,
    seconds: number('seconds', tiny ? 1 : 5),
  };
  const load = loadavg()[0] as number;
  const graphMs = graphSearchMs(scale);
  const vectors = await onServer((server) => vectorTimes(server, scale));
  const hybridMs = await onServer((server) => hybridExtraMs(server, scale));
  const ofGraph = (graphMs * Math.log(scale.vectors)) / Math.log(scale.graphRows);
  const row = (name: string, constantMs: number, measuredMs: number): string[] => [
    name,
    constantMs.toFixed(3),
    measuredMs.toFixed(3),
    (measuredMs / constantMs).toFixed(2),
  ];
  printTable(`CPU times of sheaf capacity in ms; load average before: ${load.toFixed(1)}`, [
    ['', 'constant', 'measured', 'ratio'],
    row('vector search over HTTP, without the graph search', CPU.searchMs, vectors.searchMs - ofGraph),
    row('graph search', CPU.graphSearch.ms, graphMs),
    row('hybrid search, beyond a vector search', CPU.hybrid.ms, hybridMs),
    row('written vector, with its graph edges', CPU.write.ms, vectors.writeMs),
  ]);
}

const onServer = <T>(work: (server: LoadServer) => Promise<T>): Promise<T> =>
  withFolder(async (folder) => {
    const server = await startServer(folder);
    try {
      return await work(server);
    } finally {
      await server.kill();
    }
  });

/** Of one thread with the whole graph, at the `ef` that the index chooses. */
function graphSearchMs({ graphRows }: Scale): number {
  const set = windows(graphRows) ?? clustered(graphRows, VECTOR_DIM, 1);
  const { index } = buildIndex(set, false);
  const ask = (): void => set.queries.forEach((query) => void index.search(query, K));
  ask();
  return 1000 / questionRate(set.queries.length, ask);
}

/** A written vector, from the request until the graph has it, and a search by vector. */
async function vectorTimes(server: LoadServer, scale: Scale): Promise<{ writeMs: number; searchMs: number }> {
  const { url } = server;
  const name = 'vectors';
  await createVectorCollection(new SheafClient({ url }), TENANT, name);
  const { items } = vectorItems(scale.vectors);
  const before = allCpuMs(server);
  await ingestVectors(url, TENANT, name, items, BATCH);
  await untilIdle(() => allCpuMs(server), IDLE_CHECK_MS);
  const writeMs = (allCpuMs(server) - before) / items.length;
  const searches = vectorQueries().map((v) => searchOf(name, { v, k: K }));
  return { writeMs, searchMs: await searchMs(server, searches, scale) };
}

/** NaN without judged collections. */
async function hybridExtraMs(server: LoadServer, scale: Scale): Promise<number> {
  const name = 'texts';
  const sets = JUDGED_COLLECTIONS.flatMap((set) => {
    const folder = dataFolder(set);
    return folder === undefined ? [] : [readJudged(folder, Infinity, Infinity)];
  });
  if (sets.length === 0) return NaN;
  const documents = sets.flatMap((set, i) => set.documents.map((one) => ({ ...one, _id: `${i}-${one._id}` })));
  await ingestJudged(new SheafClient({ url: server.url }), name, documents.slice(0, scale.texts));
  await untilIdle(() => allCpuMs(server), IDLE_CHECK_MS);
  const questions = sets.flatMap(({ queries }) => queries.map(({ text }) => text));
  const [hybrid, vector] = ['hybrid', 'vector'].map((mode) => questions.map((q) => searchOf(name, { q, k: K, mode })));
  return (await searchMs(server, hybrid!, scale)) - (await searchMs(server, vector!, scale));
}

const searchOf = (collection: string, body: object): CannonRequest =>
  jsonPost(`/v1/collections/${TENANT}/${collection}/search`, body);

async function searchMs(server: LoadServer, requests: CannonRequest[], { seconds }: Scale): Promise<number> {
  const loop = { url: server.url, connections: CONNECTIONS, requests };
  await plainClosedLoop({ ...loop, seconds: WARM_UP_SECONDS });
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = allCpuMs(server);
    const { requests: answered } = await plainClosedLoop({ ...loop, seconds });
    rounds.push((allCpuMs(server) - before) / answered);
  }
  return rounds.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] as number;
}

/** Throws on a system without such statistics. */
function allCpuMs({ pid }: LoadServer): number {
  const spent = cpuMs(pid);
  if (spent === undefined) throw new Error('The system does not tell the CPU time of threads (Linux does).');
  return spent.all;
}
