// How ingest, writes, background work and another tenant's load affect searches, each compared with the same searches
// on an otherwise idle server.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DOCIDS_MAX } from '../src/api/limits.js';
import { SheafClient } from '../src/client/client.js';
import {
  type CannonRequest,
  closedLoop,
  closedLoopInThread,
  type ClosedLoopResult,
  jsonPost,
} from './kit/closed-loop.js';
import { type LoadOptions, printTable, whole } from './kit/command.js';
import {
  batchesOf,
  createVectorCollection,
  fillCollection,
  ingestVectors,
  itemOf,
  post,
  untilServerIdle,
  vectorItems,
  vectorQueries,
} from './kit/fill.js';
import { openLoop, type OpenLoopResult } from './kit/open-loop.js';
import { withGains } from './kit/server-usage.js';
import {
  archiveOnce,
  type LoadServer,
  reindexOnce,
  type Settings,
  startServer,
  withFolder,
  withServer,
} from './kit/server.js';
import {
  CRANFIELD_TARGET,
  type CranfieldDocument,
  hasCranfield,
  ingestCranfield,
  modelSettings,
  readCranfieldDocuments,
  readCranfieldQueries,
  searchCranfield,
  variantsOf,
} from './kit/text-sets.js';
import { clustered, VECTOR_DIM } from './kit/vector-sets.js';

const [TENANT, NAME] = ['load', 'vectors'];
/** Writes start this long before the searches are measured. */
const LEAD_MS = 2000;

const SEARCHES = 4;
const INGESTS = 4;
const INGEST_BATCH = 4;
const INGEST_BATCHES = 2000;

/**
 * Text searches through the shared model on 4 connections, alone and beside a bulk ingest of the same tenant at full
 * embedding speed. No text repeats, so no cache helps.
 */
export async function ingest({ tiny, url: given, number }: LoadOptions): Promise<void> {
  const seconds = number('seconds', tiny ? 2 : 10);
  const settings = modelSettings();
  if (!settings || !hasCranfield()) return;
  const documents = readCranfieldDocuments(tiny ? 50 : undefined);
  const variants = variantsOf(readCranfieldQueries());
  const unseen = (): CannonRequest => searchCranfield({ q: variants.next().value, k: 10 });
  const measure = async (url: string): Promise<void> => {
    const chunks = await ingestCranfield(new SheafClient({ url }), documents, 16);
    const requests = [{ ...searchCranfield({}), setupRequest: unseen }];
    const search = (): Promise<ClosedLoopResult> => closedLoop({ url, connections: SEARCHES, seconds, requests });
    await search();
    const alone = await search();
    const ingesting = closedLoopInThread({
      url,
      connections: INGESTS,
      seconds: seconds + Math.ceil(LEAD_MS / 1000) + 1,
      requests: bulkOf(documents),
    });
    await sleep(LEAD_MS);
    const { result: beside, gained } = await withGains(url, search);
    await ingesting;
    const rate = gained('sheaf_embedder_call_texts_sum{embedder="model",kind="documents"}') / seconds;
    const row = (name: string, { requestsPerSecond, p50Ms, p99Ms }: ClosedLoopResult, texts: string): string[] => [
      name,
      whole(requestsPerSecond),
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
      (p99Ms / alone.p99Ms).toFixed(2),
      texts,
    ];
    printTable(
      `Search by text through the model, ${whole(chunks)} chunks, ${SEARCHES} connections, ${seconds} s each`,
      [
        ['beside', 'searches/s', 'p50 ms', 'p99 ms', 'p99 of alone', 'chunks embedded/s'],
        row('nothing', alone, ''),
        row(`batches of ${INGEST_BATCH} on ${INGESTS} connections`, beside, whole(rate)),
      ],
    );
  };
  await withServer(given, measure, settings);
}

/** Batch requests into another collection; all chunks have distinct texts. */
function bulkOf(documents: readonly CranfieldDocument[]): CannonRequest[] {
  const items = Array.from({ length: INGEST_BATCHES * INGEST_BATCH }, (_, n) => {
    const { text } = documents[n % documents.length] as CranfieldDocument;
    return JSON.stringify({ docid: `D${n}`, text: `${text.replace(/(?:\S+\s+){30}/g, `$&${n} `)} ${n}` });
  });
  return batchesOf(items, INGEST_BATCH).map((body) =>
    jsonPost(`/v1/collections/${CRANFIELD_TARGET.tenant}/bulk/documents:batch`, body),
  );
}

type Search = (n: number) => Promise<void>;

