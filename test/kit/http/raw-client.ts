// A bare HTTP/1.1 client over one socket: sends exactly the bytes that a test gives it and reads replies one by one, so
// that tests see what fetch hides (connection reuse, interim replies, bytes after a reply).
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawReply {
  status: number;
  /** Values by lower-case header name. */
  headers: Record<string, string>;
  body: Buffer;
}

const HEAD_END = '\r\n\r\n';

export class RawClient {
  private readonly chunks: Buffer[] = [];
  private receivedBytes = 0;
  private isClosed = false;
  private wake = (): void => undefined;

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.chunks.push(chunk);
      this.receivedBytes += chunk.length;
      this.wake();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.isClosed = true;
      this.wake();
    });
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** Sends a request with the given headers and Host. */
  request(method: string, path: string, headers: Record<string, string> = {}, body: string | Uint8Array = ''): void {
    const lines = Object.entries({ Host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    this.send(Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), Buffer.from(body)]));
  }

  /** The next reply. `hasBody` is false for a reply to HEAD, for an interim reply, and to read chunks one by one. */
  async reply({ hasBody = true } = {}): Promise<RawReply> {
    await this.until(() => this.received().includes(HEAD_END));
    const headEnd = this.received().indexOf(HEAD_END);
    const [statusLine = '', ...lines] = this.received().toString('latin1', 0, headEnd).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
    );
    const bodyAt = headEnd + HEAD_END.length;
    if (hasBody && headers['transfer-encoding'] === 'chunked') {
      this.keep(this.received().subarray(bodyAt));
      return { status: Number(statusLine.split(' ')[1]), headers, body: await this.chunkedBody() };
    }
    const endAt = bodyAt + (hasBody ? Number(headers['content-length'] ?? 0) : 0);
    await this.until(() => this.receivedBytes >= endAt);
    const received = this.received();
    this.keep(received.subarray(endAt));
    return { status: Number(statusLine.split(' ')[1]), headers, body: received.subarray(bodyAt, endAt) };
  }

  /** The next chunk of a chunked body; empty for the last one. The line end of a chunk is read with the next chunk. */
  async chunk(): Promise<Buffer> {
    const sizeLine = /^(?:\r\n)?([0-9a-f]+)\r\n/i;
    const startOf = (): string => this.received().toString('latin1', 0, 32);
    await this.until(() => sizeLine.test(startOf()));
    const [line = '', size = ''] = sizeLine.exec(startOf()) ?? [];
    const bytes = Number.parseInt(size, 16);
    const endAt = line.length + bytes;
    const keptAt = bytes === 0 ? endAt + 2 : endAt;
    await this.until(() => this.receivedBytes >= keptAt);
    const received = this.received();
    this.keep(received.subarray(keptAt));
    return received.subarray(line.length, endAt);
  }

  /** Waits until the server has closed the connection. A reset counts too: a client that is still sending meets one. */
  async closed(): Promise<void> {
    if (!this.isClosed) await new Promise<void>((resolve) => void this.socket.once('close', () => resolve()));
  }

  destroy(): void {
    this.socket.destroy();
  }

  private async chunkedBody(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for (let chunk = await this.chunk(); chunk.length > 0; chunk = await this.chunk()) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /**
   * Everything received and not yet read. The chunks are joined on demand, so that large replies are not copied
   * repeatedly.
   */
  private received(): Buffer {
    const joined = Buffer.concat(this.chunks);
    this.keep(joined);
    return joined;
  }

  private keep(bytes: Buffer): void {
    this.chunks.splice(0, this.chunks.length, bytes);
    this.receivedBytes = bytes.length;
  }

  private async until(isThere: () => boolean): Promise<void> {
    while (!isThere()) {
      if (this.isClosed)
        throw new Error(
          `the server closed the connection; left over: ${JSON.stringify(this.received().toString('latin1', 0, 200))}`,
        );
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }
}

export const jsonOf = (reply: RawReply): Record<string, unknown> =>
  JSON.parse(reply.body.toString()) as Record<string, unknown>;
