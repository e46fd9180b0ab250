// Connections between the nodes of a cluster, over which they ask each other for searches, work and copies: frames over TLS,
// with many questions under way on each connection. Each process makes a key when it starts and tells it to the other nodes
// over the command log, so that whoever may read the log may ask, and nothing has to be configured. Main thread and front
// threads each ask over connections of their own and answer at ports of their own.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { type Server, type TLSSocket, type TlsOptions, connect, createServer } from 'node:tls';
import type { Log } from '../base/log.js';
import { OperatorError } from '../base/operator-error.js';

/** Where a process answers the questions of other nodes. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
  /** The key of its connections: 32 bytes in base64. */
  readonly key: string;
  /** The ports of its front threads, which answer searches. */
  readonly fronts?: readonly number[];
}

/** Where a thread of a process answers. */
type LinkAddress = Omit<NodeAddress, 'fronts'>;

/** What a node asks another one about. */
const TOPICS = ['copy', 'search', 'job', 'queries'] as const;
export type Topic = (typeof TOPICS)[number];

/** An answer in memory that is used again: `sent` is called once it has been sent, or will not be. */
export interface LentAnswer {
  readonly bytes: Uint8Array;
  readonly sent: () => void;
}

export type Answering = (question: Uint8Array) => Promise<Uint8Array | LentAnswer>;

/** Rejects if the node does not answer in time, cannot be reached, or cannot answer. */
export type NodeAsk = (about: Topic, node: string, question: Uint8Array, timeoutMs: number) => Promise<Buffer>;

/** A key of both sides in place of certificates, with a secret of its own for each connection (RFC 7905). */
const SECURED = {
  ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
} as const satisfies TlsOptions;
const KEY_BYTES = 32;

/** Bytes after these, number of the question, and kind. */
const HEADER_BYTES = 9;
const FRAME_BYTES_MAX = 256 * 1024 * 1024;
/** Kinds of questions are the places of their topics, and this one, which is answered at once. */
const ARE_YOU_THERE = 255;
/** Kinds of answers. */
const ANSWERED = 0;
const FAILED = 1;

const IDS_MAX = 0xffff_ffff;

const TICK_MS = 500;
const CONNECT_MS = 1500;
/** A node that could not be reached is not tried again for so long. */
const PAUSE_MS = 2000;
/** A node that owes answers and says nothing for so long does not answer any more. */
const SILENT_MS = 5000;
const IDLE_MS = 60_000;
const HANDSHAKE_MS = 5000;
const CONNECTIONS_MAX = 4096;

/** Cuts what a connection receives into frames. Exported for its test. */
export class FrameReader {
  /** The begin of a header, of which the rest has not been received. */
  private cut: Buffer | undefined;
  private id = 0;
  private kind = 0;
  /** A frame that has not been received whole. */
  private payload: Buffer | undefined;
  private payloadBytes = 0;

  constructor(private readonly take: (id: number, kind: number, payload: Buffer) => void) {}

  /** Throws for a frame that is too large. */
  read(received: Buffer): void {
    const chunk = this.cut ? Buffer.concat([this.cut, received]) : received;
    this.cut = undefined;
    for (let at = this.payload ? this.fill(chunk, 0) : 0; at < chunk.length; ) {
      const left = chunk.length - at;
      if (left < HEADER_BYTES) {
        this.cut = chunk.subarray(at);
        return;
      }
      const length = chunk.readUInt32LE(at);
      if (length > FRAME_BYTES_MAX) throw new Error('a frame is too large');
      this.id = chunk.readUInt32LE(at + 4);
      this.kind = chunk.readUInt8(at + 8);
      at += HEADER_BYTES;
      if (chunk.length - at >= length) {
        this.take(this.id, this.kind, chunk.subarray(at, at + length));
        at += length;
        continue;
      }
      this.payload = Buffer.allocUnsafeSlow(length);
      this.payloadBytes = 0;
      at = this.fill(chunk, at);
    }
  }

  /** Adds to the frame that has not been received whole. Returns where the rest of the chunk begins. */
  private fill(chunk: Buffer, from: number): number {
    const payload = this.payload as Buffer;
    const taken = chunk.copy(payload, this.payloadBytes, from);
    this.payloadBytes += taken;
    if (this.payloadBytes === payload.length) {
      this.payload = undefined;
      this.take(this.id, this.kind, payload);
    }
    return from + taken;
  }
}

/** Calls `take` with the frames that a connection receives. One that sends what is no frame is ended. */
function onFrames(socket: TLSSocket, take: (id: number, kind: number, payload: Buffer) => void): void {
  const reader = new FrameReader(take);
  socket.on('data', (chunk) => {
    try {
      reader.read(chunk);
    } catch (error) {
      socket.destroy(error as Error);
    }
  });
}

/** A payload of so many bytes is sent by itself, because copying it costs more than another write. */
const LARGE_BYTES = 64 * 1024;

/** Sends frames; what comes up at the same time is encrypted and sent together. */
class FrameWriter {
  private waiting: Uint8Array[] = [];

  constructor(private readonly socket: TLSSocket) {}

