// The front threads: each has an HTTP server of its own, and all of them serve one port. The main thread accepts
// connections and deals them out in turn. It sends each change of the shared state (catalog, keys) to every front
// thread, which takes up all that has been sent before it starts a request; it answers their calls; and it replaces a
// front thread that dies, whose connections close. Runs on the main thread.
import { closeSync } from 'node:fs';
import { type Server, type Socket, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { ERROR_CODEC } from '../api/errors.js';
import type { Log, LogNote, ReadyNote } from '../base/log.js';
import { RpcPeer, type RpcHandler } from '../base/rpc.js';
import { duplicateSocket } from '../base/native-threads.js';
import { internalErrorOf } from '../base/thread.js';
import { FRONT_CELLS, type FrontNote } from './front-messages.js';
import { LOAD_MS_MAX } from './worker-pool.js';

/** Connections that wait in the system to be accepted. */
const BACKLOG = 4096;
/** Connections that wait here while no front thread is ready. */
const WAITING_MAX = 1024;
/** A front thread that dies sooner after its start is replaced only after this time. */
const RESTART_MS = 1000;

/** A connection of which only the descriptor matters: `node:net` has no public name for it. */
type Accepted = Socket & { readonly _handle: { readonly fd: number } };

interface FrontPoolOptions {
  readonly threads: number;
  /** What a front thread gets when it starts, beside its ports and its cells. */
  readonly startOf: (front: number) => object;
  /** The messages that bring a new front thread up to date. */
  readonly snapshot: () => unknown[];
  /** The calls that a front thread may make. */
  readonly handlersOf: (front: number, peer: () => RpcPeer) => Readonly<Record<string, RpcHandler>>;
  readonly log: Log;
  /** Called when a front thread has ended and nothing runs in it any more. `cells`: see FRONT_CELLS. */
  readonly exited: (front: number, threadId: number, cells: Int32Array) => void;
}

interface Front {
  readonly number: number;
  readonly worker: Worker;
  readonly state: MessagePort;
  readonly peer: RpcPeer;
  /** See FRONT_CELLS. */
  readonly cells: Int32Array;
  readonly startedAtMs: number;
  /** Descriptors that the thread may not have taken yet, and how many it was sent before them. */
  readonly dealt: number[];
  taken: number;
  isReady: boolean;
}

export class FrontPool {
  private readonly fronts: Front[] = [];
  private readonly waiting: Accepted[] = [];
  private server: Server | undefined;
  private turn = 0;
  private hasClosed = false;

  constructor(private readonly options: FrontPoolOptions) {
    this.start(0);
  }

  /** The threads that serve requests now. */
  get threads(): Worker[] {
    return this.fronts.map(({ worker }) => worker);
  }

  /** The sum of a cell over all front threads; see FRONT_CELLS. */
  sum(cell: keyof typeof FRONT_CELLS): number {
    return this.fronts.reduce((sum, { cells }) => sum + Atomics.load(cells, FRONT_CELLS[cell]), 0);
  }

  /** Resolves when every front thread can take requests, or has not become ready in time. */
  async whenReady(): Promise<void> {
    const untilMs = performance.now() + LOAD_MS_MAX;
    const isMissing = (): boolean =>
      this.fronts.length < this.options.threads || this.fronts.some(({ isReady }) => !isReady);
    while (!this.hasClosed && isMissing() && performance.now() < untilMs) await sleep(1);
  }

  /** Starts to accept connections, and resolves to the port. Rejects with the error of `node:net`. */
  listen(host: string, port: number): Promise<number> {
    // The sockets are only passed on, so nothing is read from them here.
    const server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => this.deal(socket as Accepted));
    this.server = server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port, backlog: BACKLOG }, () => {
        server.off('error', reject);
        server.on('error', (error) =>
          this.options.log.error({ reason: error.message }, 'a connection was not accepted'),
        );
        resolve((server.address() as { port: number }).port);
      });
    });
  }

  /**
   * Sends a change of the shared state to all front threads. From the return on, no front thread starts a request, or
   * looks something up in the catalog, without having applied it.
   */
  broadcast(change: unknown): void {
    for (const front of this.fronts) post(front, change);
  }

  /** Calls all front threads; those that die meanwhile are left out of the answer. */
  async callAll<T>(op: string, input?: unknown): Promise<T[]> {
    const answers = await Promise.allSettled(
      this.fronts.filter(({ isReady }) => isReady).map(({ peer }) => peer.call<T>(op, input)),
    );
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  }

  /** Accepts no more connections, and lets the front threads finish their requests within `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    this.server?.close();
    for (const socket of this.waiting.splice(0)) socket.destroy();
    await this.callAll('drain', timeoutMs);
  }

  /** Ends the threads. Call it after `drain`. */
  async close(): Promise<void> {
    await this.whenReady();
    this.hasClosed = true;
    this.server?.close();
    await Promise.all(this.fronts.map(({ worker }) => worker.terminate()));
  }

  /**
   * Makes a thread end amid its requests, as an error in it would. For tests. `terminate` would end it between a request
   * and its handler too, upon which uWebSockets.js aborts the process.
   */
  async kill(front: number): Promise<void> {
    await this.whenReady();
    const { worker } = this.fronts[front] as Front;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage({ end: true } satisfies FrontNote);
    await ended;
  }

  private start(number: number): void {
    const [state, calls] = [new MessageChannel(), new MessageChannel()];
    const cells = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * Object.keys(FRONT_CELLS).length));
    const worker = new Worker(fileURLToPath(new URL('../../workers/front/worker.js', import.meta.url)), {
      workerData: { ...this.options.startOf(number), state: state.port2, calls: calls.port2, cells },
      transferList: [state.port2, calls.port2],
    });
    const { log, handlersOf } = this.options;
    const handlers = handlersOf(number, () => front.peer);
    const peer = new RpcPeer(calls.port1, handlers, ERROR_CODEC, (error, op) =>
      log.error({ op, error: internalErrorOf(error) }, 'a call of a front thread failed'),
    );
    const front: Front = {
      number,
      worker,
      state: state.port1,
      peer,
      cells,
      startedAtMs: performance.now(),
      dealt: [],
      taken: 0,
      isReady: false,
    };
    this.fronts[number] = front;
    for (const change of this.options.snapshot()) post(front, change);
    this.watch(front);
  }

  private watch(front: Front): void {
    const { log } = this.options;
    const { worker } = front;
    const { threadId } = worker;
    worker.on('message', ({ ready, level, fields = {}, message = '' }: Partial<ReadyNote & LogNote>) => {
      if (ready !== undefined) this.ready(front);
      if (level) log[level](fields, message);
    });
    worker.on('error', (error: Error) => log.error({ error: error.stack }, 'a front thread died'));
    worker.on('exit', () => void this.replace(front, threadId));
  }

  /** The others start once the first one serves, so that the server is ready as soon with many as with one. */
  private ready(front: Front): void {
    front.isReady = true;
    while (this.fronts.length < this.options.threads && !this.hasClosed) this.start(this.fronts.length);
    for (const socket of this.waiting.splice(0)) this.deal(socket);
  }

  private async replace(front: Front, threadId: number): Promise<void> {
    front.isReady = false;
    front.peer.end();
    front.state.close();
    for (const descriptor of untaken(front)) closeSync(descriptor);
    this.options.exited(front.number, threadId, front.cells);
    const isEarly = performance.now() - front.startedAtMs < RESTART_MS;
    if (isEarly && !this.hasClosed) await sleep(RESTART_MS);
    if (!this.hasClosed) this.start(front.number);
  }

  private deal(socket: Accepted): void {
    const front = this.nextReady();
    if (!front) {
      if (this.waiting.length < WAITING_MAX) this.waiting.push(socket);
      else socket.destroy();
      return;
    }
    // A connection that the client has closed already has no descriptor any more.
    const descriptor = socket.destroyed ? -1 : duplicateSocket(socket._handle.fd);
    socket.destroy();
    if (descriptor < 0) return;
    untaken(front).push(descriptor);
    front.worker.postMessage({ socket: descriptor } satisfies FrontNote);
  }

  private nextReady(): Front | undefined {
    for (let tried = 0; tried < this.fronts.length; tried++) {
      const front = this.fronts[this.turn++ % this.fronts.length] as Front;
      if (front.isReady) return front;
    }
    return undefined;
  }
}

/** The message is sent before it is counted, so a thread that sees the count finds the message. */
function post({ state, cells }: Front, change: unknown): void {
  state.postMessage(change);
  Atomics.add(cells, FRONT_CELLS.sent, 1);
}

/** The descriptors that the thread has not taken yet. It counts a descriptor before it takes it. */
function untaken(front: Front): number[] {
  const taken = Atomics.load(front.cells, FRONT_CELLS.sockets);
  front.dealt.splice(0, taken - front.taken);
  front.taken = taken;
  return front.dealt;
}
