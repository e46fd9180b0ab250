// Requests that a front thread has matched, authenticated and admitted, and whose handler runs on the main thread. The
// front thread reads the body from the socket and writes the reply to it; head, body and reply cross by calls
// (src/base/rpc.ts), and what streams is pulled by the side that reads it. Runs on front threads and on
// the main thread.
import { setMaxListeners } from 'node:events';
import { type LentStream, Moved, type RpcHandler, type RpcPeer, WorkerError } from '../base/rpc.js';
import { AppError, abandoned } from '../api/errors.js';
import type { RouteDefinition } from '../api/route.js';
import { CancelSource, type CancelSignal } from '../base/signals.js';
import type { Phases } from '../base/trace.js';
import type { Actor, Body, DefinedRoute, Form, Handler, Reply, Request, Route } from './route.js';

/** The head of a request, and its whole body if the handler reads it as bytes. */
interface ForwardedHead {
  readonly operation: string;
  readonly id: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: string;
  /** Names in lower case and values, alternately. */
  readonly headers: readonly string[];
  readonly actor: Actor;
  readonly traceparent: string | undefined;
  /** Time since the head arrived. */
  readonly elapsedMs: number;
  readonly body: { readonly contentType: string; readonly isEmpty: boolean; readonly bytes?: Uint8Array };
  /** Names the request in later calls of either side. */
  readonly number: number;
}

/** `phases` are relative to the time at which the front thread sent the request. */
interface ForwardedReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly phases?: Phases | undefined;
  readonly content:
    | { readonly json: string }
    | { readonly jsonParts: readonly (string | Uint8Array)[] }
    | { readonly bytes: Uint8Array; readonly contentType: string }
    | { readonly jsonStream: LentStream }
    | { readonly stream: LentStream; readonly contentType: string };
}

/** The kinds of bodies that handlers read as bytes, so that they can travel with the head. */
const READ_WHOLE: ReadonlySet<RouteDefinition['body']> = new Set(['json', 'search', 'message']);

/** The front side: handlers that forward, and what the main thread calls while it handles a request. */
export class Forwarder {
  private last = 0;
  private readonly bodies = new Map<number, Body>();
  private peer: RpcPeer | undefined;

  /** The calls by which the main thread reads a body. */
  readonly handlers: Readonly<Record<string, RpcHandler>> = {
    'body.bytes': async (of: number) => ownBytes(await this.bodyOf(of).bytes()),
    'body.form': (of: number) => this.formOf(of),
    'body.stream': (of: number) => {
      const stream = this.connected().lend(this.bodyOf(of).stream());
      return new Moved(stream, [], [stream]);
    },
    'body.isEmpty': (of: number) => this.bodyOf(of).isEmpty,
  };

  connect(peer: RpcPeer): void {
    this.peer = peer;
  }

  /** The handler of a route that runs on the main thread. */
  handlerOf({ operation, body: kind }: Pick<RouteDefinition, 'operation' | 'body'>): Handler {
    return async (request) => {
      const of = ++this.last;
      this.bodies.set(of, request.body);
      try {
        const bytes = READ_WHOLE.has(kind) ? await request.body.bytes() : undefined;
        const head = headOf(request, operation, of, bytes);
        const sentAtMs = performance.now();
        // The call is not left when the client disconnects: what the handler reads of the body is counted until it ends.
        const reply = await this.whileAbortable(request, of, () =>
          this.connected().call<ForwardedReply>('request', head),
        );
        return this.replyOf(reply, sentAtMs, of, request);
      } catch (error) {
        this.bodies.delete(of);
        throw error;
      }
    };
  }

  private replyOf({ content, phases, ...head }: ForwardedReply, sentAtMs: number, of: number, request: Request): Reply {
    const own = phases && { startedAtMs: sentAtMs + phases.startedAtMs, timing: phases.timing };
    const whole = { ...head, phases: own };
    if ('jsonStream' in content)
      return { ...whole, jsonStream: this.borrowed<string>(content.jsonStream, of, request) };
    if ('stream' in content) {
      const stream = this.borrowed<string | Uint8Array>(content.stream, of, request);
      return { ...whole, stream, contentType: content.contentType };
    }
    this.bodies.delete(of);
    if (!('json' in content)) return { ...whole, ...content };
    // An object without fields cannot be joined with the closing fields of a reply as text.
    return content.json === '{}' ? { ...whole, json: {} } : { ...whole, jsonParts: [content.json.slice(0, -1)] };
  }

