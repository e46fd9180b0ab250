// What the HTTP server costs by itself: a static GET like /health and a POST that answers ready JSON like a search,
// with nothing behind them, in a process of their own; also a reply of 5 hits compressed, and a streamed one of 1 MB.
// Requests/s depend on how fast this client is; CPU a request does not. node dist/load/http-floor.js [--tiny]
// [--seconds 5]
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createHttpServer } from '../../src/http/server.js';
import { loadUws } from '../../src/http/uws.js';
import type { Reply, Request, Route } from '../../src/http/route.js';
import { printTable, readArguments, whole } from '../kit/command.js';
import { hammer, type CannonRequest } from '../kit/closed-loop.js';

const CONNECTIONS = 32;
const HIT = Buffer.from(`{"id":"d::chunk_0","score":0.5,"text":"${'x'.repeat(400)}"}`);
const SEARCH_PARTS = ['{"matches":[', HIT, ',', HIT, ']'];
const LONGER_PARTS = [
  '{"matches":[',
  ...Array.from({ length: 10 }, (_, at) => `${at > 0 ? ',' : ''}${HIT.toString()}`),
  ']',
];
const PAGE = `${HIT.toString()}\n`.repeat(70);
const PAGES = 32;
const REQUESTS: Record<string, CannonRequest> = {
  'static GET': { method: 'GET', path: '/static' },
  'longer, plain': { method: 'GET', path: '/longer' },
  'longer, br': { method: 'GET', path: '/longer', headers: { 'accept-encoding': 'br' } },
  'longer, gzip': { method: 'GET', path: '/longer', headers: { 'accept-encoding': 'gzip' } },
  'stream of 1 MB': { method: 'GET', path: '/stream' },
  'search-like POST': {
    method: 'POST',
    path: '/v1/acme/books/search',
    headers: { 'content-type': 'application/json' },
    body: '{"q":"captain nemo","k":5}',
  },
};

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

/**
 * In the child: serves, and answers each message with the microseconds of CPU used and the requests finished so far.
 */
async function serve(): Promise<void> {
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
    onFault: console.error,
  });
  const port = await server.listen('127.0.0.1', 0);
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuUs: user + system, requests });
  });
  process.send?.(port);
}

async function used(server: ChildProcess): Promise<{ cpuUs: number; requests: number }> {
  server.send('used?');
  const [answer] = (await once(server, 'message')) as [{ cpuUs: number; requests: number }];
  return answer;
}

async function measure(seconds: number): Promise<void> {
  const server = fork(fileURLToPath(import.meta.url), ['--serve']);
  const [port] = (await once(server, 'message')) as [number];
  const options = { url: `http://127.0.0.1:${port}`, connections: CONNECTIONS };
  const rows = [['workload', 'requests/s', 'p50 ms', 'p99 ms', 'µs of CPU a request']];
  for (const [name, request] of Object.entries(REQUESTS)) {
    await hammer({ ...options, seconds: 1, requests: [request] });
    const before = await used(server);
    const { requestsPerSecond, p50Ms, p99Ms } = await hammer({ ...options, seconds, requests: [request] });
    const after = await used(server);
    const cpuUs = (after.cpuUs - before.cpuUs) / (after.requests - before.requests);
    rows.push([name, whole(requestsPerSecond), p50Ms.toFixed(2), p99Ms.toFixed(2), cpuUs.toFixed(1)]);
  }
  server.kill();
  printTable(`HTTP server alone, ${CONNECTIONS} connections`, rows);
}

if (process.argv.includes('--serve')) await serve();
else {
  const { tiny, number } = readArguments('seconds');
  await measure(number('seconds', tiny ? 1 : 5));
}
