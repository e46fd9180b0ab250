// Searches over ten collections in turn and over a hundred, with as many vectors in each, on 16 connections.
// node dist/load/many-collections.js [--tiny] [--seconds 5] [--url URL]
import { SheafClient } from '../src/client/client.js';
import { printTable, readArguments, whole } from './kit/command.js';
import { hammer, type CannonRequest } from './kit/closed-loop.js';
import { withServer } from './kit/server.js';
import { batchesOf, createVectorCollection, vectorItems } from './kit/fill.js';

const { tiny, url: given, number } = readArguments('seconds');
const seconds = number('seconds', tiny ? 1 : 5);
const MANY = 100;
const FEW = 10;
const { source, items } = vectorItems(tiny ? 20 : 200);
const headers = { 'content-type': 'application/json' };
const path = (i: number): string => `/v1/collections/load/c${i}`;

const searches = (collections: number): CannonRequest[] =>
  Array.from({ length: MANY }, (_, i) => {
    const { vector } = JSON.parse(items[i % items.length] as string) as { vector: number[] };
    return {
      method: 'POST',
      path: `${path(i % collections)}/search`,
      headers,
      body: JSON.stringify({ v: vector, k: 10 }),
    };
  });

await withServer(given, async (url) => {
  const [body = ''] = batchesOf(items, items.length);
  for (let i = 0; i < MANY; i++) {
    await createVectorCollection(new SheafClient({ url }), 'load', `c${i}`);
    const { status } = await fetch(`${url}${path(i)}/documents:batch`, { method: 'POST', headers, body });
    if (status !== 201) throw new Error(`status ${status}`);
  }
  const rows: string[][] = [['collections in turn', 'requests/s', 'p50 ms', 'p99 ms']];
  await hammer({ url, connections: 16, seconds: 1, requests: searches(MANY) });
  for (const collections of [FEW, MANY, FEW, MANY]) {
    const { requestsPerSecond, p50Ms, p99Ms } = await hammer({
      url,
      connections: 16,
      seconds,
      requests: searches(collections),
    });
    rows.push([String(collections), whole(requestsPerSecond), p50Ms.toFixed(2), p99Ms.toFixed(2)]);
  }
  printTable(`Search over many collections of ${items.length} vectors each (${source})`, rows);
});
