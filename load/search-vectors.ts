// Searches over HTTP with the vector given, as fast as 32 connections carry them, over 50,000 vectors of 384 numbers;
// beside /health, as the most this server and this client could do on the machine they share. By autocannon, and by
// plain sockets, which leave more of the machine to the server; with the processor time of a request in the server, its
// first thread and all of them, and with the recall of these very searches. node dist/load/search-vectors.js [--tiny]
// [--vectors 50000] [--seconds 10] [--url URL]
import { setTimeout as sleep } from 'node:timers/promises';
import { SheafClient } from '../src/client/client.js';
import { readArguments } from './kit/arguments.js';
import { hammer, type CannonRequest, type HammerOptions, type HammerResult } from './kit/hammer.js';
import { firePlainly } from './kit/plain-client.js';
import { cpuMs } from './kit/process-cpu.js';
import { printTable, whole } from './kit/report.js';
import { withServer } from './kit/server.js';
import { createVectorCollection, ingestVectors, vectorItems, vectorQueries } from './kit/vector-batches.js';

const TENANT = 'load';
const NAME = 'vectors';
const CONNECTIONS = 32;
const BATCH = 500;
/** The latest of the log. */
const RECALL_SEARCHES = 200;
const { tiny, url: given, number } = readArguments('vectors', 'seconds');
const count = number('vectors', tiny ? 500 : 50_000);
const measureSeconds = number('seconds', tiny ? 1 : 10);
const warmUpSeconds = tiny ? 1 : 3;
/** Two shards link at least so many vectors a second; what waits for its links is scanned by every search. */
const LINKED_PER_SECOND = 1500;

const search = (body: object): CannonRequest => ({
  method: 'POST',
  path: `/v1/collections/${TENANT}/${NAME}/search`,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

interface Measured extends HammerResult {
  /** Microseconds of a request; undefined where the server is not ours or the system does not tell. */
  cpuUs: { front: number; all: number } | undefined;
}

async function measure(
  client: (options: HammerOptions) => Promise<HammerResult>,
  url: string,
  pid: number | undefined,
  requests: CannonRequest[],
): Promise<Measured> {
  await client({ url, connections: CONNECTIONS, seconds: warmUpSeconds, requests });
  const before = pid === undefined ? undefined : cpuMs(pid);
  const startedAtMs = performance.now();
  const result = await client({ url, connections: CONNECTIONS, seconds: measureSeconds, requests });
  const count = (result.requestsPerSecond * (performance.now() - startedAtMs)) / 1000;
  const after = pid === undefined ? undefined : cpuMs(pid);
  const cpuUs = before &&
    after && { front: (1000 * (after.front - before.front)) / count, all: (1000 * (after.all - before.all)) / count };
  return { ...result, cpuUs };
}

await withServer(given, async (url, pid) => {
  const { source, items } = vectorItems(count);
  const client = new SheafClient({ url });
  await createVectorCollection(client, TENANT, NAME);
  await ingestVectors(url, TENANT, NAME, items, BATCH);
  await sleep((1000 * items.length) / LINKED_PER_SECOND);
  const queries = vectorQueries();
  const workloads: [string, CannonRequest[], number?][] = [
    ['GET /health', [{ method: 'GET', path: '/health' }]],
    ['k 10', queries.map((v) => search({ v, k: 10 })), 10],
    ['k 1', queries.map((v) => search({ v, k: 1 })), 1],
  ];
  const rows: string[][] = [
    ['workload', 'client', 'requests/s', 'recall@k', 'p50 ms', 'p99 ms', 'µs of the front', 'of all threads'],
  ];
  for (const [name, requests, k] of workloads) {
    for (const [sender, fire] of [
      ['autocannon', hammer],
      ['plain sockets', firePlainly],
    ] as const) {
      const { requestsPerSecond, p50Ms, p99Ms, cpuUs } = await measure(fire, url, pid, requests);
      const recall =
        k === undefined
          ? '-'
          : ((await client.recall(TENANT, NAME, { sample: RECALL_SEARCHES, k })).recall?.toFixed(3) ?? '-');
      rows.push([
        name,
        sender,
        whole(requestsPerSecond),
        recall,
        p50Ms.toFixed(2),
        p99Ms.toFixed(2),
        cpuUs ? whole(cpuUs.front) : '-',
        cpuUs ? whole(cpuUs.all) : '-',
      ]);
    }
  }
  printTable(
    `Search over HTTP by vector, ${whole(items.length)} × 384 (${source}), ${CONNECTIONS} connections, ${measureSeconds} s each`,
    rows,
  );
});
