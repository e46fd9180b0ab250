// Injects the faults behind statuses that no request causes by itself: stores and workers that fail, and a server with
// as many requests in flight as it allows. The server under test runs in this process, so its parts can be replaced.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { mock } from 'node:test';
import type { TestServer } from '../server.js';
import { until } from '../until.js';

/** The message of every injected fault; no answer may contain it. */
export const SECRET = 'MDB_CORRUPTED: /var/lib/secret-path/data.mdb';

/** Parts of the server that only count what happens; no request depends on them. */
const BESIDE = ['metrics', 'poolMetrics'];

type Context = Record<string, unknown>;

/**
 * Runs `work` while every part that the use cases call (catalog, shards, embedder, …) fails as if its disk did. An
 * answer that needs none of them fails when it is encoded. What the parts do of themselves, such as by timers, goes on.
 */
export async function whileBroken<T>(server: TestServer, work: () => Promise<T>): Promise<T> {
  const parts = new Set(Object.entries(server.parts).flatMap(([name, part]) => (BESIDE.includes(name) ? [] : [part])));
  const mended = Object.values(server.services).flatMap((context) => breakParts(context as Context, parts));
  const encoder = breakEncoder();
  try {
    return await work();
  } finally {
    encoder.restore();
    for (const mend of mended) mend();
  }
}

/** Replaces the parts in a context, and in the contexts in it, by broken ones. Returns functions that put them back. */
function breakParts(context: Context, parts: ReadonlySet<unknown>): (() => void)[] {
  return Object.entries(context).flatMap(([name, value]) => {
    if (typeof value !== 'object' || value === null) return [];
    if (parts.has(value)) {
      context[name] = brokenPart(value);
      return [() => (context[name] = value)];
    }
    return Object.getPrototypeOf(value) === Object.prototype ? breakParts(value as Context, parts) : [];
  });
}

function brokenPart(part: object): object {
  const fail = (): never => {
    throw new Error(SECRET);
  };
  return new Proxy(part, {
    get: (_, name) => {
      const value: unknown = Reflect.get(part, name, part);
      if (typeof value !== 'function') return value;
      return value.constructor.name === 'AsyncFunction' ? () => Promise.reject(new Error(SECRET)) : fail;
    },
  });
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
