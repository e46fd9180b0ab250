// Searches over HTTP as fast as a number of connections permits: by text, by vector, through the shared model, with
// questions of several lengths, and over many collections.
import { SheafClient } from '../src/client/client.js';
import { BuiltinEmbedder } from '../src/embedding/builtin/embedder.js';
import {
  type CannonRequest,
  closedLoop,
  type ClosedLoopOptions,
  type ClosedLoopResult,
  jsonPost,
} from './kit/closed-loop.js';
import { type LoadOptions, printTable, whole } from './kit/command.js';
import { createVectorCollection, ingestVectors, untilServerIdle, vectorItems, vectorQueries } from './kit/fill.js';
import { type Cost, moreThan, takeTurns, withServers } from './kit/interleaved-runs.js';
import { passageOf, SEARCH_MODES } from './kit/judged-searches.js';
import { plainClosedLoop } from './kit/plain-closed-loop.js';
import { cpuMs, cpuSeconds, type Gained, withGains } from './kit/server-usage.js';
import { type Settings, withServer } from './kit/server.js';
import {
  CRANFIELD_TARGET,
  dataFolder,
  firstWords,
  hasCranfield,
  ingestCranfield,
  JUDGED_COLLECTIONS,
  type JudgedDocument,
  modelSettings,
  readCranfieldDocuments,
  readCranfieldQueries,
  readJudged,
  searchCranfield,
  variantsOf,
} from './kit/text-sets.js';

const TENANT = 'load';
const CONNECTIONS = 32;
const K = 10;
/** Graphs are built behind the ingest, and every search scans the rows that are not in them yet. */
const IDLE_CHECK_MS = 500;