/** Searches by vector, cycling through the queries. */
function searcher(url: string): Search {
  const queries = vectorQueries().map((v) => JSON.stringify({ v, k: 10 }));
  return async (n) => {
    await post(`${url}/v1/collections/${TENANT}/${NAME}/search`, queries[n % queries.length] as string, 200);
  };
}

const WRITE_BATCH = 200;

/**
 * Searches at a fixed rate without writes, and beside writers that replace documents at full speed, each by an insert
 * and a removal.
 */
export async function writes({ tiny, number }: LoadOptions): Promise<void> {
  const { source, items } = vectorItems(number('vectors', tiny ? 500 : 20_000));
  const rate = number('rate', tiny ? 20 : 100);
  const writers = number('writers', 1);
  const seconds = number('seconds', tiny ? 1 : 10);
  await withServer(undefined, async (url) => {
    await createVectorCollection(new SheafClient({ url }), TENANT, NAME);
    await ingestVectors(url, TENANT, NAME, items, WRITE_BATCH);
    // By then, all stored vectors are in the graph.
    await sleep(tiny ? 100 : 10_000);
    const search = searcher(url);
    await openLoop(rate, Math.min(seconds, 3), search);
    const idle = await openLoop(rate, seconds, search);
    const writing = closedLoopInThread({
      url,
      connections: writers,
      seconds: seconds + Math.ceil(LEAD_MS / 1000) + 1,
      requests: batchesOf(items, WRITE_BATCH).map((body) =>
        jsonPost(`/v1/collections/${TENANT}/${NAME}/documents:batch`, body),
      ),
    });
    await sleep(LEAD_MS);
    const beside = await openLoop(rate, seconds, search);
    const { requestsPerSecond } = await writing;
    const row = (name: string, { p50Ms, p99Ms, maxMs }: OpenLoopResult, written: string): string[] => [
      name,
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
      (p99Ms / idle.p99Ms).toFixed(2),
      maxMs.toFixed(1),
      written,
    ];
    printTable(`${whole(rate)} searches/s by vector over ${whole(items.length)} × 384 (${source}), ${seconds} s each`, [
      ['beside', 'p50 ms', 'p99 ms', 'p99 of idle', 'max ms', 'vectors written/s'],
      row('nothing', idle, ''),
      row(
        `batches of replacements without a pause, ${writers} at a time`,
        beside,
        whole(requestsPerSecond * WRITE_BATCH),
      ),
    ]);
  });
}

/** Patches by filter are at least this fast, so that all are made before the documents expire. */
const PATCHED_PER_SECOND = 2000;
const EXPIRED = 'sheaf_documents_expired_total';

/**
 * Searches at a fixed rate before many documents of their collection expire in one second, while the server deletes
 * them, and after it; in windows of some seconds. `rows` vectors stay.
 */
export async function expiry({ tiny, number }: LoadOptions): Promise<void> {
  const rows = number('rows', tiny ? 500 : 50_000);
  const expiring = number('expiring', tiny ? 500 : 50_000);
  const rate = number('rate', tiny ? 20 : 100);
  const seconds = number('seconds', tiny ? 1 : 10);
  await withServer(undefined, async (url) => {
    const client = new SheafClient({ url, timeoutMs: 600_000 });
    await createVectorCollection(client, TENANT, NAME);
    const source = await fillCollection({ url, tenant: TENANT, name: NAME, rows: rows + expiring });
    await untilServerIdle(url, tiny ? 200 : 1000, { withinMs: 600_000 });
    const docids = Array.from({ length: expiring }, (_, i) => `V${rows + i}`);
    const second = Math.ceil(Date.now() / 1000 + 5 + expiring / PATCHED_PER_SECOND);
    for (let from = 0; from < expiring; from += DOCIDS_MAX)
      await client.patchDocuments(TENANT, NAME, {
        docids: docids.slice(from, from + DOCIDS_MAX),
        expires_at: second,
      });
    const search = searcher(url);
    await openLoop(rate, Math.min(seconds, 3), search);
    const before = await openLoop(rate, seconds, search);
    if (Date.now() / 1000 > second) throw new Error('the documents have expired before all was measured');
    await sleep(1000 * second - Date.now());
    const startedAtMs = performance.now();
    const windows: [OpenLoopResult, string][] = [];
    for (let left = expiring; left > 0; ) {
      const { result, gained, samples } = await withGains(url, () => openLoop(rate, seconds, search));
      left = expiring - (samples.get(EXPIRED) ?? 0);
      windows.push([result, whole(gained(EXPIRED))]);
    }
    const tookS = (performance.now() - startedAtMs) / 1000;
    await untilServerIdle(url, tiny ? 200 : 1000, { withinMs: 600_000 });
    const after = await openLoop(rate, seconds, search);
    const row = (name: string, { p50Ms, p99Ms, maxMs }: OpenLoopResult, gone: string): string[] => [
      name,
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
      (p99Ms / before.p99Ms).toFixed(2),
      maxMs.toFixed(1),
      gone,
    ];
    printTable(
      `${whole(rate)} searches/s by vector over ${whole(rows)} × 384 (${source}) while ${whole(expiring)} more expire, which took at most ${tookS.toFixed(0)} s`,
      [
        ['window', 'p50 ms', 'p99 ms', 'p99 of before', 'max ms', 'documents deleted'],
        row('before', before, ''),
        ...windows.map(([result, gone], i) => row(`${i * seconds} to ${(i + 1) * seconds} s`, result, gone)),
        row('after', after, ''),
      ],
    );
  });
}

