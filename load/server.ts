// A server from start to end: time until ready, first answers, cost of idle collections, and archives.
import { createWriteStream, existsSync, mkdirSync, openAsBlob, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPrng, type Prng } from '../src/base/prng.js';
import { SheafClient } from '../src/client/client.js';
import { latenciesOf } from './kit/closed-loop.js';
import { type LoadOptions, printTable, seconds, whole } from './kit/command.js';
import {
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
import { cpuMs, cpuSeconds, privateBytes } from './kit/server-usage.js';
import { type LoadServer, type Settings, startServer, withFolder } from './kit/server.js';
import { hasCranfield, ingestCranfield, readCranfieldDocuments } from './kit/text-sets.js';
import { clustered, VECTOR_DIM } from './kit/vector-sets.js';

const TENANT = 'load';

/** Runs `work` with the kept folder, or with a temporary one. */
const withKept = (kept: string | undefined, work: (folder: string) => Promise<void>): Promise<void> => {
  if (kept === undefined) return withFolder(work);
  mkdirSync(kept, { recursive: true });
  return work(kept);
};

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return performance.now() - startedAtMs;
}

/**
 * Seconds from the start of the process until it is ready: on an empty data directory, and again with documents in it;
 * and the delay of the first document, which starts lazy threads, compared with a later one. The first start of a fresh
 * clone also installs and builds: `time npm start` there.
 */
export async function start({ tiny }: LoadOptions): Promise<void> {
  await withFolder(async (folder) => {
    const first = await startServer(folder);
    const documents = hasCranfield() ? readCranfieldDocuments(tiny ? 20 : undefined) : [];
    const chunks = await ingestCranfield(new SheafClient({ url: first.url }), documents, 16);
    await first.stop();
    const second = await startServer(folder);
    await second.stop();
    printTable('Start until ready', [
      ['start', 'ready after'],
      ['first, empty data directory', seconds(first.readyMs)],
      [`second, ${whole(documents.length)} documents, ${whole(chunks)} chunks`, seconds(second.readyMs)],
      ['fresh clone, install and build', 'by hand: time npm start'],
    ]);
  });
  const rows: string[][] = [];
  for (let n = 1; n <= (tiny ? 1 : 3); n++) rows.push([String(n), ...(await firstDocuments(tiny))]);
  printTable('Documents after a start, each answered when it is on disk', [
    ['server', 'first document', 'second'],
    ...rows,
  ]);
}

/** The times of the first two documents on an empty server. */
const firstDocuments = (tiny: boolean): Promise<string[]> =>
  withFolder(async (folder) => {
    const server = await startServer(folder);
    // A server that is ready still finishes startup work that no request waits for.
    await sleep(tiny ? 0 : 1000);
    const client = new SheafClient({ url: server.url });
    await client.createCollection(TENANT, 'docs');
    const text = 'Captain Nemo commands the Nautilus.';
    const times: number[] = [];
    for (const docid of ['first', 'second'])
      times.push(await timed(() => client.ingestText(TENANT, 'docs', { docid, text })));
    await server.kill();
    return times.map((ms) => `${ms.toFixed(0)} ms`);
  });

const NAME = 'vectors';
const REPLACE_BATCH = 200;
/** Share of documents that are replaced before the last kill. */
const CHANGED_SHARE = 0.01;

interface RestartOptions {
  readonly rows: number;
  readonly rate: number;
  readonly seconds: number;
  readonly restCheckMs: number;
  /** Settings without checkpoints except at a stop, and settings with a checkpoint every second. */
  readonly seldom: Settings;
  readonly often: Settings;
  readonly search: (url: string, n: number) => Promise<unknown>;
  /** Vectors of documents that replace others. */
  readonly replacements: readonly Float32Array[];
}