  private async *borrowed<T>(stream: LentStream, of: number, request: Request): AsyncGenerator<T> {
    const stop = this.abortable(request, of);
    try {
      yield* this.connected().borrow<T>(stream);
    } finally {
      stop();
      this.bodies.delete(of);
    }
  }

  private async whileAbortable<T>(request: Request, of: number, work: () => Promise<T>): Promise<T> {
    if (request.aborted) throw abandoned();
    const stop = this.abortable(request, of);
    try {
      return await work();
    } finally {
      stop();
    }
  }

  /** Tells the main thread when the client disconnects, until the function that is returned is called. */
  private abortable({ cancelSource }: Request, of: number): () => void {
    const abort = (): void =>
      void this.connected()
        .call('request.abort', of)
        .catch(() => undefined);
    cancelSource.addEventListener('abort', abort);
    return () => cancelSource.removeEventListener('abort', abort);
  }

  private async formOf(of: number): Promise<Moved<object>> {
    const { fields, file } = await this.bodyOf(of).form();
    const bytes = file && 'bytes' in file ? new Uint8Array(file.bytes) : undefined;
    return new Moved({ fields, file: bytes ? { ...file, bytes } : file }, bytes ? [bytes.buffer] : []);
  }

  private bodyOf(of: number): Body {
    const body = this.bodies.get(of);
    if (!body) throw new AppError('internal_error');
    return body;
  }

  private connected(): RpcPeer {
    return this.peer as RpcPeer;
  }
}

function headOf(request: Request, operation: string, of: number, bytes: Uint8Array | undefined): ForwardedHead {
  const { contentType, isEmpty } = request.body;
  return {
    operation,
    id: request.id,
    params: request.params,
    query: request.query.toString(),
    headers: request.headerList,
    actor: request.actor,
    traceparent: request.trace?.traceparent,
    elapsedMs: performance.now() - request.startedAtMs,
    body: { contentType, isEmpty, ...(bytes && { bytes }) },
    number: of,
  };
}

/** A copy that is moved to the other thread; the bytes of a body may be part of a larger buffer. */
function ownBytes(bytes: Uint8Array): Moved<Uint8Array> {
  const copy = new Uint8Array(bytes);
  return new Moved(copy, [copy.buffer]);
}

/** The main side: runs the handlers of `routes` for the requests of one front thread. */
export function serveForwarded(
  routes: readonly DefinedRoute[],
  peer: () => RpcPeer,
  failed: (error: unknown, requestId: string) => void,
): Readonly<Record<string, RpcHandler>> {
  const byOperation = new Map(routes.map((route) => [route.operation, route]));
  const streaming = new Map<number, ForwardedRequest>();
  return {
    request: async (head: ForwardedHead, signal: CancelSignal) => {
      const request = new ForwardedRequest(head, byOperation.get(head.operation) as Route, peer(), signal);
      const over = (): void => void streaming.delete(head.number);
      streaming.set(head.number, request);
      try {
        return replyFor(await request.route.handle(request), request, head.elapsedMs, peer(), over);
      } catch (error) {
        over();
        if (error instanceof AppError) throw error;
        // The front thread has ended while its body was read.
        if (!(error instanceof WorkerError && request.aborted)) failed(error, head.id);
        throw new AppError('internal_error');
      }
    },
    'request.abort': (number: number) => streaming.get(number)?.abort(),
  };
}

class ForwardedRequest implements Request {
  readonly id: string;
  readonly startedAtMs: number;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headerList: readonly string[];
  readonly actor: Actor;
  readonly body: Body;
  readonly trace: { readonly traceparent: string } | undefined;
  readonly cancelSource = new CancelSource();
  private abortion: AbortController | undefined;

