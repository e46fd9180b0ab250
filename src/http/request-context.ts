// The context of one request on its way in: match, authenticate, admit, open the body, call the handler, and release in
// the end what was acquired. One per request. Runs on front threads and on the main thread.
import { setMaxListeners } from 'node:events';
import { AppError, abandoned, invalidField } from '../api/errors.js';
import { HEAD_BYTES_MAX } from '../api/limits.js';
import { AssertionFailed } from '../base/assert.js';
import { CancelSource } from '../base/signals.js';
import type { RequestTrace } from '../base/trace.js';
import type { Permit } from '../service/tenants/actor.js';
import type { Admission } from './admission.js';
import type { BodySource } from './body-source.js';
import { type IncomingBody, openBody } from './body.js';
import { prefersMsgpack } from './content-negotiation.js';
import type { Announced } from './connection-policy.js';
import type { Closing } from './envelope.js';
import type { Consistency } from './consistency.js';
import type { HttpServerOptions } from './options.js';
import { type Actor, type Body, type Reply, type Request, type Route, checkParameters } from './route.js';
import type { Router } from './router.js';
import type { WireRequest, WireResponse } from './uws.js';

// The request head, copied out of the buffers of uWebSockets.js while they are valid. One per request. Runs on front
// threads and on the main thread.

const LOGGED_METHODS: ReadonlyMap<string, string> = new Map(
  (['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const).map((method) => [
    method.toLowerCase(),
    method,
  ]),
);

/** Spaces, HTTP version and line end. */
const REQUEST_LINE_BYTES = 12;

export class Head {
  /** Names and values alternately, in the order of arrival. */
  readonly headers: string[] = [];
  /** Lower case, as uWebSockets.js gives it. */
  readonly method: string;
  /** Percent-encoded. */
  readonly path: string;
  /** Percent-encoded, without the question mark. */
  readonly queryText: string;

  constructor(request: WireRequest) {
    this.method = request.getMethod();
    this.path = request.getUrl();
    this.queryText = request.getQuery() ?? '';
    request.forEach((name, value) => this.headers.push(name, value));
  }

  /** The first value of a header by its lower-case name; '' if absent. */
  header(name: string): string {
    for (let at = 0; at < this.headers.length; at += 2)
      if (this.headers[at] === name) return this.headers[at + 1] ?? '';
    return '';
  }

  /** All values of a list header, joined by commas; '' if absent. */
  list(name: string): string {
    return this.all(name).join(', ');
  }

  get isHead(): boolean {
    return this.method === 'head';
  }

  /** The method for the log: `OTHER` for an unknown one, because clients can invent any number of them. */
  get loggedMethod(): string {
    return LOGGED_METHODS.get(this.method) ?? 'OTHER';
  }

  /** The approximate size on the wire. */
  get bytes(): number {
    const line = this.method.length + this.path.length + this.queryText.length;
    return this.headers.reduce((sum, { length }) => sum + length + 2, line + REQUEST_LINE_BYTES);
  }

  /**
   * The announced length of the body. Throws 422 if two readers could disagree on where the body ends, since another
   * request may be smuggled in it, and 400 for a missing or repeated `Host` or a malformed length. An empty header is
   * not the same as an absent one.
   */
  announcedBody(): Announced {
    const [codings, lengths] = [this.all('transfer-encoding'), this.all('content-length')];
    const [coding, length] = [codings[0], lengths[0]];
    const hosts = this.all('host');
    if (hosts.length !== 1 || hosts[0] === '')
      throw new AppError('invalid_request', 'Provide the header Host exactly once.');
    if (codings.length > 1 || (coding !== undefined && coding.toLowerCase() !== 'chunked'))
      throw unclear('transfer-encoding', 'Should be `chunked`, given once.');
    if (coding !== undefined && length !== undefined)
      throw unclear('content-length', 'Must not be combined with transfer-encoding.');
    if (lengths.some((other) => other !== length))
      throw unclear('content-length', 'Is given several times with different values.');
    if (length !== undefined && !/^\d{1,15}$/.test(length))
      throw new AppError('invalid_request', 'The header Content-Length should be a number of bytes.');
    return coding === undefined ? Number(length ?? 0) : 'chunked';
  }