function restartOptions({ tiny, number }: LoadOptions): RestartOptions {
  const seldom = {
    SHEAF_CHECKPOINTS__INTERVAL_SECONDS: '86400',
    SHEAF_QUERY_LOG__ENABLED: 'false',
    ...(tiny && { SHEAF_STORAGE__PARTITIONS: '1' }),
  };
  const queries = vectorQueries().map((v) => JSON.stringify({ v, k: 10 }));
  return {
    rows: number('rows', tiny ? 4500 : 100_000),
    rate: number('rate', tiny ? 20 : 50),
    seconds: number('seconds', tiny ? 1 : 10),
    restCheckMs: tiny ? 300 : 2000,
    seldom,
    often: { ...seldom, SHEAF_CHECKPOINTS__INTERVAL_SECONDS: '1' },
    search: (url, n) =>
      post(`${url}/v1/collections/${TENANT}/${NAME}/search`, queries[n % queries.length] as string, 200),
    replacements: clustered(2000, VECTOR_DIM, 2).rows,
  };
}

/**
 * Seconds until the server is ready and until its first search, with many vectors: after SIGTERM, after kill -9, and
 * after kill -9 following writes that no checkpoint has; and the effect of checkpoints on searches. A kept folder is
 * filled once and stays.
 */
export async function restart(options: LoadOptions): Promise<void> {
  const given = restartOptions(options);
  await withKept(options.text('kept'), async (folder) => {
    const content = existsSync(join(folder, 'data')) ? 'filled before' : await fillForRestart(folder, given);
    const rows = [await emptyRow(given.seldom)];
    const afterStop = await restarted(folder, 'after SIGTERM', given);
    await afterStop.server.kill();
    const afterKill = await restarted(folder, 'after kill -9', given);
    const changed = await replaceSome(afterKill.server.url, given);
    await afterKill.server.kill();
    const behind = await restarted(folder, `after kill -9 behind ${whole(changed)} replacements`, given);
    await behind.server.stop();
    rows.push(afterStop.row, afterKill.row, behind.row);
    printTable(`Restart with ${whole(given.rows)} × 384 (${content})`, [
      ['start', 'ready after', 'processor time', 'first search', 'tenth search'],
      ...rows,
    ]);
    const idle = await besideWrites(folder, given.seldom, given);
    const beside = await besideWrites(folder, given.often, given);
    const row = (name: string, { p50Ms, p99Ms, maxMs }: OpenLoopResult): string[] => [
      name,
      p50Ms.toFixed(2),
      p99Ms.toFixed(2),
      maxMs.toFixed(1),
      (p99Ms / idle.p99Ms).toFixed(2),
    ];
    printTable(`${given.rate} searches/s, ${given.seconds} s each`, [
      ['beside', 'p50 ms', 'p99 ms', 'max ms', 'p99 of idle'],
      row('a write a second', idle),
      row('and checkpoints without a pause', beside),
    ]);
  });
}

/** Fills the server; returns a description of the data and the time that it took. */
async function fillForRestart(folder: string, { rows, seldom, restCheckMs }: RestartOptions): Promise<string> {
  const server = await startServer(folder, seldom);
  await createVectorCollection(new SheafClient({ url: server.url }), TENANT, NAME);
  let vectors = '';
  const fillMs = await timed(
    async () => (vectors = await fillCollection({ url: server.url, tenant: TENANT, name: NAME, rows })),
  );
  const indexMs = await timed(() => untilServerIdle(server.url, restCheckMs));
  const stopMs = await timed(() => server.stop());
  return `${vectors}; filled in ${seconds(fillMs)}, linked after ${seconds(indexMs)} more, stopped in ${seconds(stopMs)}`;
}

const emptyRow = (settings: Settings): Promise<string[]> =>
  withFolder(async (folder) => {
    const server = await startServer(folder, settings);
    const cpu = await cpuSeconds(server.url);
    await server.stop();
    return ['empty', seconds(server.readyMs), seconds(cpu * 1000), '', ''];
  });

/** Starts the server and searches; the process has just begun, so the first answers are cold. */
async function restarted(
  folder: string,
  name: string,
  { seldom, search }: RestartOptions,
): Promise<{ server: LoadServer; row: string[] }> {
  const server = await startServer(folder, seldom);
  const cpu = await cpuSeconds(server.url);
  const firstMs = await timed(() => search(server.url, 0));
  for (let n = 1; n < 9; n++) await search(server.url, n);
  const tenthMs = await timed(() => search(server.url, 9));
  return {
    server,
    row: [name, seconds(server.readyMs), seconds(cpu * 1000), `${firstMs.toFixed(1)} ms`, `${tenthMs.toFixed(1)} ms`],
  };
}

