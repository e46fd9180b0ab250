// A network between processes of this machine that can be cut: links that pass on what they get, or keep it back in one
// direction or both until they are whole again, as TCP does when packets are lost.
import { type Server, type Socket, connect, createServer } from 'node:net';
import { freePort } from './server.js';

/** Which direction of a link is cut, seen from the side that has connected. */
export type Cut = 'out' | 'in' | 'both';

/** The same, seen from the other side. */
const REVERSED: Readonly<Record<Cut, Cut>> = { out: 'in', in: 'out', both: 'both' };

interface Link {
  readonly from: string;
  readonly to: string;
  readonly sockets: Set<{ readonly near: Socket; readonly far: Socket }>;
  readonly server: Server;
  cut: Cut | undefined;
}

export class Network {
  private readonly links: Link[] = [];

  /** A port of this machine that leads from one process to a port of another. */
  async link(from: string, to: string, port: number): Promise<number> {
    const own = await freePort();
    const sockets: Link['sockets'] = new Set();
    const server = createServer((near) => {
      const far = connect(port, '127.0.0.1');
      const pair = { near, far };
      sockets.add(pair);
      near.on('data', (bytes) => far.write(bytes));
      far.on('data', (bytes) => near.write(bytes));
      for (const socket of [near, far])
        socket
          .on('error', () => undefined)
          .on('close', () => {
            sockets.delete(pair);
            near.destroy();
            far.destroy();
          });
      hold(pair, link.cut);
    });
    const link: Link = { from, to, sockets, server, cut: undefined };
    this.links.push(link);
    await new Promise<void>((resolve) => server.listen(own, '127.0.0.1', resolve));
    return own;
  }

  /** Cuts the links from and to a process, so that nothing gets through `cut` until `heal`. */
  cut(name: string, cut: Cut): void {
    for (const link of this.links) {
      if (link.from !== name && link.to !== name) continue;
      this.set(link, link.from === name ? cut : REVERSED[cut]);
    }
  }

  /** Cuts the links between two processes. */
  cutBetween(a: string, b: string, cut: Cut): void {
    for (const link of this.links) {
      if (link.from === a && link.to === b) this.set(link, cut);
      if (link.from === b && link.to === a) this.set(link, REVERSED[cut]);
    }
  }

  heal(): void {
    for (const link of this.links) this.set(link, undefined);
  }

  close(): void {
    for (const { server, sockets } of this.links) {
      server.close();
      for (const { near, far } of sockets) [near, far].forEach((socket) => socket.destroy());
    }
  }

  private set(link: Link, cut: Cut | undefined): void {
    link.cut = cut;
    for (const pair of link.sockets) hold(pair, cut);
  }
}

function hold({ near, far }: { readonly near: Socket; readonly far: Socket }, cut: Cut | undefined): void {
  for (const [socket, direction] of [
    [near, 'out'],
    [far, 'in'],
  ] as const)
    if (cut === direction || cut === 'both') socket.pause();
    else socket.resume();
}