  private all(name: string): string[] {
    return this.headers.filter((_, at) => at % 2 === 1 && this.headers[at - 1] === name);
  }
}

const unclear = (name: string, msg: string): Error => invalidField(['header', name], msg, 'value_error');

// Placeholders for route, caller and body until they are known, so that no code has to check for undefined. Constants.

const TOO_EARLY = 'the request has not been matched and admitted';

const NOBODY: Actor = { name: '', admin: false };
const NO_BODY: Body = {
  contentType: '',
  isEmpty: true,
  bytes: tooEarly,
  form: tooEarly,
  stream: () => {
    throw new AssertionFailed(TOO_EARLY);
  },
};

/** Also the route of requests that match none: their 400s stay 400. */
const UNMATCHED: Route = {
  operation: '',
  method: 'GET',
  path: '',
  access: 'public',
  keeps400: true,
  isLimited: false,
  body: 'none',
  handle: tooEarly,
};

function tooEarly(): Promise<never> {
  return Promise.reject(new AssertionFailed(TOO_EARLY));
}

/** Dependencies of the way in; the same for all requests of a server. */
export interface ServerContext {
  readonly options: HttpServerOptions;
  readonly router: Router;
  readonly admission: Admission;
}

/** An explicit reason: without one, each abort would construct an exception. */
const GONE = 'there is nobody left to answer';

export class RequestContext implements Request {
  readonly startedAtMs = performance.now();
  route: Route = UNMATCHED;
  params: Readonly<Record<string, string>> = {};
  actor: Actor = NOBODY;
  body: Body = NO_BODY;
  announced: Announced | 'unclear' = 'unclear';
  /** Undefined if requests are not traced. */
  readonly trace: RequestTrace | undefined;
  readonly cancelSource = new CancelSource();
  private abortion: AbortController | undefined;
  private parsedQuery: URLSearchParams | undefined;
  private incoming: IncomingBody | undefined;
  private isAdmitted = false;
  private hasLeft = false;
  private permit: Permit | undefined;
  private readonly corsHeaders: Readonly<Record<string, string>> | undefined;

  constructor(
    private readonly serverContext: ServerContext,
    private readonly response: WireResponse,
    private readonly head: Head,
    readonly id: string,
  ) {
    this.corsHeaders = serverContext.options.cors?.headersFor(head);
    this.trace = serverContext.options.tracer?.begin((name) => head.header(name), this.startedAtMs);
  }

  /** True once the client has disconnected or a whole reply has begun. */
  get aborted(): boolean {
    return this.cancelSource.aborted;
  }

  set aborted(aborted: boolean) {
    if (!aborted) return;
    this.cancelSource.cancel();
    this.abortion?.abort(GONE);
  }

  /** Created on first use, because most requests need none. */
  get signal(): AbortSignal {
    if (!this.abortion) {
      this.abortion = new AbortController();
      // Each part of a batch adds a listener; many listeners are no leak here.
      setMaxListeners(0, this.abortion.signal);
    }
    if (this.aborted) this.abortion.abort(GONE);
    return this.abortion.signal;
  }

  get query(): URLSearchParams {
    return (this.parsedQuery ??= new URLSearchParams(this.head.queryText));
  }

  /** The bytes of the body; undefined if there is no body or it has not been opened. */
  get source(): BodySource | undefined {
    return this.incoming?.source;
  }

  /** Whether bytes of the body may still arrive. */
  get owesBody(): boolean {
    return this.announced !== 0 && this.source?.hasEnded !== true;
  }

