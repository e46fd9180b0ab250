// The HTTP server without a backend, in a process of its own. Answers each message with its CPU time in µs and the
// number of finished requests.
import { createHttpServer } from '../../src/http/server.js';
import type { Reply, Request, Route } from '../../src/http/route.js';
import { loadUws } from '../../src/http/uws.js';

const HIT = Buffer.from(`{"id":"d::chunk_0","score":0.5,"text":"${'x'.repeat(400)}"}`);
const SEARCH_PARTS = ['{"matches":[', HIT, ',', HIT, ']'];
const LONGER_PARTS = [
  '{"matches":[',
  ...Array.from({ length: 10 }, (_, at) => `${at > 0 ? ',' : ''}${HIT.toString()}`),
  ']',
];
const PAGE = `${HIT.toString()}\n`.repeat(70);
const PAGES = 32;
const routes: Route[] = [
  {
    operation: 'getStatic',
    method: 'GET',
    path: '/static',
    access: 'public',
    isLimited: false,
    body: 'none',
    handle: async () => ({ status: 200, json: { status: 'ready' } }),
  },
  {
    operation: 'getLonger',
    method: 'GET',
    path: '/longer',
    access: 'public',
    isLimited: false,
    body: 'none',
    handle: async () => ({ status: 200, jsonParts: LONGER_PARTS }),
  },
  {
    operation: 'getStream',
    method: 'GET',
    path: '/stream',
    access: 'public',
    isLimited: false,
    body: 'none',
    handle: async () => ({ status: 200, stream: pages(), contentType: 'application/x-ndjson' }),
  },
  {
    operation: 'search',
    method: 'POST',
    path: '/v1/{tenant}/{name}/search',
    access: 'tenant',
    isLimited: false,
    body: 'json',
    handle: answerLikeSearch,
  },
];

async function* pages(): AsyncGenerator<string> {
  for (let page = 0; page < PAGES; page += 1) yield PAGE;
}

async function answerLikeSearch({ body }: Request): Promise<Reply> {
  JSON.parse((await body.bytes()).toString());
  return { status: 200, jsonParts: SEARCH_PARTS };
}

let requests = 0;
const limits = {
  jsonBytesMax: 1e6,
  searchBytesMax: 1e6,
  messageBytesMax: 1e6,
  batchBytesMax: 1e6,
  documentBytesMax: 1e6,
  archiveBytesMax: 1e6,
  inFlightMax: 1000,
  heldBytesMax: 1e9,
  bodyTimeoutMs: 10_000,
};
const server = createHttpServer(await loadUws(), {
  routes,
  limits,
  authenticate: () => ({ name: 'anonymous', admin: true }),
  log: () => (requests += 1),
  onInternalError: console.error,
});
const port = await server.listen('127.0.0.1', 0);
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuUs: user + system, requests });
});
process.send?.(port);
