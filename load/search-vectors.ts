// Searches over HTTP with the vector given, as fast as 32 connections carry them, over 50,000 vectors of 384 numbers;
// beside /health, as the most this server and this client could do on the machine they share. By autocannon, and by
// plain sockets, which leave more of the machine to the server; with the processor time of a request in the server, its
// first thread and all of them, and with the recall of these very searches. node dist/load/search-vectors.js [--tiny]
// [--vectors 50000] [--seconds 10] [--url URL]
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { SheafClient } from '../src/client/client.js';
import { type CannonRequest, type HammerOptions, type HammerResult, hammer, latenciesOf } from './kit/closed-loop.js';
import { printTable, readArguments, whole } from './kit/command.js';
import { createVectorCollection, ingestVectors, vectorItems, vectorQueries } from './kit/fill.js';
import { cpuMs } from './kit/server-usage.js';
import { withServer } from './kit/server.js';

// Requests as fast as a number of connections can carry them, over plain sockets: the bytes of every request are made
// beforehand, and of an answer only the status and the length are looked at. So the client takes a fraction of what
// autocannon takes (hammer.ts) of the machine that it shares with the server. Used by load/search-vectors.ts beside it.

const HEAD_END = '\r\n\r\n';
/** Heads are shorter. */
const HEAD_BYTES_MAX = 4096;

/** One request at a time, until the time is over. */
class Connection {
  private head = '';
  /** Of the answer, still to come; undefined while its head is. */
  private owedBytes: number | undefined;
  private sentAtMs = 0;
  private failure: Error | undefined;
  readonly latenciesMs: number[] = [];

  constructor(
    private readonly socket: Socket,
    private readonly requests: readonly Buffer[],
    private next: number,
    private readonly untilMs: number,
  ) {
    socket.setNoDelay(true).on('data', (bytes) => this.take(bytes));
  }

  /** Throws where an answer is not 2xx, or does not come. */
  async run(): Promise<void> {
    this.send();
    await once(this.socket, 'close');
    if (this.failure) throw this.failure;
    if (performance.now() < this.untilMs) throw new Error('The server closed a connection.');
  }

  private send(): void {
    this.sentAtMs = performance.now();
    if (this.sentAtMs >= this.untilMs) this.socket.destroy();
    else this.socket.write(this.requests[this.next++ % this.requests.length] as Buffer);
  }

  private take(bytes: Buffer): void {
    const owed = this.owedBytes === undefined ? this.takeHead(bytes) : this.owedBytes - bytes.length;
    if (owed === undefined) return;
    this.owedBytes = owed;
    if (owed > 0) return;
    this.owedBytes = undefined;
    this.latenciesMs.push(performance.now() - this.sentAtMs);
    this.send();
  }

  /** How much of the body is still to come; undefined where that is not known yet. */
  private takeHead(bytes: Buffer): number | undefined {
    const before = this.head.length;
    this.head += bytes.toString('latin1', 0, HEAD_BYTES_MAX);
    const end = this.head.indexOf(HEAD_END);
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.head);
    if (end < 0 && this.head.length < HEAD_BYTES_MAX) return undefined;
    const isGood = end >= 0 && this.head.startsWith('HTTP/1.1 2') && length !== null;
    if (!isGood) return this.fail();
    this.head = '';
    return end + HEAD_END.length + Number(length[1]) - before - bytes.length;
  }

  private fail(): undefined {
    this.failure = new Error(`The server answered: ${this.head.slice(0, 300)}`);
    this.socket.destroy();
  }
}

/**
 * Every connection runs through all requests, each from another place. Throws where an answer was not 2xx or did not
 * come.
 */
async function firePlainly({ url, connections, seconds, requests }: HammerOptions): Promise<HammerResult> {
  const { hostname, port, host } = new URL(url);
  const bytes = requests.map((request) => bytesOf(request, host));
  const sockets = await Promise.all(Array.from({ length: connections }, () => opened(hostname, Number(port))));
  const startedAtMs = performance.now();
  const untilMs = startedAtMs + 1000 * seconds;
  const all = sockets.map(
    (socket, i) => new Connection(socket, bytes, Math.floor((i / connections) * bytes.length), untilMs),
  );
  await Promise.all(all.map((connection) => connection.run()));
  const tookMs = performance.now() - startedAtMs;
  const latenciesMs = all.flatMap((connection) => connection.latenciesMs);
  return {
    requests: latenciesMs.length,
    requestsPerSecond: (1000 * latenciesMs.length) / tookMs,
    failed: 0,
    ...latenciesOf(latenciesMs),
  };
}

async function opened(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port });
  await once(socket, 'connect');
  return socket;
}

function bytesOf({ method, path, headers = {}, body = '' }: CannonRequest, host: string): Buffer {
  const lines = Object.entries({
    host,
    ...headers,
    ...(body !== '' && { 'content-length': Buffer.byteLength(body) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

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