const CHECKPOINT_WITHIN_MS = 60_000;
const SHARDS_MAX = 64;

interface Running extends LoadServer {
  readonly client: SheafClient;
  readonly folder: string;
  readonly search: Search;
  /** A document that is written before each checkpoint, so that there is something to write. */
  readonly item: string;
}

/** One unit of background work. */
type Work = (server: Running) => Promise<unknown>;

const WORKS: Readonly<Record<string, readonly [string, Work]>> = {
  archives: ['archives', ({ client }) => archiveOnce(client, TENANT, NAME)],
  jobs: ['reindex jobs', ({ client }) => reindexOnce(client, TENANT, NAME)],
  checkpoints: ['checkpoints', checkpointOnce],
};

interface Row {
  name: string;
  result: OpenLoopResult;
  /** Number of times the work was done, and its mean duration. */
  times: number;
  meanMs: number;
}

/**
 * Searches at a fixed rate beside archives, reindex jobs and checkpoints, each repeated without a pause. Segments that
 * are too small for a graph have no checkpoint.
 */
export async function background({ tiny, number, text }: LoadOptions): Promise<void> {
  const rows = number('rows', tiny ? 4500 : 20_000);
  const rate = number('rate', tiny ? 20 : 100);
  const seconds = number('seconds', tiny ? 2 : 10);
  const partitions = number('partitions', tiny ? 1 : 0);
  const only = text('only');
  const wanted = (work: string): readonly [string, Work][] =>
    only === undefined || only === work ? [WORKS[work] as [string, Work]] : [];
  const settings = (intervalSeconds: number): Settings => ({
    SHEAF_CHECKPOINTS__INTERVAL_SECONDS: String(intervalSeconds),
    ...(partitions > 0 && { SHEAF_STORAGE__PARTITIONS: String(partitions) }),
  });
  const item = itemOf(clustered(1, VECTOR_DIM, 2).rows, 0);
  const warmUp = (search: Search): Promise<OpenLoopResult> => openLoop(rate, Math.min(3, seconds), search);
  const start = async (folder: string, intervalSeconds: number): Promise<Running> => {
    const server = await startServer(folder, settings(intervalSeconds));
    const search = searcher(server.url);
    await warmUp((n) => search(n).catch(() => undefined));
    return { ...server, folder, search, item, client: new SheafClient({ url: server.url }) };
  };
  const rest = ({ url }: Running): Promise<void> => untilServerIdle(url, tiny ? 200 : 1000);
  await withFolder(async (folder) => {
    let server = await start(folder, 86_400);
    await createVectorCollection(server.client, TENANT, NAME);
    const source = await fillCollection({ url: server.url, tenant: TENANT, name: NAME, rows });
    await rest(server);
    await warmUp(server.search);
    const idle = await besideWork(server, rate, seconds, 'nothing');
    const all = [idle];
    for (const work of [...wanted('archives'), ...wanted('jobs')])
      all.push(await besideWork(server, rate, seconds, ...work));
    await rest(server);
    all.push(await besideWork(server, rate, seconds, 'nothing, once more'));
    await server.kill();
    // Existing checkpoints would be read rather than written.
    rmSync(join(folder, 'data', 'checkpoints'), { recursive: true, force: true });
    server = await start(folder, 1);
    await rest(server);
    for (const work of wanted('checkpoints')) all.push(await besideWork(server, rate, seconds, ...work));
    await server.kill();
    printTable(`${whole(rate)} searches/s by vector over ${whole(rows)} × 384 (${source}), ${seconds} s each`, [
      ['beside', 'p50 ms', 'p99 ms', 'max ms', 'p99 of idle', 'times', 'each'],
      ...all.map(({ name, result: { p50Ms, p99Ms, maxMs }, times, meanMs }) => [
        name,
        p50Ms.toFixed(2),
        p99Ms.toFixed(2),
        maxMs.toFixed(1),
        (p99Ms / idle.result.p99Ms).toFixed(2),
        ...(times === 0 ? ['', ''] : [String(times), `${(meanMs / 1000).toFixed(2)} s`]),
      ]),
    ]);
  });
}

