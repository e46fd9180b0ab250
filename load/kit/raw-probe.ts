// One connection that asks for an address again and again, with as little work of its own as can be: what it measures
// is the server's. Used by load programs that look for standstills.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';

export class RawProbe {
  private received = '';
  private answered: () => void = () => undefined;

  private constructor(
    private readonly socket: Socket,
    private readonly host: string,
  ) {
    socket.setNoDelay(true).setEncoding('latin1');
    socket.on('data', (text: string) => {
      this.received += text;
      if (this.isWhole()) this.answered();
    });
  }

  static async open(url: string): Promise<RawProbe> {
    const { hostname, port, host } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new RawProbe(socket, host);
  }

  /** Resolves when the answer is here in full. */
  ask(path: string): Promise<void> {
    this.received = '';
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: ${this.host}\r\n\r\n`);
    return new Promise((resolve) => (this.answered = resolve));
  }

  private isWhole(): boolean {
    const end = this.received.indexOf(HEAD_END);
    const length = Number(/content-length: (\d+)/i.exec(this.received)?.[1]);
    return end >= 0 && this.received.length >= end + HEAD_END.length + length;
  }
}