  /** Headers to add to every reply of this request. */
  get headers(): Readonly<Record<string, string>> | undefined {
    const { consistency } = this.serverContext.options;
    if (this.corsHeaders === undefined && consistency === undefined) return this.permit?.headers;
    return { ...this.corsHeaders, ...consistency?.headers, ...this.permit?.headers };
  }

  header(name: string): string {
    return this.head.header(name);
  }

  get headerList(): readonly string[] {
    return this.head.headers;
  }

  charge(requests: number): void {
    this.permit?.charge(requests);
  }

  /** Whether the reply is to be MessagePack. */
  get wantsMsgpack(): boolean {
    return this.route.msgpack === true && prefersMsgpack(this.header('accept'));
  }

  /** The closing fields of a reply that is sent now. */
  closing(): Closing {
    return { latencyMs: performance.now() - this.startedAtMs, requestId: this.id };
  }

  /** Determines where the request ends. Throws 422 if that is ambiguous. Must be called first. */
  findEnd(): void {
    this.announced = this.head.announcedBody();
  }

  /**
   * Runs the request up to its handler. Executes synchronously until the body is open. Rejects with what refuses the
   * request or what the handler throws.
   */
  async handle(): Promise<Reply> {
    const { options, router, admission } = this.serverContext;
    admission.checkOpen();
    this.checkHead();
    options.guardSite?.(this, this.head.method);
    const { method, path } = this.head;
    const preflight = options.cors?.preflight(this, method, () => router.methodsOf(path));
    if (preflight) return preflight;
    const { route, params } = router.match(method, path);
    this.route = route;
    this.params = params;
    const actor = options.authenticate(this, route);
    if (actor instanceof Promise) await this.identify(actor);
    else this.actor = actor;
    this.admit();
    const { consistency } = options;
    const token = consistency && this.head.header('x-consistency');
    if (token && !consistency.isReached(token)) await this.untilReached(consistency, token);
    if (this.head.queryText !== '') checkParameters(route, this.query);
    const body = this.open();
    body.checkLength();
    body.checkCoding();
    this.body = body;
    if (route.body === 'none' && this.announced !== 0) await body.discard();
    return route.handle(this);
  }

  private checkHead(): void {
    if (this.head.bytes > HEAD_BYTES_MAX)
      throw new AppError('request_head_too_large', undefined, { details: { limit_bytes: HEAD_BYTES_MAX } });
  }

  /** Releases what the request has acquired, once all of its work has finished. Does nothing when it is called again. */
  leave(): void {
    const { admission } = this.serverContext;
    if (this.hasLeft) return;
    this.hasLeft = true;
    if (this.isAdmitted) admission.leave();
    this.permit?.release();
    admission.giveBack(this.incoming?.settle() ?? 0);
    this.incoming?.removeFiles();
  }

  /** Awaits authentication. The body is opened before, because its first bytes would otherwise be lost. */
  private async identify(actor: Promise<Actor>): Promise<void> {
    this.open();
    this.actor = await actor;
    if (this.aborted) throw abandoned();
  }

  /** Waits for what another answer has told of. The body is opened before, as for `identify`. */
  private async untilReached(consistency: Consistency, token: string): Promise<void> {
    this.open();
    await consistency.reached(token);
    if (this.aborted) throw abandoned();
  }

  private admit(): void {
    const { options, admission } = this.serverContext;
    const { route } = this;
    if (options.admit !== undefined && route.isLimited) this.permit = options.admit(this.actor, this.params.tenant);
    if (route.access === 'public') return;
    admission.enter();
    this.isAdmitted = true;
  }

  private open(): IncomingBody {
    const { options, admission } = this.serverContext;
    const head = {
      contentType: this.header('content-type'),
      contentEncoding: this.head.list('content-encoding'),
      announced: this.announced as Announced,
    };
    return (this.incoming ??= openBody(this.response, head, this.route.body, options.limits, admission));
  }
}
