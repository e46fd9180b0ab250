// Injects the faults behind statuses that no request causes by itself: stores and workers that fail, and a server with
// as many requests in flight as it allows. The server under test runs in this process, so its parts can be replaced.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { mock } from 'node:test';
import type { TestServer } from '../server.js';
import { until } from '../until.js';

/** The message of every injected fault; no answer may contain it. */
export const SECRET = 'MDB_CORRUPTED: /var/lib/secret-path/data.mdb';

/** Methods that timers call; their faults belong to no request. */
const BY_TIMER = ['flush', 'stored', 'sweep'];
/** Parts of the server that only count what happens; no request depends on them. */
const BESIDE = ['metrics', 'poolMetrics'];

/**
 * Runs `work` while every part that the use cases call (catalog, shards, embedder, …) fails as if its disk did. An
 * answer that needs none of them fails when it is encoded. Everything that the server does meanwhile fails, so `work`
 * sends one request at a time.
 */
export async function whileBroken<T>(server: TestServer, work: () => Promise<T>): Promise<T> {
  const parts = Object.entries(server.parts).filter(
    ([name, part]) => !BESIDE.includes(name) && typeof part === 'object' && part !== null,
  );
  const mocks = [
    breakEncoder(),
    ...parts.flatMap(([, part]) =>
      methodsOf(part as object).map((name) => breakMethod(part as Record<string, () => unknown>, name)),
    ),
  ];
  try {
    return await work();
  } finally {
    for (const broken of mocks) broken.restore();
  }
}

function methodsOf(part: object): string[] {
  const names = new Set<string>();
  for (
    let at: object | null = part;
    at !== null && at !== Object.prototype;
    at = Object.getPrototypeOf(at) as object | null
  ) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof value === 'function' && name !== 'constructor' && !BY_TIMER.includes(name)) names.add(name);
  }
  return [...names];
}

function breakMethod(part: Record<string, () => unknown>, name: string): { restore(): void } {
  const isAsync = part[name]?.constructor.name === 'AsyncFunction';
  const fail = (): never => {
    throw new Error(SECRET);
  };
  return mock.method(part, name, isAsync ? async () => fail() : fail).mock;
}

function breakEncoder(): { restore(): void } {
  const encode = JSON.stringify;
  const encodeErrors = (value: unknown, ...rest: []): string => {
    if (typeof value === 'object' && value !== null && 'ok' in value && value.ok === true) throw new Error(SECRET);
    return encode(value, ...rest);
  };
  return mock.method(JSON, 'stringify', encodeErrors).mock;
}

function underWay({ parts }: TestServer): number {
  const texts = [...parts.metrics.registry.texts()].join('\n');
  return Number(/^sheaf_requests_under_way (\d+)$/m.exec(texts)?.[1]);
}

/**
 * Opens requests whose bodies never arrive, so that they stay in flight. Returns the sockets, which the caller
 * destroys.
 */
export async function holdRequests(
  server: TestServer,
  count: number,
  headers: Record<string, string> = {},
): Promise<Socket[]> {
  // A request that is still in flight would count against the limit.
  await until(() => underWay(server) === 0, 'other requests are under way');
  const lines = Object.entries({
    host: 'localhost',
    'content-type': 'application/json',
    'content-length': '100',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const sockets = await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(server.port, '127.0.0.1');
      await once(socket, 'connect');
      socket.on('error', () => undefined);
      socket.write(`POST /v1/collections/acme/held/documents HTTP/1.1\r\n${lines.join('')}\r\n{`);
      return socket;
    }),
  );
  // A request that is sent before these heads have arrived would take one of the places.
  await until(() => underWay(server) === count, 'the requests do not arrive');
  return sockets;
}
