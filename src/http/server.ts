// The HTTP server. It owns the listening socket and the set of requests in progress, creates an exchange per request,
// and drains. One for each thread that serves HTTP. Runs on front threads and on the main thread.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { OperatorError } from '../base/operator-error.js';
import { Admission } from './admission.js';
import { Exchange, type ExchangeContext, RequestIds } from './exchange.js';
import { Head } from './request-context.js';
import type { HttpServerOptions } from './options.js';
import { createRouter } from './router.js';
import { emptyTemporaryDirectory } from './form.js';
import type { App, ListenSocket, Socket, Uws } from './uws.js';

/** How often the timeouts of requests in progress are checked. */
const SWEEP_MS = 100;
/**
 * The options of uWebSockets.js. Only a shared port can be listened on again at once: otherwise closed connections that
 * the system still remembers keep a server from coming back to it. But several servers can share such a port and each
 * get some of the requests, so it has to be found free before.
 */
const SHARED_PORT = 0;
const EXCLUSIVE_PORT = 1;

/** What uWebSockets.js has, but its types do not declare. */
interface Listener {
  listen(host: string, port: number, options: number, opened: (socket: ListenSocket | false) => void): unknown;
  /** Serves a connection that has been accepted elsewhere, by its descriptor. */
  adoptSocket(descriptor: number): unknown;
}

/** The address is not available. */
class ListenError extends OperatorError {
  override readonly name = 'ListenError';
}

export class HttpServer {
  private readonly app: App;
  private readonly open = new Set<Exchange>();
  private readonly admission: Admission;
  private socket: ListenSocket | undefined;
  private sweep: NodeJS.Timeout | undefined;
  private drained: Promise<void> | undefined;
  private becameIdle: () => void = () => undefined;

  constructor(
    private readonly uws: Uws,
    private readonly options: HttpServerOptions,
  ) {
    const { tls } = options;
    this.app = tls === undefined ? uws.App() : uws.SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile });
    const { limits, stripe } = options.shared ?? { limits: { stripes: 1, admission: Admission.memory(1) }, stripe: 0 };
    this.admission = new Admission(limits, stripe, options.limits);
    const { temporaryDirectory } = options.limits;
    if (temporaryDirectory !== undefined) emptyTemporaryDirectory(temporaryDirectory);
    const exchangeContext: ExchangeContext = {
      options,
      router: createRouter(options.routes),
      admission: this.admission,
      requestIds: new RequestIds(),
      left: (exchange) => this.leave(exchange),
    };
    this.app.any('/*', (response, request) => {
      // This comes first: if the thread runs out of memory in this callback, a response without it ends the process.
      response.onAborted(() => exchange.abort());
      const exchange = new Exchange(exchangeContext, response, new Head(request));
      this.open.add(exchange);
      options.counted?.(this.open.size);
      void exchange.run();
    });
  }

  /**
   * Starts to listen and resolves to the port; port 0 lets the system choose one. Rejects with the reason if the
   * address is not available.
   */
  async listen(host: string, port: number): Promise<number> {
    const app = this.app as unknown as Listener;
    await assertFree(host, port);
    const options = port === 0 ? EXCLUSIVE_PORT : SHARED_PORT;
    const socket = await new Promise<ListenSocket | false>((resolve) => app.listen(host, port, options, resolve));
    if (socket === false) throw listenError(host, port, undefined);
    this.socket = socket;
    this.startSweep();
    return this.uws.us_socket_local_port(socket as Socket);
  }

  /** Serves a connection that another thread has accepted, by its descriptor, which belongs to this server from now on. */
  adopt(descriptor: number): void {
    (this.app as unknown as Listener).adoptSocket(descriptor);
    this.startSweep();
  }

  /** The check runs after pending socket events: if this thread was blocked, the clients were not the slow side. */
  private startSweep(): void {
    this.sweep ??= setInterval(() => setImmediate(() => this.checkTimes()), SWEEP_MS).unref();
  }

  /** From now on each connection is closed after its next reply, so that clients go elsewhere before `drain`. */
  stopSoon(): void {
    this.admission.stopSoon();
  }

  /**
   * Stops listening, answers 503 `shutting_down` to new requests on open connections, waits for requests in progress
   * (including handlers whose client has disconnected), and closes every connection. After `timeoutMs` the rest is cut
   * off.
   */
  drain(timeoutMs: number): Promise<void> {
    this.drained ??= this.drainOnce(timeoutMs);
    return this.drained;
  }

  get underWay(): number {
    return this.open.size;
  }

  get heldBytes(): number {
    return this.admission.bytesHeld;
  }

  private async drainOnce(timeoutMs: number): Promise<void> {
    this.admission.close();
    if (this.socket !== undefined) this.uws.us_listen_socket_close(this.socket);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      // Deferred, because the last reply may still be in uWebSockets.js further up the call stack.
      this.becameIdle = () => setImmediate(() => (clearTimeout(timer), resolve()));
      if (this.open.size === 0) this.becameIdle();
    });
    clearInterval(this.sweep);
    this.app.close();
  }

  private leave(exchange: Exchange): void {
    this.open.delete(exchange);
    this.options.counted?.(this.open.size);
    if (this.open.size === 0) this.becameIdle();
  }

  private checkTimes(): void {
    const nowMs = performance.now();
    for (const exchange of this.open) exchange.checkTime(nowMs);
  }
}

/** Creates a server for these routes. It does not listen yet. */
export function createHttpServer(uws: Uws, options: HttpServerOptions): HttpServer {
  return new HttpServer(uws, options);
}

/** Says in words for the operator why the address is not available. */
export function listenError(host: string, port: number, cause: NodeJS.ErrnoException | undefined): ListenError {
  const reasons: Record<string, string> = {
    EADDRINUSE: 'the port is in use',
    EACCES: 'this user may not use the port',
    EADDRNOTAVAIL: 'this machine has no such address',
    ENOTFOUND: 'the host name is unknown',
  };
  const reason = reasons[cause?.code ?? ''] ?? cause?.message ?? 'the reason is unknown';
  return new ListenError(
    `Cannot listen on ${host}:${port}: ${reason}; choose another by SHEAF_SERVER__HOST and SHEAF_SERVER__PORT`,
    { cause },
  );
}

/**
 * Throws what keeps a port from being listened on: uWebSockets.js gives no reason, but `node:net` does for the same
 * address.
 */
async function assertFree(host: string, port: number): Promise<void> {
  const probe = createServer();
  try {
    await once(probe.listen(port, host), 'listening');
  } catch (error) {
    throw listenError(host, port, error as NodeJS.ErrnoException);
  }
  await new Promise((resolve) => probe.close(resolve));
}
