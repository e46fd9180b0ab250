// A closed loop over plain sockets: requests are prebuilt bytes, and of an answer only status and length are parsed. It
// takes a fraction of autocannon's CPU on the machine that it shares with the server.
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { type CannonRequest, type ClosedLoopOptions, type ClosedLoopResult, latenciesOf } from './closed-loop.js';

const HEAD_END = '\r\n\r\n';
/** Response heads are shorter than this. */
const HEAD_BYTES_MAX = 4096;

/** A connection that sends one request at a time until the time is over. */
class Connection {
  private head = '';
  /** Bytes of the answer that are still to come; undefined until its head is complete. */
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

  /** Sends requests until the time is over. Throws if an answer is not 2xx or does not come. */
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

  /** Reads a response head; returns how much of the body is still to come, or undefined if the head is incomplete. */
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
 * Every connection cycles through all requests, starting at a different one. Throws if an answer was not 2xx or did not
 * come.
 */
export async function plainClosedLoop({
  url,
  connections,
  seconds,
  requests,
}: ClosedLoopOptions): Promise<ClosedLoopResult> {
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