async function replaceSome(url: string, { rows, replacements }: RestartOptions): Promise<number> {
  const count = Math.ceil(CHANGED_SHARE * rows);
  for (let from = 0; from < count; from += REPLACE_BATCH)
    await replace(url, replacements, from, Math.min(from + REPLACE_BATCH, count));
  return count;
}

async function replace(url: string, vectors: readonly Float32Array[], from: number, to: number): Promise<void> {
  const items = Array.from({ length: to - from }, (_, i) => itemOf(vectors, from + i));
  await post(`${url}/v1/collections/${TENANT}/${NAME}/documents:batch`, `{"documents":[${items.join(',')}]}`, 201);
}

/** Searches beside one write per second, so that every checkpoint has something to write. */
async function besideWrites(
  folder: string,
  settings: Settings,
  { rate, seconds: measureSeconds, restCheckMs, search, replacements }: RestartOptions,
): Promise<OpenLoopResult> {
  const server = await startServer(folder, settings);
  await untilServerIdle(server.url, restCheckMs);
  const ask = async (n: number): Promise<void> => void (await search(server.url, n));
  await openLoop(rate, 2, ask);
  let row = 0;
  const trickle = setInterval(() => void replace(server.url, replacements, row, ++row).catch(() => {}), 1000);
  const result = await openLoop(rate, measureSeconds, ask);
  clearInterval(trickle);
  await server.kill();
  return result;
}

/** Settings for idle servers: searches are not logged, and collections are evicted after ten idle seconds. */
const IDLE_SETTINGS = { SHEAF_QUERY_LOG__ENABLED: 'false', SHEAF_COLLECTIONS__IDLE_SECONDS: '10' };
/** Longer than the server takes to evict collections that have been idle for ten seconds. */
const EVICTED_MS = 60_000;

/**
 * Cost of idle collections, with thousands of a hundred vectors: private memory of each, and time of a start by clock
 * and by CPU of all threads, which other work on the machine does not affect. A new server is filled, left alone,
 * stopped and started again. A kept folder is filled once and stays.
 */
export async function idle({ tiny, number, text }: LoadOptions): Promise<void> {
  const collections = number('collections', tiny ? 20 : 10_000);
  const chunks = number('chunks', tiny ? 10 : 100);
  const { items, source } = vectorItems(chunks);
  await withKept(text('kept'), async (folder) => {
    const before = existsSync(join(folder, 'data')) ? undefined : await filled(folder, collections, items, tiny);
    const empty = await withFolder(startReading);
    const full = await startReading(folder);
    const megabytes = (bytes: number): string => `${whole(bytes / 2 ** 20)} MB`;
    const each = (bytes: number): string => `${((bytes - empty.bytes) / collections / 1024).toFixed(1)} KB`;
    printTable(`${whole(collections)} collections of ${chunks} vectors each (${source})`, [
      ['', 'ready after', 'CPU of it', 'own memory', 'a collection'],
      ['empty', seconds(empty.readyMs), seconds(empty.startCpuMs), megabytes(empty.bytes), ''],
      ...(before === undefined ? [] : [[before.name, '', '', megabytes(before.bytes), each(before.bytes)]]),
      ['started again', seconds(full.readyMs), seconds(full.startCpuMs), megabytes(full.bytes), each(full.bytes)],
    ]);
  });
}

interface StartReading {
  readyMs: number;
  startCpuMs: number;
  bytes: number;
}

/** Measurements of a server that is started, inspected and stopped. */
async function startReading(folder: string): Promise<StartReading> {
  const { readyMs, pid, stop } = await startServer(folder, IDLE_SETTINGS);
  const reading = { readyMs, startCpuMs: cpuMs(pid)?.all ?? NaN, bytes: privateBytes(pid) };
  await stop();
  return reading;
}