  write(id: number, kind: number, payload: Uint8Array, sent?: () => void): void {
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    header.writeUInt32LE(payload.length, 0);
    header.writeUInt32LE(id, 4);
    header.writeUInt8(kind, 8);
    if (this.waiting.push(header) === 1) setImmediate(this.flush);
    if (payload.length < LARGE_BYTES && !sent) return void this.waiting.push(payload);
    this.flush();
    this.send(payload, sent);
  }

  private readonly flush = (): void => {
    if (this.waiting.length > 0) this.send(Buffer.concat(this.waiting));
    this.waiting = [];
  };

  private send(bytes: Uint8Array, sent: () => void = () => undefined): void {
    if (this.socket.writable) this.socket.write(bytes, sent);
    else sent();
  }
}

interface Waiting {
  readonly resolve: (answer: Buffer) => void;
  readonly reject: (error: Error) => void;
  readonly untilMs: number;
}

/** A connection to another node. */
class Link {
  private readonly socket: TLSSocket;
  private readonly writer: FrameWriter;
  private readonly waiting = new Map<number, Waiting>();
  private asked = 0;
  private readonly startedAtMs = performance.now();
  /** When something was received, or the first of the questions under way was sent. */
  private heardAtMs = this.startedAtMs;
  private isSecured = false;
  private problem = 'the connection has ended';

  /** `ended` is called once, with whether the connection was made, and why it has ended. */
  constructor(
    readonly address: LinkAddress,
    node: string,
    ended: (wasSecured: boolean, problem: string) => void,
  ) {
    const { host, port, key } = address;
    const psk = Buffer.from(key, 'base64');
    this.socket = connect({
      host,
      port,
      ...SECURED,
      pskCallback: () => ({ psk, identity: node }),
      // The key says who answers.
      checkServerIdentity: () => undefined,
    });
    this.writer = new FrameWriter(this.socket);
    this.socket.on('data', () => (this.heardAtMs = performance.now()));
    onFrames(this.socket, (id, kind, payload) => this.answered(id, kind, payload));
    this.socket
      .setNoDelay(true)
      .on('secureConnect', () => (this.isSecured = true))
      .on('error', ({ message }) => (this.problem = message))
      .on('close', () => {
        for (const { reject } of this.waiting.values()) reject(new Error(this.problem));
        this.waiting.clear();
        ended(this.isSecured, this.problem);
      });
  }

  ask(about: Topic, question: Uint8Array, timeoutMs: number): Promise<Buffer> {
    const nowMs = performance.now();
    if (this.waiting.size === 0) this.heardAtMs = nowMs;
    const id = (this.asked = (this.asked % IDS_MAX) + 1);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, untilMs: nowMs + timeoutMs });
      this.writer.write(id, TOPICS.indexOf(about), question);
    });
  }

  end(problem: string): void {
    this.problem = problem;
    this.socket.destroy();
  }

  /** Gives up what takes too long, and the connection if the other side is silent. */
  tick(nowMs: number): void {
    if (!this.isSecured) return nowMs - this.startedAtMs > CONNECT_MS ? this.end('it does not answer') : undefined;
    const silentMs = nowMs - this.heardAtMs;
    if (this.waiting.size === 0) return silentMs > IDLE_MS ? this.end('nothing was asked') : undefined;
    if (silentMs > SILENT_MS) return this.end('it does not answer any more');
    for (const [id, { untilMs, reject }] of this.waiting)
      if (nowMs > untilMs) {
        this.waiting.delete(id);
        reject(new Error('it does not answer in time'));
      }
    if (silentMs > TICK_MS) this.writer.write(0, ARE_YOU_THERE, new Uint8Array());
  }

  private answered(id: number, kind: number, payload: Buffer): void {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    if (kind === ANSWERED) waiting?.resolve(payload);
    else waiting?.reject(new Error('it cannot answer'));
  }
}

interface NodeLinksOptions {
  /** The id of this node. */
  readonly node: string;
  /** Where another node answers; undefined while that has not been heard. */
  readonly addressOf: (node: string) => NodeAddress | undefined;
  /** The front thread that asks others, which front threads answer; absent for the main thread. */
  readonly front?: number;
  readonly log: Pick<Log, 'warn'>;
}

/** Asks other nodes, each over one connection that is opened when it is needed. */
export class NodeLinks {
  private readonly links = new Map<string, Link>();
  /** Nodes that could not be reached, with the key of the process and the time of the last attempt. */
  private readonly unreached = new Map<string, { readonly key: string; readonly atMs: number }>();
  private readonly timer: NodeJS.Timeout;
  private tickedAtMs = performance.now();

  constructor(private readonly options: NodeLinksOptions) {
    this.timer = setInterval(() => this.tick(), TICK_MS).unref();
  }

  close(): void {
    clearInterval(this.timer);
    for (const link of this.links.values()) link.end('this node stops');
  }

  readonly ask: NodeAsk = async (about, node, question, timeoutMs) => {
    const address = this.options.addressOf(node);
    if (!address) throw new Error('it has not told where it answers');
    const { front } = this.options;
    const { host, port, key, fronts = [] } = address;
    const own = front === undefined ? port : (fronts[front % fronts.length] ?? port);
    return this.linkTo(node, { host, port: own, key }).ask(about, question, timeoutMs);
  };