/** Warm-up and measured duration of a loop. */
interface Times {
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

const timesOf = ({ tiny, number }: LoadOptions): Times => ({
  warmUpSeconds: tiny ? 1 : 2,
  seconds: number('seconds', tiny ? 1 : 10),
});

/** Runs a closed loop after a warm-up run that is not measured. */
async function warmLoop(
  { warmUpSeconds, seconds }: Times,
  options: Omit<ClosedLoopOptions, 'seconds'>,
): Promise<ClosedLoopResult> {
  await closedLoop({ ...options, seconds: warmUpSeconds });
  return closedLoop({ ...options, seconds });
}

const rateCells = ({ requestsPerSecond, p50Ms, p99Ms }: ClosedLoopResult): string[] => [
  whole(requestsPerSecond),
  p50Ms.toFixed(2),
  p99Ms.toFixed(2),
];

/**
 * The Cranfield collection: by text (with embedding), by ready vectors of the same queries, in the text modes, and with
 * filters; compared with /health as the upper bound for this server and client.
 */
export async function texts(options: LoadOptions): Promise<void> {
  if (!hasCranfield()) return;
  const times = timesOf(options);
  const documents = readCranfieldDocuments(options.tiny ? 50 : undefined);
  const queries = readCranfieldQueries();
  const searches = (body: object): CannonRequest[] => queries.map((q) => searchCranfield({ q, k: K, ...body }));
  const workloads: [string, CannonRequest[]][] = [
    ['GET /health', [{ method: 'GET', path: '/health' }]],
    ['search by text', searches({})],
    ['search by vector', vectorsOf(queries).map((v) => searchCranfield({ v, k: K }))],
    ['mode boost', searches({ mode: 'boost' })],
    ['mode hybrid', searches({ mode: 'hybrid' })],
    ['text, a filter that one in thirteen fits', searches({ filters: { docid: { $prefix: '13' } } })],
  ];
  await withServer(options.url, async (url) => {
    const chunks = await ingestCranfield(new SheafClient({ url }), documents, 16);
    const rows: string[][] = [];
    let health = NaN;
    for (const [name, requests] of workloads) {
      const result = await warmLoop(times, { url, connections: CONNECTIONS, requests });
      if (rows.length === 0) health = result.requestsPerSecond;
      rows.push([name, ...rateCells(result), (result.requestsPerSecond / health).toFixed(2)]);
    }
    printTable(
      `Search over HTTP, ${whole(chunks)} chunks, k ${K}, ${CONNECTIONS} connections, ${times.seconds} s each`,
      [['workload', 'requests/s', 'p50 ms', 'p99 ms', 'of /health'], ...rows],
    );
  });
}

function vectorsOf(queries: readonly string[]): number[][] {
  const embedder = new BuiltinEmbedder();
  const { dim } = embedder;
  const vectors = embedder.vectorsOf(queries);
  return queries.map((_, i) => Array.from(vectors.subarray(i * dim, (i + 1) * dim)));
}

const VECTORS = 'vectors';
const BATCH = 500;
/** Number of latest searches of the query log for which recall is measured. */
const RECALL_SEARCHES = 200;
const CLIENTS = [
  ['autocannon', closedLoop],
  ['plain sockets', plainClosedLoop],
] as const;

/**
 * Searches by vector over 50,000 vectors of 384 dimensions, compared with /health. By autocannon, and by plain sockets,
 * which leave more of the machine to the server; with CPU per request in the main thread and in all threads, and with
 * the recall of these searches.
 */
export async function vectors({ tiny, url: given, number }: LoadOptions): Promise<void> {
  const times: Times = { warmUpSeconds: tiny ? 1 : 3, seconds: number('seconds', tiny ? 1 : 10) };
  const { source, items } = vectorItems(number('vectors', tiny ? 500 : 50_000));
  const queries = vectorQueries();
  const searches = (k: number): CannonRequest[] => queries.map((v) => searchOf(VECTORS, { v, k }));
  const workloads: [string, CannonRequest[], number?][] = [
    ['GET /health', [{ method: 'GET', path: '/health' }]],
    ['k 10', searches(10), 10],
    ['k 1', searches(1), 1],
  ];
  await withServer(given, async (url, pid) => {
    const client = new SheafClient({ url });
    await createVectorCollection(client, TENANT, VECTORS);
    await ingestVectors(url, TENANT, VECTORS, items, BATCH);
    await untilServerIdle(url, IDLE_CHECK_MS);
    const rows: string[][] = [
      ['workload', 'client', 'requests/s', 'recall@k', 'p50 ms', 'p99 ms', 'µs of the front', 'of all threads'],
    ];
    for (const [name, requests, k] of workloads) {
      for (const [sender, loop] of CLIENTS) {
        const { cpuUs, ...result } = await withCpu(loop, times, { url, connections: CONNECTIONS, requests }, pid);
        const [rate = '', ...latencies] = rateCells(result);
        const recall =
          k === undefined ? undefined : await client.recall(TENANT, VECTORS, { sample: RECALL_SEARCHES, k });
        rows.push([
          name,
          sender,
          rate,
          recall?.recall?.toFixed(3) ?? '-',
          ...latencies,
          ...(cpuUs ? [whole(cpuUs.front), whole(cpuUs.all)] : ['-', '-']),
        ]);
      }
    }
    printTable(
      `Search over HTTP by vector, ${whole(items.length)} × 384 (${source}), ${CONNECTIONS} connections, ${times.seconds} s each`,
      rows,
    );
  });
}

/** Searches of one kind in a turn. */
const IN_TURN = 50;
/** Documents that vectors are spread over as chunks of one value, for groups. */
const GROUPS = 500;

/**
 * What the options of results cost at k 10, one request at a time, in turns within one run: on the Cranfield collection
 * in two modes, and on vectors with metadata. Each is compared with the plain search of its target.
 */
export async function results({ tiny, url: given, number }: LoadOptions): Promise<void> {
  const rounds = number('rounds', tiny ? 1 : 20);
  const count = number('vectors', tiny ? 500 : 50_000);
  const items = vectorItems(count).items.map((item, i) =>
    JSON.stringify({ ...(JSON.parse(item) as object), metadata: { group: i % GROUPS, n: (i * 7919) % count } }),
  );
  await withServer(given, async (url) => {
    const client = new SheafClient({ url });
    await createVectorCollection(client, TENANT, VECTORS);
    await ingestVectors(url, TENANT, VECTORS, items, BATCH);
    await untilServerIdle(url, IDLE_CHECK_MS);
    const targets: [string, string, string, object[]][] = [
      ['vectors', TENANT, VECTORS, vectorQueries().map((v) => ({ v }))],
    ];
    if (hasCranfield()) {
      await ingestCranfield(client, readCranfieldDocuments(tiny ? 50 : undefined), 16);
      const { tenant, collection } = CRANFIELD_TARGET;
      for (const mode of ['vector', 'hybrid'])
        targets.push([`Cranfield, ${mode}`, tenant, collection, readCranfieldQueries().map((q) => ({ q, mode }))]);
    }
    const rows: string[][] = [['target', 'search', 'p50 ms', 'of the plain search']];
    for (const [name, tenant, collection, queries] of targets) {
      const found = await inTurns(rounds, optionsOf(name === VECTORS), (body, i) =>
        client.search(tenant, collection, { ...('sort' in body ? {} : queries[i % queries.length]), k: K, ...body }),
      );
      const plain = found.get('plain') as number;
      for (const [option, ms] of found) rows.push([name, option, ms.toFixed(2), (ms / plain).toFixed(2)]);
    }
    printTable(`Options of results, ${whole(count)} vectors × 384 and Cranfield, k ${K}, one request at a time`, rows);
  });
}

/** Vectors have metadata and no text; Cranfield has documents of several chunks. */
const optionsOf = (areVectors: boolean): readonly (readonly [string, object])[] => [
  ['plain', {}],
  ['offset 90', { offset: 90 }],
  ['cursor, first page', { cursor: '*' }],
  ['min_score', { min_score: 0.001 }],
  ['min_relevance', { min_relevance: 0.01 }],
  ['include one key', { include: ['meta.docid'] }],
  ['with_vector', { with_vector: true }],
  ['group_by docid', { group_by: 'docid' }],
  ...(areVectors
    ? ([['group_by a field', { group_by: 'group' }]] as const)
    : ([['context 2', { context: 2 }]] as const)),
  ['diversity, 50 candidates', { diversity: { lambda: 0.5 } }],
  ['sort by documents', { sort: {} }],
  ...(areVectors
    ? ([
        ['sort by a field', { sort: { field: 'n', order: 'desc' } }],
        ['sort by a field, filtered', { sort: { field: 'n' }, filters: { group: { $lt: GROUPS / 10 } } }],
      ] as const)
    : []),
];

/** The median time of each search in milliseconds. */
async function inTurns(
  rounds: number,
  searches: readonly (readonly [string, object])[],
  search: (body: object, i: number) => Promise<unknown>,
): Promise<Map<string, number>> {
  const times = new Map<string, number[]>(searches.map(([name]) => [name, []]));
  for (let round = -1; round < rounds; round++)
    for (const [name, body] of searches)
      for (let i = 0; i < IN_TURN; i++) {
        const startedAtMs = performance.now();
        await search(body, i + round * IN_TURN + IN_TURN);
        // The first round warms up.
        if (round >= 0) times.get(name)?.push(performance.now() - startedAtMs);
      }
  return new Map([...times].map(([name, all]) => [name, all.sort((a, b) => a - b)[all.length >> 1] ?? NaN]));
}

/** Values of the ten fields of `counts`. */
const FIELD_VALUES = [2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000];

/** What counts and facets take over chunks with ten metadata fields, one request at a time. */
export async function counts({ tiny, url: given, number }: LoadOptions): Promise<void> {
  const rounds = number('rounds', tiny ? 1 : 20);
  const count = number('vectors', tiny ? 500 : 100_000);
  const fieldsOf = (row: number): object =>
    Object.fromEntries(FIELD_VALUES.map((values, f) => [`f${f}`, f % 2 ? row % values : `value ${row % values}`]));
  const items = vectorItems(count).items.map((item, i) =>
    JSON.stringify({ ...(JSON.parse(item) as object), metadata: fieldsOf(i) }),
  );
  await withServer(given, async (url) => {
    const client = new SheafClient({ url });
    await createVectorCollection(client, TENANT, VECTORS);
    await ingestVectors(url, TENANT, VECTORS, items, BATCH);
    await untilServerIdle(url, IDLE_CHECK_MS);
    const some = { f1: { $lt: 2 } };
    const asked: [string, object][] = [
      ['all', {}],
      ['filter that half fit', { filters: { f0: 'value 0' } }],
      ['filter by range, two fifths', { filters: some }],
      ['facet of 10 values, all', { facets: ['f2'] }],
      ['facets of 10 fields, all', { facets: FIELD_VALUES.map((_, f) => `f${f}`) }],
      ['facets of 10 fields, two fifths', { filters: some, facets: FIELD_VALUES.map((_, f) => `f${f}`) }],
    ];
    const found = await inTurns(rounds, asked, (body) => client.count(TENANT, VECTORS, body));
    printTable(`Counts over ${whole(count)} chunks with fields of ${FIELD_VALUES.join(', ')} values`, [
      ['what', 'p50 ms'],
      ...[...found].map(([name, ms]) => [name, ms.toFixed(2)]),
    ]);
  });
}

const searchOf = (collection: string, body: object): CannonRequest =>
  jsonPost(`/v1/collections/${TENANT}/${collection}/search`, body);

interface WithCpu extends ClosedLoopResult {
  /** Microseconds per request; undefined if the server is external or the system has no such statistics. */
  cpuUs: { front: number; all: number } | undefined;
}

async function withCpu(
  loop: (options: ClosedLoopOptions) => Promise<ClosedLoopResult>,
  { warmUpSeconds, seconds }: Times,
  options: Omit<ClosedLoopOptions, 'seconds'>,
  pid: number | undefined,
): Promise<WithCpu> {
  await loop({ ...options, seconds: warmUpSeconds });
  const before = pid === undefined ? undefined : cpuMs(pid);
  const startedAtMs = performance.now();
  const result = await loop({ ...options, seconds });
  const count = (result.requestsPerSecond * (performance.now() - startedAtMs)) / 1000;
  const after = pid === undefined ? undefined : cpuMs(pid);
  const us = (of: 'front' | 'all'): number => (1000 * (after![of] - before![of])) / count;
  return { ...result, cpuUs: before && after && { front: us('front'), all: us('all') } };
}

/**
 * Searches by text through the shared model on the Cranfield collection at 1, 16 and 64 connections: with new texts,
 * with cached texts, and with both; and the share of embedding in a search.
 */
export async function model(options: LoadOptions): Promise<void> {
  const settings = modelSettings();
  if (!settings || !hasCranfield()) return;
  const times = timesOf(options);
  const post = (q: string): CannonRequest => searchCranfield({ q, k: K });
  const search = async (url: string): Promise<void> => {
    const client = new SheafClient({ url });
    const chunks = await ingestCranfield(client, readCranfieldDocuments(options.tiny ? 50 : undefined), 16);
    const queries = readCranfieldQueries();
    const variants = variantsOf(queries);
    const unseen = { ...post(''), setupRequest: () => post(variants.next().value) };
    const rows: string[][] = [];
    for (const connections of [1, 16, 64]) {
      const measured = (requests: CannonRequest[]): Promise<string[]> =>
        modelCells(times, { url, connections, requests });
      rows.push([String(connections), 'new', ...(await measured([unseen]))]);
      // Every text is searched once, so that the server has its vector cached.
      for (const q of queries) await client.search(CRANFIELD_TARGET.tenant, CRANFIELD_TARGET.collection, { q, k: K });
      rows.push([String(connections), 'cached', ...(await measured(queries.map(post)))]);
    }
    printTable(`Search by text through the model, ${whole(chunks)} chunks, k ${K}, ${times.seconds} s each`, [
      ['connections', 'texts', 'requests/s', 'p50 ms', 'p99 ms', 'share of embed_ms', 'hit rate'],
      ...rows,
    ]);
  };
  await withServer(options.url, search, settings);
}

async function modelCells(
  { warmUpSeconds, seconds }: Times,
  options: Omit<ClosedLoopOptions, 'seconds'>,
): Promise<string[]> {
  await closedLoop({ ...options, seconds: warmUpSeconds });
  const { result, gained } = await withGains(options.url, () => closedLoop({ ...options, seconds }));
  const embedShare =
    gained('sheaf_search_phase_seconds_sum{phase="embed"}') / gained('sheaf_search_duration_seconds_sum');
  return [...rateCells(result), embedShare.toFixed(2), hitRateOf(gained).toFixed(2)];
}

function hitRateOf(gained: Gained): number {
  const hits = gained('sheaf_query_cache_hits_total');
  return hits / (hits + gained('sheaf_query_cache_misses_total'));
}

const TEXTS = 'texts';
const MODES = ['words alone', 'vector', 'hybrid', 'hybrid of scores'];
const LENGTHS = [3, 20, 60];
/** Enough distinct questions that the cache of query vectors does not hold all of them. */
const QUESTIONS = 5000;

/**
 * Questions of 3, 20 and 60 words by text ranking, by vector and in mode hybrid, over the documents of the judged
 * collections in chunks of the default size with the built-in embedder: on 32 connections and sequentially, with CPU
 * per request. `quality long` measures the quality of these answers.
 */
export async function lengths(options: LoadOptions): Promise<void> {
  const times = timesOf(options);
  const documents = judgedDocuments(options.tiny ? 50 : Infinity);
  if (documents.length === 0) return;
  await withServer(options.url, async (url) => {
    const chunks = await ingestAll(new SheafClient({ url }), documents);
    await untilServerIdle(url, IDLE_CHECK_MS);
    const rows: string[][] = [];
    for (const words of LENGTHS) {
      const questions = questionsOf(documents, words);
      for (const mode of MODES) {
        const requests = [inTurn(questions, mode)];
        for (const connections of [CONNECTIONS, 1])
          rows.push([
            String(words),
            mode,
            String(connections),
            ...(await lengthCells(times, { url, connections, requests })),
          ]);
      }
    }
    printTable(`Search over HTTP, ${whole(chunks)} chunks, k ${K}, ${times.seconds} s each`, [
      ['words a query', 'mode', 'connections', 'requests/s', 'p50 ms', 'p99 ms', 'CPU ms a request'],
      ...rows,
    ]);
  });
}

async function lengthCells(
  { warmUpSeconds, seconds }: Times,
  options: Omit<ClosedLoopOptions, 'seconds'>,
): Promise<string[]> {
  await closedLoop({ ...options, seconds: warmUpSeconds });
  const before = await cpuSeconds(options.url);
  const result = await closedLoop({ ...options, seconds });
  const requestCpuMs = (1000 * ((await cpuSeconds(options.url)) - before)) / result.requests;
  return [...rateCells(result), requestCpuMs.toFixed(2)];
}

/** The documents of all judged collections, with ids made unique. */
const judgedDocuments = (documentsMax: number): JudgedDocument[] =>
  JUDGED_COLLECTIONS.flatMap((name) => {
    const folder = dataFolder(name);
    const { documents } = folder ? readJudged(folder, documentsMax, 0) : { documents: [] };
    return documents.map((document) => ({ ...document, _id: `${name}-${document._id}` }));
  });

async function ingestAll(client: SheafClient, documents: readonly JudgedDocument[]): Promise<number> {
  const items = documents
    .map((document) => ({ docid: document._id, text: passageOf(document).trim() }))
    .filter(({ text }) => text !== '');
  let chunks = 0;
  for await (const result of client.ingestStream(TENANT, TEXTS, items)) {
    if (!result.ok) throw new Error(`${result.code}: ${result.error}`);
    chunks += result.chunks ?? 0;
  }
  return chunks;
}

/** The first words of texts that have at least this many, evenly spread over the documents. */
function questionsOf(documents: readonly JudgedDocument[], words: number): string[] {
  const long = documents.map(passageOf).filter((text) => text.trim().split(/\s+/).length >= words);
  const step = Math.max(1, long.length / QUESTIONS);
  return Array.from({ length: Math.min(QUESTIONS, long.length) }, (_, i) =>
    firstWords(long[Math.floor(i * step)] as string, words),
  );
}

/**
 * Questions in sequence, each built when it is sent: building all of them for each connection would delay the first.
 */
function inTurn(questions: readonly string[], mode: string): CannonRequest {
  let asked = 0;
  const search = (q: string): CannonRequest => searchOf(TEXTS, { ...SEARCH_MODES[mode], q, k: K });
  return { ...search(''), setupRequest: () => search(questions[asked++ % questions.length] as string) };
}

const MANY = 100;
const FEW = 10;

/** Searches over ten collections in turn, and over a hundred with equally many vectors, on 16 connections. */
export async function collections({ tiny, url: given, number }: LoadOptions): Promise<void> {
  const seconds = number('seconds', tiny ? 1 : 5);
  const { source, items } = vectorItems(tiny ? 20 : 200);
  const vectorsAsked = items.map((item) => (JSON.parse(item) as { vector: number[] }).vector);
  const searches = (count: number): CannonRequest[] =>
    Array.from({ length: MANY }, (_, i) =>
      searchOf(`c${i % count}`, { v: vectorsAsked[i % items.length] as number[], k: K }),
    );
  await withServer(given, async (url) => {
    for (let i = 0; i < MANY; i++) {
      await createVectorCollection(new SheafClient({ url }), TENANT, `c${i}`);
      await ingestVectors(url, TENANT, `c${i}`, items, items.length);
    }
    const rows: string[][] = [['collections in turn', 'requests/s', 'p50 ms', 'p99 ms']];
    await closedLoop({ url, connections: 16, seconds: 1, requests: searches(MANY) });
    for (const count of [FEW, MANY, FEW, MANY]) {
      const result = await closedLoop({ url, connections: 16, seconds, requests: searches(count) });
      rows.push([String(count), ...rateCells(result)]);
    }
    printTable(`Search over many collections of ${items.length} vectors each (${source})`, rows);
  });
}

const SHARDS = [1, 4, 16];
/** The chunks of a search are those of its collection, whose shards its `partitions` say; the last one has them all. */
const SPREADS: readonly Settings[] = [
  ...SHARDS.map((shards) => ({ SHEAF_STORAGE__PARTITIONS: String(shards) })),
  { SHEAF_STORAGE__PARTITIONS: '4', SHEAF_COLLECTIONS__PARTITIONS: '4' },
];

/**
 * CPU time of searches by vector in the same collection on servers with 1, 4 and 16 shards, over one of which it is
 * spread, and with 4 shards over all of which it is spread; with the recall of each.
 */
export async function partitions({ tiny, number }: LoadOptions): Promise<void> {
  const { source, items } = vectorItems(number('vectors', tiny ? 500 : 50_000));
  const bodies = vectorQueries().map((v) => JSON.stringify({ v, k: K }));
  const [rounds, searches] = [number('rounds', tiny ? 2 : 30), tiny ? 20 : 400];
  await withServers(SPREADS, async (servers) => {
    for (const { url } of servers) {
      await createVectorCollection(new SheafClient({ url }), TENANT, VECTORS);
      await ingestVectors(url, TENANT, VECTORS, items, BATCH);
    }
    for (const { url } of servers) await untilServerIdle(url, tiny ? 200 : 1000);
    let next = 0;
    const search = async (url: string): Promise<void> => {
      const body = bodies[next++ % bodies.length] as string;
      const path = `${url}/v1/collections/${TENANT}/${VECTORS}/search`;
      const answer = await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      await answer.arrayBuffer();
    };
    await takeTurns(servers, tiny ? 1 : 5, searches, search);
    const costs = await takeTurns(servers, rounds, searches, search);
    const rows = servers.map(async ({ url }, i): Promise<string[]> => {
      const client = new SheafClient({ url });
      const { recall } = await client.recall(TENANT, VECTORS, { source: 'stored', sample: 200 });
      const { partitions: spread } = await client.collectionDetail(TENANT, VECTORS);
      const own = costs[i] as Cost[];
      const middle = own.map(({ allUs }) => allUs).sort((a, b) => a - b)[own.length >> 1] as number;
      const { median, low, high } = moreThan(costs[0] as Cost[], own, 'allUs');
      const share = (more: number): string => `${(100 / (1 + more)).toFixed(1)} %`;
      return [
        String(SPREADS[i]?.SHEAF_STORAGE__PARTITIONS),
        String(spread),
        middle.toFixed(0),
        `${share(median)} (${share(high)} to ${share(low)})`,
        recall?.toFixed(4) ?? '-',
      ];
    });
    printTable(
      `Searches by vector over ${whole(items.length)} × 384 (${source}), k ${K}, ${rounds} turns of ${searches}`,
      [['shards', 'partitions', 'µs of CPU', 'rate of the first', 'recall'], ...(await Promise.all(rows))],
    );
  });
}