/** A description of the filled collections, and the memory a minute later, when all are idle. */
async function filled(
  folder: string,
  collections: number,
  items: readonly string[],
  tiny: boolean,
): Promise<{ name: string; bytes: number }> {
  const { url, pid, stop } = await startServer(folder, IDLE_SETTINGS);
  const client = new SheafClient({ url });
  let next = 0;
  const fill = async (): Promise<void> => {
    for (let i = next++; i < collections; i = next++) {
      await createVectorCollection(client, `t${i % 100}`, `c${i}`);
      await ingestVectors(url, `t${i % 100}`, `c${i}`, items, items.length);
    }
  };
  const fillMs = await timed(() => Promise.all(Array.from({ length: 16 }, fill)));
  await sleep(tiny ? 0 : EVICTED_MS);
  const bytes = privateBytes(pid);
  await stop();
  return { name: `filled in ${seconds(fillMs)}, then idle`, bytes };
}

const SAMPLE_MS = 50;
const IDLE_CHECK_MS = 1000;
/** How long searches are measured with nothing beside them. */
const ALONE_MS = 5000;
const DOCS = 'docs';

/**
 * Archiving and restoring: MB/s, peak memory beyond the collection's own, and searches meanwhile. Memory is that of all
 * processes of the server: anonymous pages and pages shared by its threads, but not file pages, which the operating
 * system can drop.
 */
export async function archive({ tiny, number }: LoadOptions): Promise<void> {
  const rows = number('rows', tiny ? 500 : 100_000);
  await withFolder(async (folder) => {
    const server = await startServer(folder);
    const client = new SheafClient({ url: server.url });
    await fillForArchive(client, rows);
    const file = join(folder, 'archive.zip');
    const idle = await withMemory(client, () => sleep(tiny ? 300 : 5000));
    const out = await withMemory(client, async () =>
      pipeline(
        Readable.fromWeb((await client.archives.dumpCollection(TENANT, DOCS)).bytes as never),
        createWriteStream(file),
      ),
    );
    const bytes = statSync(file).size;
    const restore = (options?: { dryRun: boolean }) => async (): Promise<unknown> =>
      client.archives.restoreCollection(TENANT, 'copy', await openAsBlob(file), options);
    const verified = await withMemory(client, restore({ dryRun: true }));
    const held = childrenBytes();
    const into = await withMemory(client, restore());
    const { memory } = await client.collectionDetail(TENANT, 'copy');
    const { vectors: rowBytes, quantized_vectors: quantizedBytes, graph, postings } = memory!;
    const own = rowBytes + quantizedBytes + graph + postings;
    const line = (name: string, measured: WithMemory, ownBytes = 0): string[] => [
      name,
      `${measured.seconds.toFixed(1)} s`,
      `${(bytes / 1e6 / measured.seconds).toFixed(0)} MB/s`,
      `${whole(Math.max(0, measured.growthBytes - ownBytes) / 2 ** 20)} MiB`,
      measured.p99,
    ];
    printTable(`An archive of ${whole(rows)} chunks of ${VECTOR_DIM} dimensions, ${whole(bytes / 1e6)} MB`, [
      ['', 'time', 'rate', 'memory', 'p99 of searches beside it'],
      ['idle', '', '', '', idle.p99],
      line('out', out),
      line('verified (dry run)', verified),
      line(
        `in (beside ${whole(own / 2 ** 20)} MiB of the collection itself; before: ${whole(held / 2 ** 20)} MiB)`,
        into,
        own,
      ),
    ]);
    await server.stop();
  });
}

