// Cost of the HTTP server itself: a static GET like /health, a POST with ready JSON like a search, a compressed reply
// of 5 hits, and a streamed one of 1 MB. Requests per second depend on this client; CPU per request does not.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { closedLoop, jsonPost, type CannonRequest } from '../kit/closed-loop.js';
import { type LoadOptions, printTable, whole } from '../kit/command.js';

const CONNECTIONS = 32;
const REQUESTS: Record<string, CannonRequest> = {
  'static GET': { method: 'GET', path: '/static' },
  'longer, plain': { method: 'GET', path: '/longer' },
  'longer, br': { method: 'GET', path: '/longer', headers: { 'accept-encoding': 'br' } },
  'longer, gzip': { method: 'GET', path: '/longer', headers: { 'accept-encoding': 'gzip' } },
  'stream of 1 MB': { method: 'GET', path: '/stream' },
  'search-like POST': jsonPost('/v1/acme/books/search', { q: 'captain nemo', k: 5 }),
};

export async function floor({ tiny, number }: LoadOptions): Promise<void> {
  const seconds = number('seconds', tiny ? 1 : 5);
  const server = fork(fileURLToPath(new URL('./floor-server.js', import.meta.url)));
  const [port] = (await once(server, 'message')) as [number];
  const options = { url: `http://127.0.0.1:${port}`, connections: CONNECTIONS };
  const rows = [['workload', 'requests/s', 'p50 ms', 'p99 ms', 'µs of CPU a request']];
  for (const [name, request] of Object.entries(REQUESTS)) {
    await closedLoop({ ...options, seconds: 1, requests: [request] });
    const before = await used(server);
    const { requestsPerSecond, p50Ms, p99Ms } = await closedLoop({ ...options, seconds, requests: [request] });
    const after = await used(server);
    const cpuUs = (after.cpuUs - before.cpuUs) / (after.requests - before.requests);
    rows.push([name, whole(requestsPerSecond), p50Ms.toFixed(2), p99Ms.toFixed(2), cpuUs.toFixed(1)]);
  }
  server.kill();
  printTable(`HTTP server alone, ${CONNECTIONS} connections`, rows);
}

async function used(server: ChildProcess): Promise<{ cpuUs: number; requests: number }> {
  server.send('used?');
  const [answer] = (await once(server, 'message')) as [{ cpuUs: number; requests: number }];
  return answer;
}