async function besideWork(server: Running, rate: number, seconds: number, name: string, work?: Work): Promise<Row> {
  let [isOver, times] = [false, 0];
  const working = (async () => {
    while (work && !isOver) {
      await work(server);
      times++;
    }
  })();
  const startedAtMs = performance.now();
  await sleep(work ? 200 : 0);
  const result = await openLoop(rate, seconds, server.search);
  isOver = true;
  await working;
  return { name, result, times, meanMs: (performance.now() - startedAtMs) / Math.max(1, times) };
}

/** A write, and the checkpoint of its shard that follows. */
async function checkpointOnce({ url, folder, item }: Running): Promise<void> {
  const before = manifestsIn(folder);
  await post(`${url}/v1/collections/${TENANT}/${NAME}/documents:batch`, `{"documents":[${item}]}`, 201);
  const startedAtMs = performance.now();
  for (; manifestsIn(folder) === before; await sleep(20))
    if (performance.now() - startedAtMs > CHECKPOINT_WITHIN_MS) throw new Error('no checkpoint is written');
}

/** All checkpoint manifests, concatenated. */
function manifestsIn(folder: string): string {
  const texts = Array.from({ length: SHARDS_MAX }, (_, shard) => {
    try {
      return readFileSync(join(folder, 'data', 'checkpoints', `shard-${shard}`, 'manifest.json'), 'utf8');
    } catch {
      return '';
    }
  });
  return texts.join();
}

const B_PER_SECOND = 50;
/** Load A starts this long before B is measured. */
const A_LEAD_MS = 500;

/**
 * How tenant A at full load affects tenant B at 50 searches per second: first A searches on 64 connections, then it
 * ingests batches of vectors on 4.
 */
export async function tenant({ tiny, url: given, number }: LoadOptions): Promise<void> {
  const seconds = number('seconds', tiny ? 1 : 10);
  const { source, items } = vectorItems(number('vectors', tiny ? 200 : 10_000));
  const batches = batchesOf(items, 200);
  const searches = Array.from({ length: 100 }, (_, n) => {
    const { vector } = JSON.parse(items[n % items.length] as string) as { vector: number[] };
    return JSON.stringify({ v: vector, k: 10 });
  });
  const documentsOf = (name: string): string => `/v1/collections/${name}/docs/documents:batch`;
  const searchOf = (name: string): string => `/v1/collections/${name}/docs/search`;
  await withServer(given, async (url) => {
    for (const name of ['a', 'b']) {
      await createVectorCollection(new SheafClient({ url }), name, 'docs');
      for (const body of batches) await post(url + documentsOf(name), body, 201);
    }
    const measureB = (): Promise<OpenLoopResult> =>
      openLoop(B_PER_SECOND, seconds, async (n) => {
        await post(url + searchOf('b'), searches[n % searches.length] as string, 200);
      });
    const besideA = async (connections: number, requests: CannonRequest[]): Promise<[OpenLoopResult, string]> => {
      const loading = closedLoopInThread({ url, connections, seconds: seconds + 1, requests });
      await sleep(A_LEAD_MS);
      const b = await measureB();
      return [b, whole((await loading).requestsPerSecond)];
    };
    await measureB();
    const row = (name: string, [{ requests, p50Ms, p99Ms, maxMs }, ofA]: [OpenLoopResult, string]): string[] => [
      name,
      whole(requests),
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
      maxMs.toFixed(2),
      ofA,
    ];
    const rows = [
      row('does nothing', [await measureB(), '']),
      row(
        'searches on 64 connections',
        await besideA(
          64,
          searches.map((body) => jsonPost(searchOf('a'), body)),
        ),
      ),
      row(
        'ingests batches of 200 on 4',
        await besideA(
          4,
          batches.slice(0, 5).map((body) => jsonPost(documentsOf('a'), body)),
        ),
      ),
    ];
    printTable(
      `Tenant B at ${B_PER_SECOND} searches/s beside tenant A, ${whole(items.length)} vectors each (${source})`,
      [['tenant A', 'requests of B', 'p50 ms', 'p99 ms', 'max ms', 'requests/s of A'], ...rows],
    );
  });
}
