// What tenant B, at 50 searches a second, notices of tenant A at full load: searches on 64 connections, then batches of
// vectors on 4. node dist/load/noisy-neighbour.js [--tiny] [--seconds 10] [--url URL]
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { SheafClient } from '../src/client/client.js';
import { printTable, readArguments, whole } from './kit/command.js';
import type { HammerOptions, HammerResult } from './kit/closed-loop.js';
import { openLoop, type OpenLoopResult } from './kit/open-loop.js';
import { withServer } from './kit/server.js';
import { batchesOf, createVectorCollection, vectorItems } from './kit/fill.js';

const { tiny, url: given, number } = readArguments('seconds', 'vectors');
const measureSeconds = number('seconds', tiny ? 1 : 10);
const { source, items } = vectorItems(number('vectors', tiny ? 200 : 10_000));
const PER_SECOND = 50;
/** A is under way before B is measured. */
const LEAD_MS = 500;
const headers = { 'content-type': 'application/json' };

const documentsOf = (tenant: string): string => `/v1/collections/${tenant}/docs/documents:batch`;
const searchOf = (n: number): string =>
  JSON.stringify({ v: (JSON.parse(items[n % items.length] as string) as { vector: number[] }).vector, k: 10 });

async function fill(url: string, tenant: string, bodies: readonly string[]): Promise<void> {
  await createVectorCollection(new SheafClient({ url }), tenant, 'docs');
  for (const body of bodies) await posted(`${url}${documentsOf(tenant)}`, body);
}

async function posted(url: string, body: string): Promise<void> {
  const response = await fetch(url, { method: 'POST', body, headers });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status}: ${text.slice(0, 300)}`);
}

const searches = Array.from({ length: 100 }, (_, n) => searchOf(n));
const measureB = (url: string): Promise<OpenLoopResult> =>
  openLoop(PER_SECOND, measureSeconds, (n) =>
    posted(`${url}/v1/collections/b/docs/search`, searches[n % searches.length] as string),
  );

/** B beside A, who sends these on so many connections. */
async function beside(
  url: string,
  path: string,
  bodies: readonly string[],
  connections: number,
): Promise<{ a: HammerResult; b: OpenLoopResult }> {
  const requests = bodies.map((body) => ({ method: 'POST', path, headers, body }));
  const workerData: HammerOptions = { url, connections, seconds: measureSeconds + 1, requests };
  const worker = new Worker(new URL('./kit/closed-loop-thread.js', import.meta.url), { workerData });
  const done = once(worker, 'message') as Promise<[HammerResult]>;
  await new Promise((resolve) => setTimeout(resolve, LEAD_MS));
  const b = await measureB(url);
  return { b, a: (await done)[0] };
}

await withServer(given, async (url) => {
  const batches = batchesOf(items, 200);
  await fill(url, 'a', batches);
  await fill(url, 'b', batches);
  await measureB(url);
  const alone = await measureB(url);
  const searching = await beside(url, '/v1/collections/a/docs/search', searches, 64);
  const ingesting = await beside(url, documentsOf('a'), batches.slice(0, 5), 4);
  const row = (name: string, { requests, p50Ms, p99Ms, maxMs }: OpenLoopResult, a?: HammerResult): string[] => [
    name,
    whole(requests),
    p50Ms.toFixed(2),
    p99Ms.toFixed(2),
    maxMs.toFixed(2),
    a ? whole(a.requestsPerSecond) : '',
  ];
  printTable(`Tenant B at ${PER_SECOND} searches/s beside tenant A, ${whole(items.length)} vectors each (${source})`, [
    ['tenant A', 'requests of B', 'p50 ms', 'p99 ms', 'max ms', 'requests/s of A'],
    row('does nothing', alone),
    row('searches on 64 connections', searching.b, searching.a),
    row('ingests batches of 200 on 4', ingesting.b, ingesting.a),
  ]);
});
