// The door. Owns the listening socket and the set of requests under way, makes an Exchange for each request, and
// drains. Made by src/cli/serve.ts, on the front thread; one for each process.
import { createServer } from 'node:net';
import { OperatorError } from '../base/operator-error.js';
import { Admission } from './admission.js';
import { Exchange, type Floor, RequestIds } from './exchange.js';
import { Head } from './request-context.js';
import type { HttpServerOptions } from './options.js';
import { createRouter } from './router.js';
import { emptyTemporaryDirectory } from './form.js';
import type { App, ListenSocket, Socket, Uws } from './uws.js';

/** How often the time of the requests under way is checked. */
const SWEEP_MS = 100;
/**
 * The library's LIBUS_LISTEN_EXCLUSIVE_PORT: without it two servers would share a port and each get some of the
 * requests.
 */
const EXCLUSIVE_PORT = 1;

/** The library takes these arguments; its types leave this form out. */
interface Listener {
  listen(host: string, port: number, options: number, opened: (socket: ListenSocket | false) => void): unknown;
}

/** The address cannot be had. */
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
    options: HttpServerOptions,
  ) {
    const { tls } = options;
    this.app = tls === undefined ? uws.App() : uws.SSLApp({ cert_file_name: tls.certFile, key_file_name: tls.keyFile });
    this.admission = new Admission(options.limits.inFlightMax, options.limits.heldBytesMax);
    const { temporaryDirectory } = options.limits;
    if (temporaryDirectory !== undefined) emptyTemporaryDirectory(temporaryDirectory);
    const floor: Floor = {
      options,
      router: createRouter(options.routes),
      admission: this.admission,
      requestIds: new RequestIds(),
      left: (exchange) => this.leave(exchange),
    };
    this.app.any('/*', (response, request) => {
      const exchange = new Exchange(floor, response, new Head(request));
      response.onAborted(() => exchange.abort());
      this.open.add(exchange);
      void exchange.run();
    });
  }

  /**
   * Starts to listen; port 0 lets the system choose. Answers the port. Rejects with the reason when the address cannot
   * be had.
   */
  async listen(host: string, port: number): Promise<number> {
    const app = this.app as unknown as Listener;
    const socket = await new Promise<ListenSocket | false>((resolve) =>
      app.listen(host, port, EXCLUSIVE_PORT, resolve),
    );
    if (socket === false) throw await listenError(host, port);
    this.socket = socket;
    // Behind what the sockets have: where this thread has stood still, it was not the clients who were slow.
    this.sweep = setInterval(() => setImmediate(() => this.checkTimes()), SWEEP_MS).unref();
    return this.uws.us_socket_local_port(socket as Socket);
  }

  /**
   * Stops listening, answers 503 `shutting_down` to requests that still come on open connections, waits for those under
   * way (their handlers too, where the client has gone) and closes every connection. What is not done after `timeoutMs`
   * is cut off.
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
      // Not at once: the last reply may still be in the library's hands, up the call stack.
      this.becameIdle = () => setImmediate(() => (clearTimeout(timer), resolve()));
      if (this.open.size === 0) this.becameIdle();
    });
    clearInterval(this.sweep);
    this.app.close();
  }

  private leave(exchange: Exchange): void {
    this.open.delete(exchange);
    if (this.open.size === 0) this.becameIdle();
  }

  private checkTimes(): void {
    const nowMs = performance.now();
    for (const exchange of this.open) exchange.checkTime(nowMs);
  }
}

/** A server for these routes, not yet listening. */
export function createHttpServer(uws: Uws, options: HttpServerOptions): HttpServer {
  return new HttpServer(uws, options);
}

/** The library does not say why it could not listen; node:net, asked for the same address, does. */
async function listenError(host: string, port: number): Promise<ListenError> {
  const reasons: Record<string, string> = {
    EADDRINUSE: 'the port is in use',
    EACCES: 'this user may not use the port',
    EADDRNOTAVAIL: 'this machine has no such address',
    ENOTFOUND: 'the host name is unknown',
  };
  const cause = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const probe = createServer().once('error', resolve);
    probe.listen(port, host, () => probe.close(() => resolve(undefined)));
  });
  const reason = reasons[cause?.code ?? ''] ?? cause?.message ?? 'the reason is unknown';
  return new ListenError(
    `Cannot listen on ${host}:${port}: ${reason}; choose another by SHEAF_SERVER__HOST and SHEAF_SERVER__PORT`,
    { cause },
  );
}