/** A text of 2,000 characters in chunks of 1,000, and metadata. */
export async function exportLines({ tiny, number }: LoadOptions): Promise<void> {
  const rows = number('rows', tiny ? 200 : 50_000);
  await withFolder(async (folder) => {
    const server = await startServer(folder);
    const client = new SheafClient({ url: server.url });
    const prng = createPrng(1);
    await client.createCollection(TENANT, DOCS, { chunking: { strategy: 'fixed', size: 1000, overlap: 100 } });
    const word = (): string =>
      Array.from({ length: 3 + prng.int(6) }, () => String.fromCharCode(97 + prng.int(26))).join('');
    const words = Array.from({ length: 5000 }, word);
    const documents = async function* (): AsyncGenerator<{
      docid: string;
      text: string;
      metadata: Record<string, unknown>;
    }> {
      for (let n = 0; n < rows; n++) {
        let text = '';
        while (text.length < 2000) text += `${words[prng.int(words.length)] as string} `;
        yield { docid: `D${n}`, text, metadata: { n, about: 'what a document may say of itself, in some words' } };
      }
    };
    for await (const result of client.ingestStream(TENANT, DOCS, documents()))
      if (!result.ok) throw new Error(result.error);
    await untilServerIdle(server.url, IDLE_CHECK_MS);
    const query = (of: Prng): Query => ({ q: words[of.int(words.length)] as string });
    const alone = await withMemory(client, () => sleep(tiny ? 200 : ALONE_MS), query);
    const table = [
      ['', 'time', 'size', 'rate', 'memory', 'p99 of searches'],
      ['nothing, searches alone', '', '', '', '', alone.p99],
    ];
    for (const vectors of [false, true]) {
      let bytes = 0;
      const read = async (): Promise<void> => {
        for await (const piece of await client.archives.exportDocuments(TENANT, DOCS, { vectors }))
          bytes += piece.length;
      };
      const out = await withMemory(client, read, query);
      table.push([
        vectors ? 'chunks with vectors' : 'texts',
        `${out.seconds.toFixed(1)} s`,
        `${whole(bytes / 1e6)} MB`,
        `${(bytes / 1e6 / out.seconds).toFixed(0)} MB/s`,
        `${whole(out.growthBytes / 2 ** 20)} MiB`,
        out.p99,
      ]);
    }
    printTable(`An export of ${whole(rows)} documents`, table);
    await server.stop();
  });
}

async function fillForArchive(client: SheafClient, rows: number): Promise<void> {
  const prng = createPrng(1);
  await createVectorCollection(client, TENANT, DOCS);
  const documents = async function* (): AsyncGenerator<{ docid: string; vector: number[]; metadata: object }> {
    for (let n = 0; n < rows; n++)
      yield {
        docid: `D${n}`,
        vector: randomVector(prng),
        metadata: { n, about: 'what a document may say of itself, in some words' },
      };
  };
  for await (const result of client.ingestStream(TENANT, DOCS, documents() as never))
    if (!result.ok) throw new Error(result.error);
}

const randomVector = (prng: Prng): number[] =>
  Array.from({ length: VECTOR_DIM }, () => Math.round(prng.normal() * 1e4) / 1e4);

type Query = { v: number[] } | { q: string };

interface WithMemory {
  seconds: number;
  /** Peak memory beyond what it was before. */
  growthBytes: number;
  /** p99 of the searches that ran beside it. */
  p99: string;
}

/** Runs `work` beside sequential searches, and measures memory. */
async function withMemory(
  client: SheafClient,
  work: () => Promise<unknown>,
  query: (prng: Prng) => Query = (prng) => ({ v: randomVector(prng) }),
): Promise<WithMemory> {
  const prng = createPrng(2);
  const before = childrenBytes();
  let [peak, isOver] = [before, false];
  const latenciesMs: number[] = [];
  const sampler = setInterval(() => (peak = Math.max(peak, childrenBytes())), SAMPLE_MS);
  const searching = (async () => {
    while (!isOver) {
      const asked = { ...query(prng), k: 10 };
      latenciesMs.push(await timed(() => client.search(TENANT, DOCS, asked)));
      await sleep(10);
    }
  })();
  const tookMs = await timed(work);
  isOver = true;
  clearInterval(sampler);
  await searching;
  return { seconds: tookMs / 1000, growthBytes: peak - before, p99: `${latenciesOf(latenciesMs).p99Ms.toFixed(1)} ms` };
}

/** Private memory of this process's descendants. */
function childrenBytes(): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      parents.set(Number(name), Number(readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]));
    } catch {
      // The process has ended.
    }
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (pid === process.pid || isBelow(parents.get(pid)));
  return [...parents.keys()]
    .filter((pid) => pid !== process.pid && isBelow(pid))
    .reduce((sum, pid) => sum + privateBytes(pid), 0);
}
