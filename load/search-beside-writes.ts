// Searches at a fixed rate while nothing is written and while writers insert vectors at full speed: what the writes
// cost the searches. node dist/load/search-beside-writes.js [--tiny] [--vectors 20000] [--rate 100] [--seconds 10]
// [--writers 1]
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { SheafClient } from '../src/client/client.js';
import { printTable, readArguments, whole } from './kit/command.js';
import type { CannonRequest, HammerOptions, HammerResult } from './kit/closed-loop.js';
import { openLoop, type OpenLoopResult } from './kit/open-loop.js';
import { withServer } from './kit/server.js';
import { batchesOf, createVectorCollection, ingestVectors, vectorItems, vectorQueries } from './kit/fill.js';

const TENANT = 'load';
const NAME = 'vectors';
const BATCH = 200;
const { tiny, number } = readArguments('vectors', 'rate', 'seconds', 'writers');
const count = number('vectors', tiny ? 500 : 20_000);
const rate = number('rate', tiny ? 20 : 100);
const writers = number('writers', 1);
const measureSeconds = number('seconds', tiny ? 1 : 10);
/** What was stored last is linked into the graph by then. */
const SETTLE_MS = tiny ? 100 : 10_000;
/** Writes are under way before the searches are measured. */
const LEAD_MS = 2000;

type Search = (n: number) => Promise<void>;

/**
 * Searches while a thread of this process replaces documents, each by an insert and a removal, without a pause; it ends
 * a while after them.
 */
async function beside(
  url: string,
  items: readonly string[],
  search: Search,
): Promise<{ result: OpenLoopResult; perSecond: number }> {
  const requests = batchesOf(items, BATCH).map(
    (body): CannonRequest => ({
      method: 'POST',
      path: `/v1/collections/${TENANT}/${NAME}/documents:batch`,
      headers: { 'content-type': 'application/json' },
      body,
    }),
  );
  const workerData: HammerOptions = {
    url,
    connections: writers,
    seconds: measureSeconds + Math.ceil(LEAD_MS / 1000) + 1,
    requests,
  };
  const done = once(
    new Worker(new URL('./kit/closed-loop-thread.js', import.meta.url), { workerData }),
    'message',
  ) as Promise<[HammerResult]>;
  await sleep(LEAD_MS);
  const result = await openLoop(rate, measureSeconds, search);
  const [{ requestsPerSecond }] = await done;
  return { result, perSecond: requestsPerSecond * BATCH };
}

function searcher(url: string): Search {
  const queries = vectorQueries().map((v) => JSON.stringify({ v, k: 10 }));
  return async (n) => {
    const response = await fetch(`${url}/v1/collections/${TENANT}/${NAME}/search`, {
      method: 'POST',
      body: queries[n % queries.length] as string,
      headers: { 'content-type': 'application/json' },
    });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`a search was answered ${response.status}`);
  };
}

await withServer(undefined, async (url) => {
  const { source, items } = vectorItems(count);
  await createVectorCollection(new SheafClient({ url }), TENANT, NAME);
  await ingestVectors(url, TENANT, NAME, items, BATCH);
  await sleep(SETTLE_MS);
  const search = searcher(url);
  await openLoop(rate, Math.min(measureSeconds, 3), search);
  const idle = await openLoop(rate, measureSeconds, search);
  const { result, perSecond } = await beside(url, items, search);
  const row = (name: string, { p50Ms, p99Ms, maxMs }: OpenLoopResult, writes: string): string[] => [
    name,
    p50Ms.toFixed(2),
    p99Ms.toFixed(2),
    (p99Ms / idle.p99Ms).toFixed(2),
    maxMs.toFixed(1),
    writes,
  ];
  printTable(
    `${whole(rate)} searches/s by vector over ${whole(items.length)} × 384 (${source}), ${measureSeconds} s each`,
    [
      ['beside', 'p50 ms', 'p99 ms', 'p99 of idle', 'max ms', 'vectors written/s'],
      row('nothing', idle, ''),
      row(`batches of replacements without a pause, ${writers} at a time`, result, whole(perSecond)),
    ],
  );
});