  private linkTo(node: string, address: LinkAddress): Link {
    const known = this.links.get(node);
    if (known?.address.key === address.key && known.address.port === address.port) return known;
    known?.end('it answers elsewhere now');
    const { key, atMs = -Infinity } = this.unreached.get(node) ?? {};
    if (key === address.key && performance.now() - atMs < PAUSE_MS) throw new Error('it was not reached');
    const link: Link = new Link(address, this.options.node, (wasSecured, reason) => {
      if (this.links.get(node) === link) this.links.delete(node);
      if (wasSecured) this.unreached.delete(node);
      else this.notReached(node, address, reason);
    });
    this.links.set(node, link);
    return link;
  }

  private notReached(node: string, { host, port, key }: LinkAddress, reason: string): void {
    if (this.unreached.get(node)?.key !== key)
      this.options.log.warn({ node, host, port, reason }, 'another node cannot be reached at its address');
    this.unreached.set(node, { key, atMs: performance.now() });
  }

  private tick(): void {
    const nowMs = performance.now();
    // Where this thread has stood still, it has not read what others have sent meanwhile.
    const hasStood = nowMs - this.tickedAtMs > 2 * TICK_MS;
    this.tickedAtMs = nowMs;
    if (!hasStood) for (const link of this.links.values()) link.tick(nowMs);
  }
}

/** Where the threads of a process answer other nodes, and what others are told. Plain data for other threads. */
export interface Listening {
  /** `host:port` of the main thread; front threads take the ports after it. Port 0: any free ones. */
  readonly listen: string;
  /** The same as others see it; '' if they see the same. */
  readonly advertised: string;
  /** The key of the process. */
  readonly key: string;
}

export const newKey = (): string => randomBytes(KEY_BYTES).toString('base64');

/** Answers the questions of other nodes to a thread of this one. */
export class LinkServer {
  private readonly answers = new Map<number, Answering>();
  private readonly sockets = new Set<TLSSocket>();

  private constructor(
    private readonly server: Server,
    /** Where others reach it. */
    readonly address: NodeAddress,
  ) {}

  /**
   * `front`: the number of the front thread that answers; absent for the main thread. Throws OperatorError if it cannot
   * listen.
   */
  static async listen({ listen, advertised, key }: Listening, front?: number): Promise<LinkServer> {
    const psk = Buffer.from(key, 'base64');
    const server = createServer({ ...SECURED, pskCallback: () => psk, handshakeTimeout: HANDSHAKE_MS });
    server.maxConnections = CONNECTIONS_MAX;
    const [host, first] = hostAndPort(listen);
    const portOf = (port: number): number => (front === undefined || port === 0 ? port : port + 1 + front);
    server.listen(portOf(first), host);
    await once(server, 'listening').catch((error: unknown) => {
      throw new OperatorError(
        `the node cannot listen for other nodes at ${listen} (${(error as Error).message}): set cluster.listen`,
      );
    });
    const [toldHost, toldFirst] = hostAndPort(advertised === '' ? `${reachableHost(host)}:0` : advertised);
    const { port } = server.address() as AddressInfo;
    const links = new LinkServer(server, { host: toldHost, port: portOf(toldFirst) || port, key });
    server.on('secureConnection', (socket) => links.serve(socket)).on('tlsClientError', () => undefined);
    return links;
  }

  /** Sets how questions about something are answered. */
  on(about: Topic, answer: Answering): void {
    this.answers.set(TOPICS.indexOf(about), answer);
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private serve(socket: TLSSocket): void {
    const writer = new FrameWriter(socket);
    onFrames(socket, (id, kind, question) => {
      if (kind === ARE_YOU_THERE) return writer.write(id, ANSWERED, new Uint8Array());
      this.answer(kind, question).then(
        (answer) => {
          const { bytes, sent } = 'bytes' in answer ? answer : { bytes: answer };
          writer.write(id, ANSWERED, bytes, sent);
        },
        // Who asks hears no more of a failure, and asks again or another node.
        () => writer.write(id, FAILED, new Uint8Array()),
      );
    });
    this.sockets.add(socket);
    socket
      .setNoDelay(true)
      .setTimeout(2 * IDLE_MS, () => socket.destroy())
      .on('error', () => undefined)
      .on('close', () => this.sockets.delete(socket));
  }

  private async answer(kind: number, question: Uint8Array): ReturnType<Answering> {
    const answer = this.answers.get(kind);
    if (!answer) throw new Error('nobody answers that');
    return answer(question);
  }
}

function hostAndPort(text: string): [host: string, port: number] {
  const at = text.lastIndexOf(':');
  return [text.slice(0, at).replace(/^\[(.*)\]$/, '$1'), Number(text.slice(at + 1))];
}

/** An address of this machine for others, where it listens on all. */
function reachableHost(host: string): string {
  if (host !== '0.0.0.0' && host !== '::') return host;
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? hostname();
}
