// Connections over all front threads of a server: the main thread deals connections in turn, so one client that holds
// several reaches every front thread.
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http';
import type { Socket } from 'node:net';
import type { Worker } from 'node:worker_threads';
import type { FrontPool } from '../../src/pool/front-pool.js';
import type { TestServer } from './server.js';

export interface FrontAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly json: Record<string, any>;
}

/** A connection that stays open; when it has been closed, the next request opens another. */
export class Connection {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });
  /** The local port of the latest request. */
  localPort = 0;

  constructor(
    private readonly port: number,
    private readonly headers: Record<string, string> = {},
  ) {}

  /** Rejects if the connection closes before the answer is complete. A `body` that is no text and no bytes is JSON. */
  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<FrontAnswer> {
    const raw = typeof body === 'string' || body instanceof Uint8Array ? body : undefined;
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const type: Record<string, string> = sent === undefined || raw ? {} : { 'content-type': 'application/json' };
    const answer = await this.open(method, path, { ...type, ...headers }, (out) => out.end(sent));
    let text = '';
    answer.setEncoding('latin1');
    for await (const piece of answer) text += piece;
    const isJson = (answer.headers['content-type'] ?? '').startsWith('application/json');
    const json = isJson && text ? (JSON.parse(text) as Record<string, any>) : {};
    return { status: answer.statusCode ?? 0, headers: answer.headers, text, json };
  }

  /** Resolves when the head of the answer has come. */
  open(
    method: string,
    path: string,
    headers: Record<string, string>,
    write: (out: ReturnType<typeof request>) => void,
  ): Promise<IncomingMessage> {
    const options: RequestOptions = { agent: this.agent, host: '127.0.0.1', port: this.port, method, path };
    return new Promise((resolve, reject) => {
      const out = request({ ...options, headers: { ...this.headers, ...headers } }, resolve);
      out.on('error', reject);
      out.on('socket', (socket: Socket) => {
        const note = (): void => void (this.localPort = socket.localPort ?? 0);
        if (socket.connecting) socket.once('connect', note);
        else note();
      });
      write(out);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}

/** Opens so many connections, one after the other, so that each front thread gets its share of them. */
export async function connections(
  server: TestServer,
  count: number,
  headers: Record<string, string> = {},
): Promise<Connection[]> {
  await frontPoolOf(server).whenReady();
  const opened = Array.from({ length: count }, () => new Connection(server.port, headers));
  for (const connection of opened) await connection.call('GET', '/health/live');
  return opened;
}

export const frontPoolOf = (server: TestServer): FrontPool => server.parts.fronts['pool'] as FrontPool;

/** Notes which thread each connection is dealt to, by the port of the client. */
export function watchDeals(pool: FrontPool): Map<number, Worker> {
  const dealt = new Map<number, Worker>();
  const watched = pool as unknown as { deal(socket: Socket): void; turn: number };
  const deal = watched.deal.bind(pool);
  watched.deal = (socket) => {
    const { remotePort = 0 } = socket;
    deal(socket);
    const worker = pool.threads[(watched.turn - 1) % pool.threads.length];
    if (worker && pool['waiting'].length === 0) dealt.set(remotePort, worker);
  };
  return dealt;
}
