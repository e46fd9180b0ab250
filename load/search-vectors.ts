// Searches over HTTP with the vector given, as fast as 32 connections carry them, over 50,000 vectors of 384 numbers; beside /health, as
// the most this server and this client could do on the machine they share.
// node dist/load/search-vectors.js [--tiny] [--vectors 50000] [--seconds 10] [--url URL]
import { setTimeout as sleep } from 'node:timers/promises';
import { SheafClient } from '../src/client/client.js';
import { readArguments } from './kit/arguments.js';
import { hammer, type CannonRequest, type HammerResult } from './kit/hammer.js';
import { printTable, whole } from './kit/report.js';
import { withServer } from './kit/server.js';
import { createVectorCollection, ingestVectors, vectorItems, vectorQueries } from './kit/vector-batches.js';

const TENANT = 'load';
const NAME = 'vectors';
const CONNECTIONS = 32;
const BATCH = 500;
const { tiny, url: given, number } = readArguments('vectors', 'seconds');
const count = number('vectors', tiny ? 500 : 50_000);
const measureSeconds = number('seconds', tiny ? 1 : 10);
const warmUpSeconds = tiny ? 1 : 3;
/** Two shards link at least so many vectors a second; what waits for its links is scanned by every search. */
const LINKED_PER_SECOND = 1500;

const search = (body: object): CannonRequest => ({ method: 'POST', path: `/v1/collections/${TENANT}/${NAME}/search`, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

async function measure(url: string, requests: CannonRequest[]): Promise<HammerResult> {
  await hammer({ url, connections: CONNECTIONS, seconds: warmUpSeconds, requests });
  return hammer({ url, connections: CONNECTIONS, seconds: measureSeconds, requests });
}

await withServer(given, async (url) => {
  const { source, items } = vectorItems(count);
  await createVectorCollection(new SheafClient({ url }), TENANT, NAME);
  await ingestVectors(url, TENANT, NAME, items, BATCH);
  await sleep((1000 * items.length) / LINKED_PER_SECOND);
  const queries = vectorQueries();
  const workloads: [string, CannonRequest[]][] = [
    ['GET /health', [{ method: 'GET', path: '/health' }]],
    ['k 10', queries.map((v) => search({ v, k: 10 }))],
    ['k 1', queries.map((v) => search({ v, k: 1 }))],
  ];
  const rows: string[][] = [['workload', 'requests/s', 'p50 ms', 'p99 ms']];
  for (const [name, requests] of workloads) {
    const { requestsPerSecond, p50Ms, p99Ms } = await measure(url, requests);
    rows.push([name, whole(requestsPerSecond), p50Ms.toFixed(2), p99Ms.toFixed(2)]);
  }
  printTable(`Search over HTTP by vector, ${whole(items.length)} × 384 (${source}), ${CONNECTIONS} connections, ${measureSeconds} s each`, rows);
});
