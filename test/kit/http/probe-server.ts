// A server on a free port with routes that a test defines. It keeps the request events that it logged, and stops with
// the test.
import type { TestContext } from 'node:test';
import { AppError } from '../../../src/api/errors.js';
import type { RequestEvent } from '../../../src/base/trace.js';
import type { HttpLimits, HttpServerOptions } from '../../../src/http/options.js';
import type { Reply, Request, Route } from '../../../src/http/route.js';
import { createHttpServer, type HttpServer } from '../../../src/http/server.js';
import { loadUws } from '../../../src/http/uws.js';
import { RawClient } from './raw-client.js';

export interface ProbeServer {
  readonly server: HttpServer;
  readonly port: number;
  readonly events: RequestEvent[];
  readonly faults: unknown[];
  client(): Promise<RawClient>;
  url(path: string): string;
  /** Waits for the `count`-th logged event and returns it. */
  event(count: number): Promise<RequestEvent>;
}

export const LIMITS: HttpLimits = {
  jsonBytesMax: 100_000,
  searchBytesMax: 100_000,
  messageBytesMax: 100_000,
  batchBytesMax: 100_000,
  documentBytesMax: 200_000,
  archiveBytesMax: 300_000,
  inFlightMax: 100,
  heldBytesMax: 200_000_000,
  bodyTimeoutMs: 10_000,
};
export const GOOD_KEY = 'good';

type Handle = (request: Request) => Promise<Reply> | Reply;

/** A route with defaults for all other fields. */
export function route(method: Route['method'], path: string, handle: Handle, fields: Partial<Route> = {}): Route {
  const body = method === 'POST' || method === 'PUT' ? 'json' : 'none';
  return {
    operation: `${method} ${path}`,
    method,
    path,
    access: 'public',
    keeps400: true,
    isLimited: false,
    body,
    handle: async (request) => handle(request),
    ...fields,
  };
}

export const ok = (): Reply => ({ status: 200, json: { status: 'ready' } });

/** A handler that answers with the length of the request body. */
export const measure = async (request: Request): Promise<Reply> => ({
  status: 200,
  json: { bytes: (await request.body.bytes()).length },
});

export async function startProbe(
  test: TestContext,
  routes: Route[],
  limits: Partial<HttpLimits> = {},
  others: Partial<HttpServerOptions> = {},
): Promise<ProbeServer> {
  const events: RequestEvent[] = [];
  const faults: unknown[] = [];
  const options: HttpServerOptions = {
    routes,
    authenticate: (request, { access }) => {
      if (access === 'public') return { name: 'anonymous', admin: false };
      if (request.header('x-api-key') !== GOOD_KEY) throw new AppError('auth_invalid');
      return { name: `tenant:${request.params.tenant ?? ''}`, admin: false };
    },
    limits: { ...LIMITS, ...limits },
    log: (event) => events.push(event),
    onInternalError: (error) => faults.push(error),
    ...others,
  };
  const server = createHttpServer(await loadUws(), options);
  const port = await server.listen('127.0.0.1', 0);
  const clients: RawClient[] = [];
  const client = async (): Promise<RawClient> => {
    const opened = await RawClient.open(port);
    clients.push(opened);
    return opened;
  };
  test.after(async () => {
    for (const opened of clients) opened.destroy();
    await server.drain(1000);
  });
  const event = async (count: number): Promise<RequestEvent> => {
    await eventually(() => events.length >= count);
    return events[count - 1] as RequestEvent;
  };
  return { server, port, events, faults, client, url: (path) => `http://127.0.0.1:${port}${path}`, event };
}

/** Waits until the condition is true; a wait in vain ends at the test's own time limit. */
export async function eventually(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** A promise that the test resolves: a handler under test waits at the gate until it opens. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
