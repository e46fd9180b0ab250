// The processor time of a search by vector over HTTP, by number of front threads and by form of the request, and by
// thread: front threads, main thread, all others (log workers, collectors of garbage). A model of larger machines
// follows from these figures (docs/operations/capacity.md). Other work on the machine raises them, so the load average
// at the start is printed as well.
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Packr } from 'msgpackr';
import { SheafClient } from '../src/client/client.js';
import { type CannonRequest, closedLoop } from './kit/closed-loop.js';
import { type LoadOptions, printTable, whole } from './kit/command.js';
import { createVectorCollection, ingestVectors, untilIdle, vectorItems, vectorQueries } from './kit/fill.js';
import { cpuMs, threadsCpuMs } from './kit/server-usage.js';
import { type LoadServer, startServer, withFolder } from './kit/server.js';

const TENANT = 'load';
const COLLECTION = 'vectors';
const K = 10;
const INGEST_BATCH = 500;
const IDLE_CHECK_MS = 1000;
/** Searches of a request in the rows of batches. */
const BATCH = 32;
const CONNECTIONS = 32;
const BATCH_CONNECTIONS = 8;
/** A front thread compiles its code by itself, so it needs requests before it is as fast as it gets. */
const WARM_UP_SECONDS = 4;

interface Form {
  readonly name: string;
  readonly searches: number;
  readonly requests: CannonRequest[];
}

export async function fronts({ tiny, number, flag }: LoadOptions): Promise<void> {
  const seconds = number('seconds', tiny ? 1 : 5);
  const rows = number('rows', tiny ? 300 : 5000);
  const most = number('fronts', 2);
  const load = loadavg()[0] as number;
  const lines: string[][] = [];
  for (let threads = 1; threads <= most; threads *= 2)
    await withFolder(async (folder) => {
      const server = await startServer(folder, { SHEAF_SERVER__THREADS: String(threads) });
      try {
        lines.push(...(await ofServer(server, { threads, rows, seconds, tiny, jsonOnly: flag('json-only') })));
      } finally {
        await server.kill();
      }
    });
  printTable(
    `Processor time of a search by vector in µs, ${whole(rows)} vectors, k ${K}, logged; load average before: ${load.toFixed(1)}`,
    [['front threads', 'request', 'searches/s', 'all threads', 'front threads', 'main thread', 'others'], ...lines],
  );
}

interface Scale {
  readonly threads: number;
  readonly rows: number;
  readonly seconds: number;
  readonly tiny: boolean;
  readonly jsonOnly: boolean;
}

async function ofServer(server: LoadServer, { threads, rows, seconds, tiny, jsonOnly }: Scale): Promise<string[][]> {
  const { url, pid } = server;
  const client = new SheafClient({ url });
  await createVectorCollection(client, TENANT, COLLECTION);
  await ingestVectors(url, TENANT, COLLECTION, vectorItems(rows).items, INGEST_BATCH);
  await untilIdle(() => cpuMs(pid)?.all ?? 0, IDLE_CHECK_MS);
  const lines: string[][] = [];
  for (const { name, searches, requests } of formsOf(vectorQueries()).slice(0, jsonOnly ? 1 : undefined)) {
    const connections = searches > 1 ? BATCH_CONNECTIONS : CONNECTIONS;
    await closedLoop({ url, connections, seconds: tiny ? 1 : WARM_UP_SECONDS * threads, requests });
    const before = threadsCpuMs(pid);
    const { requests: answered, requestsPerSecond } = await closedLoop({ url, connections, seconds, requests });
    // The log is written a moment later.
    await sleep(tiny ? 0 : 500);
    const { all, ofFronts, ofMain } = spentBy(threadsCpuMs(pid), before, pid, threads);
    const perSearch = (ms: number): string => ((1000 * ms) / (answered * searches)).toFixed(0);
    lines.push([
      String(threads),
      name,
      whole(requestsPerSecond * searches),
      perSearch(all),
      perSearch(ofFronts),
      perSearch(ofMain),
      perSearch(all - ofFronts - ofMain),
    ]);
  }
  return lines;
}

/** Of the threads but the main one, front threads are those that have worked most. */
function spentBy(
  after: ReadonlyMap<number, number>,
  before: ReadonlyMap<number, number>,
  pid: number,
  threads: number,
): { all: number; ofFronts: number; ofMain: number } {
  const spent = [...after].map(([thread, ms]): [number, number] => [thread, ms - (before.get(thread) ?? 0)]);
  const sum = (of: readonly [number, number][]): number => of.reduce((total, [, ms]) => total + ms, 0);
  const others = spent.filter(([thread]) => thread !== pid).sort(([, a], [, b]) => b - a);
  return {
    all: sum(spent),
    ofFronts: sum(others.slice(0, threads)),
    ofMain: sum(spent.filter(([thread]) => thread === pid)),
  };
}

const packr = new Packr({ useRecords: false });
const packed = (body: object): Buffer<ArrayBuffer> => Buffer.from(packr.pack(body));
const JSON_TYPE = { 'content-type': 'application/json' };
const MSGPACK_TYPE = { 'content-type': 'application/msgpack', accept: 'application/msgpack' };

function formsOf(vectors: readonly (readonly number[])[]): Form[] {
  const path = `/v1/collections/${TENANT}/${COLLECTION}/search`;
  const bytesOf = (v: readonly number[]): Buffer => Buffer.from(new Float32Array(v).buffer);
  const post = (to: string, headers: Record<string, string>, body: string | Buffer<ArrayBuffer>): CannonRequest => ({
    method: 'POST',
    path: to,
    headers,
    body,
  });
  const batches = vectors
    .slice(0, 16)
    .map((_, i) => Array.from({ length: BATCH }, (_one, n) => vectors[(i * BATCH + n) % vectors.length] as number[]));
  const jsonBody = (v: readonly number[]): object => ({ v, k: K });
  const packedBody = (v: readonly number[]): object => ({ v: bytesOf(v), k: K });
  return [
    { name: 'JSON', searches: 1, requests: vectors.map((v) => post(path, JSON_TYPE, JSON.stringify(jsonBody(v)))) },
    {
      name: 'MessagePack',
      searches: 1,
      requests: vectors.map((v) => post(path, MSGPACK_TYPE, packed(packedBody(v)))),
    },
    {
      name: `JSON, ${BATCH} a request`,
      searches: BATCH,
      requests: batches.map((of) => post(`${path}:batch`, JSON_TYPE, JSON.stringify({ searches: of.map(jsonBody) }))),
    },
    {
      name: `MessagePack, ${BATCH} a request`,
      searches: BATCH,
      requests: batches.map((of) => post(`${path}:batch`, MSGPACK_TYPE, packed({ searches: of.map(packedBody) }))),
    },
  ];
}
