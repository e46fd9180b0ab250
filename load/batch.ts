// Ingest of 384-d vectors of one's own over HTTP, each durable and searchable when it is acknowledged: one document a
// request, in JSON batches, and as one stream of NDJSON, each into a collection of its own.
// node dist/load/batch.js [--tiny] [--vectors 8000] [--size 500] [--url URL]
import { SheafClient } from '../src/client/client.js';
import { printTable, readArguments, seconds, whole } from './kit/command.js';
import { withServer } from './kit/server.js';
import { batchesOf, createVectorCollection, vectorItems } from './kit/fill.js';

const TENANT = 'load';
const { tiny, url: given, number } = readArguments('vectors', 'size');
const { source, items } = vectorItems(number('vectors', tiny ? 200 : 8000));
const size = number('size', tiny ? 50 : 500);

/** Sends the bodies, `concurrency` under way; throws where an answer is not 201 or tells of a failure. */
async function send(url: string, type: string, bodies: readonly string[], concurrency: number): Promise<void> {
  const queue = bodies.values();
  const work = async (): Promise<void> => {
    for (const body of queue) {
      const response = await fetch(url, { method: 'POST', body, headers: { 'content-type': type } });
      const text = await response.text();
      if (response.status !== 201 || text.includes('"ok":false'))
        throw new Error(`${response.status}: ${text.slice(0, 500)}`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

interface Workload {
  name: string;
  /** So many of the vectors are sent. */
  count: number;
  run: (documents: string) => Promise<void>;
}

const json = 'application/json';
const batches = (count: number): string[] => batchesOf(items.slice(0, count), size);
const all = items.length;
const few = Math.ceil(all / 8);
const workloads: Workload[] = [
  {
    name: 'one a request, one after the other',
    count: few,
    run: (documents) => send(documents, json, items.slice(0, few), 1),
  },
  { name: 'one a request, 32 under way', count: all, run: (documents) => send(documents, json, items, 32) },
  {
    name: `JSON batches of ${size}, one after the other`,
    count: all,
    run: (documents) => send(`${documents}:batch`, json, batches(all), 1),
  },
  {
    name: `JSON batches of ${size}, 4 under way`,
    count: all,
    run: (documents) => send(`${documents}:batch`, json, batches(all), 4),
  },
  {
    name: 'one NDJSON request',
    count: all,
    run: (documents) => send(`${documents}:batch`, 'application/x-ndjson', [items.join('\n')], 1),
  },
];

await withServer(given, async (url) => {
  const client = new SheafClient({ url });
  const rows: string[][] = [['workload', 'vectors', 'time', 'vectors/s']];
  for (const [i, { name, count, run }] of workloads.entries()) {
    await createVectorCollection(client, TENANT, `batch-${i}`);
    const startedAtMs = performance.now();
    await run(`${url}/v1/collections/${TENANT}/batch-${i}/documents`);
    const tookMs = performance.now() - startedAtMs;
    rows.push([name, whole(count), seconds(tookMs), whole((count * 1000) / tookMs)]);
  }
  printTable(`Ingest of 384-d vectors over HTTP (${source}), durable`, rows);
});