  constructor(
    { id, params, query, headers, actor, traceparent, elapsedMs, body, number: of }: ForwardedHead,
    readonly route: Route,
    peer: RpcPeer,
    signal: CancelSignal,
  ) {
    this.id = id;
    this.startedAtMs = performance.now() - elapsedMs;
    this.params = params;
    this.query = new URLSearchParams(query);
    this.headerList = headers;
    this.actor = actor;
    this.body = new ForwardedBody(body, of, peer);
    this.trace = traceparent === undefined ? undefined : { traceparent };
    signal.addEventListener('abort', () => this.abort(), { once: true });
  }

  get aborted(): boolean {
    return this.cancelSource.aborted;
  }

  get signal(): AbortSignal {
    if (!this.abortion) {
      this.abortion = new AbortController();
      // Each part of a batch adds a listener; many listeners are no leak here.
      setMaxListeners(0, this.abortion.signal);
    }
    if (this.aborted) this.abortion.abort();
    return this.abortion.signal;
  }

  header(name: string): string {
    for (let at = 0; at < this.headerList.length; at += 2)
      if (this.headerList[at] === name) return this.headerList[at + 1] ?? '';
    return '';
  }

  /** Only searches count as several requests, and they run on front threads. */
  charge(): void {}

  abort(): void {
    this.cancelSource.cancel();
    this.abortion?.abort();
  }
}

/** Asks the front thread for what has not come with the head. */
class ForwardedBody implements Body {
  readonly contentType: string;
  /** Whether no byte had come when the body ended; undefined before a form was found to be malformed. */
  private wasEmpty: boolean | undefined;

  constructor(
    private readonly head: ForwardedHead['body'],
    private readonly of: number,
    private readonly peer: RpcPeer,
  ) {
    this.contentType = head.contentType;
  }

  get isEmpty(): boolean {
    return this.wasEmpty ?? this.head.isEmpty;
  }

  async bytes(): Promise<Buffer> {
    const bytes = this.head.bytes ?? (await this.ask<Uint8Array>('body.bytes'));
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  async form(): Promise<Form> {
    try {
      return await this.ask('body.form');
    } catch (error) {
      this.wasEmpty = await this.ask<boolean>('body.isEmpty').catch(() => this.head.isEmpty);
      throw error;
    }
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    yield* this.peer.borrow<Uint8Array>(await this.ask<LentStream>('body.stream'));
  }

  private ask<T>(op: string): Promise<T> {
    const asked = this.peer.call<T>(op, this.of);
    // A handler may do other work before it awaits its body, and the client may disconnect meanwhile.
    asked.catch(() => undefined);
    return asked;
  }
}

/** The front thread sent the request `elapsedMs` after its start. */
function replyFor(
  reply: Reply,
  request: ForwardedRequest,
  elapsedMs: number,
  peer: RpcPeer,
  over: () => void,
): Moved<ForwardedReply> {
  const { status, headers, phases } = reply;
  const sentAtMs = request.startedAtMs + elapsedMs;
  const own = phases && { startedAtMs: phases.startedAtMs - sentAtMs, timing: phases.timing };
  const head = { status, headers, phases: own };
  const lend = (pieces: AsyncIterable<string | Uint8Array>): LentStream =>
    peer.lend(untilOver(pieces, over), () => request.abort());
  if ('jsonStream' in reply) {
    const jsonStream = lend(reply.jsonStream);
    return new Moved({ ...head, content: { jsonStream } }, [], [jsonStream]);
  }
  if ('stream' in reply) {
    const stream = lend(reply.stream);
    return new Moved({ ...head, content: { stream, contentType: reply.contentType } }, [], [stream]);
  }
  over();
  if ('json' in reply) return new Moved({ ...head, content: { json: JSON.stringify(reply.json) } }, []);
  if ('jsonParts' in reply) return new Moved({ ...head, content: { jsonParts: reply.jsonParts } }, []);
  const bytes = new Uint8Array(reply.bytes);
  return new Moved({ ...head, content: { bytes, contentType: reply.contentType } }, [bytes.buffer]);
}

async function* untilOver<T>(pieces: AsyncIterable<T>, over: () => void): AsyncGenerator<T> {
  try {
    yield* pieces;
  } finally {
    over();
  }
}
