// One connection of `sheaf bench`, over a plain socket: the requests are bytes that were made before, and of an answer
// no more is read than where it ends. fetch takes several times as much of a machine that is often the server's too,
// and would measure itself.
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { SheafUnreachable } from '../client/errors.js';

export interface BenchAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/** As long as the client waits. */
const ANSWER_WITHIN_MS = 300_000;
const HEAD_BYTES_MAX = 64 * 1024;
const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';

interface Waiting {
  resolve(answer: BenchAnswer): void;
  reject(reason: Error): void;
}

export class BenchConnection {
  private socket: Socket | undefined;
  private isClosed = false;
  private waiting: Waiting | undefined;
  private received: Buffer[] = [];
  private receivedBytes = 0;
  /** Of the answer, once its head is there. */
  private head: Head | undefined;

  constructor(private readonly base: URL) {}

  /** One at a time. Rejects with SheafUnreachable where no answer comes, and once it is closed. */
  async ask(request: Buffer): Promise<BenchAnswer> {
    const kept = this.socket;
    try {
      return await this.sent(kept ?? this.open(), request);
    } catch (error) {
      // A server may close a connection that is kept just when it is used again.
      const isStale =
        !this.isClosed && kept !== undefined && this.receivedBytes === 0 && (error as Error).message === CLOSED;
      const failure = isStale ? await this.sent(this.open(), request).catch((again: Error) => again) : (error as Error);
      if (!(failure instanceof Error)) return failure;
      throw new SheafUnreachable(this.base.href, (failure as NodeJS.ErrnoException).code ?? failure.message);
    }
  }

  close(): void {
    this.isClosed = true;
    this.socket?.destroy();
  }

  private sent(socket: Socket, request: Buffer): Promise<BenchAnswer> {
    [this.received, this.receivedBytes, this.head] = [[], 0, undefined];
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      socket.write(request);
    });
  }

  private open(): Socket {
    const { protocol, hostname, port } = this.base;
    const host = hostname.replace(/^\[|\]$/g, '');
    const isTls = protocol === 'https:';
    const address = { host, port: Number(port) || (isTls ? 443 : 80) };
    const socket = isTls ? connectTls({ ...address, ...(!isIP(host) && { servername: host }) }) : connect(address);
    socket.setNoDelay(true).setTimeout(ANSWER_WITHIN_MS, () => socket.destroy(new Error('no answer in time')));
    socket.on('data', (piece) => this.take(piece));
    socket.on('error', (error) => this.fail(socket, error));
    socket.on('close', () => this.fail(socket, new Error(CLOSED)));
    this.socket = socket;
    return socket;
  }

  private fail(socket: Socket, reason: Error): void {
    if (this.socket !== socket) return;
    this.socket = undefined;
    this.waiting?.reject(reason);
    this.waiting = undefined;
  }

  private take(piece: Buffer): void {
    this.received.push(piece);
    this.receivedBytes += piece.length;
    this.head ??= headOf(this.received.length === 1 ? piece : (this.received = [Buffer.concat(this.received)])[0]!);
    const { head } = this;
    if (head === undefined) {
      if (this.receivedBytes > HEAD_BYTES_MAX) this.socket?.destroy(new Error('the answer is no HTTP'));
      return;
    }
    if (head.bodyBytes !== undefined && this.receivedBytes < head.bytes + head.bodyBytes) return;
    if (head.bodyBytes === undefined && !piece.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK_BYTES)) return;
    const content = (this.received.length === 1 ? piece : Buffer.concat(this.received)).subarray(head.bytes);
    const body = head.bodyBytes === undefined ? unchunked(content) : content;
    if (body !== undefined) this.answered(head, body);
  }

  private answered({ status, isLast }: Head, body: Buffer): void {
    const { waiting } = this;
    this.waiting = undefined;
    if (isLast) {
      this.socket?.destroy();
      this.socket = undefined;
    }
    waiting?.resolve({ status, body });
  }
}

const CLOSED = 'the server closed the connection';
const LAST_CHUNK_BYTES = Buffer.from(LAST_CHUNK);

interface Head {
  readonly status: number;
  /** Of the head itself, with the empty line. */
  readonly bytes: number;
  /** undefined: it comes in chunks. */
  readonly bodyBytes: number | undefined;
  /** Whether the connection ends with the answer. */
  readonly isLast: boolean;
}

/** undefined until it is whole. */
function headOf(received: Buffer): Head | undefined {
  const end = received.indexOf(HEAD_END);
  if (end < 0) return undefined;
  const text = received.toString('latin1', 0, end + 2);
  const length = /\r\ncontent-length: *(\d+)/i.exec(text);
  return {
    status: Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0),
    bytes: end + HEAD_END.length,
    bodyBytes: length ? Number(length[1]) : /\r\ntransfer-encoding: *chunked/i.test(text) ? undefined : 0,
    isLast: /\r\nconnection: *close/i.test(text),
  };
}

/** What the chunks hold; undefined where what looks like the last one stands in the midst of another. */
function unchunked(content: Buffer): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; at < content.length; ) {
    const lineEnd = content.indexOf('\r\n', at);
    const bytes = Number.parseInt(content.toString('latin1', at, lineEnd), 16);
    if (lineEnd < 0 || Number.isNaN(bytes)) return undefined;
    if (bytes === 0) return Buffer.concat(chunks);
    chunks.push(content.subarray(lineEnd + 2, lineEnd + 2 + bytes));
    at = lineEnd + 2 + bytes + 2;
  }
  return undefined;
}
