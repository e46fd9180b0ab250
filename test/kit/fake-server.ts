// A local HTTP server that answers as the test specifies, and keeps the requests that it received. It also gives client
// errors and broken connections that the real server gives only under load.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeRequest {
  method: string;
  /** The path as sent, still percent-encoded. */
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface FakeReply {
  status?: number;
  json?: unknown;
  text?: string;
  headers?: Record<string, string>;
}

/**
 * How a request ends. `hang up` closes the connection without an answer, `break off` in the middle of an answer,
 * `break refusal` in the middle of an error; `never` leaves it open.
 */
export type Answer = (request: FakeRequest) => Result | Promise<Result>;

export type Result = FakeReply | 'hang up' | 'break off' | 'break refusal' | 'never';

/** A test or a test file. */
export interface Ender {
  after(hook: () => void): void;
}

export interface FakeServer {
  url: string;
  requests: FakeRequest[];
}

/** Listens on a free port of the loopback interface until the test ends. */
export async function startFakeServer(t: Ender, answer: Answer): Promise<FakeServer> {
  const requests: FakeRequest[] = [];
  // Connections that are kept alive never time out: a client that was busy for a while would see that as a failure.
  const server = createServer(
    { keepAliveTimeout: 0 },
    (message, response) => void handle(message, response, requests, answer),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

async function handle(
  message: IncomingMessage,
  response: ServerResponse,
  requests: FakeRequest[],
  answer: Answer,
): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece as Buffer);
  const request = {
    method: message.method ?? '',
    path: message.url ?? '',
    headers: message.headers,
    body: Buffer.concat(pieces),
  };
  requests.push(request);
  const reply = await answer(request);
  if (reply === 'never') return;
  if (reply === 'hang up') return void message.socket.destroy();
  if (reply === 'break off' || reply === 'break refusal') {
    response.writeHead(reply === 'break off' ? 200 : 500, {
      'content-type': 'application/json',
      'content-length': '100',
    });
    return void response.write('{"data"', () => message.socket.destroy());
  }
  response.writeHead(reply.status ?? 200, {
    'content-type': reply.text === undefined ? 'application/json' : 'text/plain',
    ...reply.headers,
  });
  response.end(reply.text ?? JSON.stringify(reply.json ?? { ok: true }));
}

/** The fields of a multipart body. */
export function readForm({ body, headers }: FakeRequest): Promise<FormData> {
  return new Response(new Uint8Array(body), { headers: { 'content-type': headers['content-type'] ?? '' } }).formData();
}

/** A port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
