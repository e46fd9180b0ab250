// One request on its way in: matched, authenticated, counted, admitted, its body opened, handed to its handler; and in
// the end everything that it took is given back. Made by exchange.ts for each request, on the front thread.
import { setMaxListeners } from 'node:events';
import { AppError, abandoned, invalidField } from '../api/errors.js';
import { HEAD_BYTES_MAX } from '../api/limits.js';
import { AssertionFailed } from '../base/assert.js';
import { Departure } from '../base/signals.js';
import type { RequestTrace } from '../base/trace.js';
import type { Permit } from '../service/tenants/actor.js';
import type { Admission } from './admission.js';
import type { BodySource } from './body-source.js';
import { type IncomingBody, openBody } from './body.js';
import type { Announced } from './connection-policy.js';
import type { Closing } from './envelope.js';
import type { HttpServerOptions } from './options.js';
import type { Actor, Body, Reply, Request, Route } from './route.js';
import type { Router } from './router.js';
import { checkParameters } from './routes.js';
import type { WireRequest, WireResponse } from './uws.js';

// The head of a request, copied out of the library's buffers while they are valid. Made by server.ts for each request.
// Front thread.

const LOGGED_METHODS: ReadonlyMap<string, string> = new Map(
  (['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const).map((method) => [
    method.toLowerCase(),
    method,
  ]),
);

/** Spaces, version and line end. */
const REQUEST_LINE_BYTES = 12;

export class Head {
  /** Names and values in turn, in the order of arrival. */
  private readonly headers: string[] = [];
  /** Lower case, as the library gives it. */
  readonly method: string;
  /** Still percent-encoded. */
  readonly path: string;
  /** Still percent-encoded, without the question mark. */
  readonly queryText: string;

  constructor(request: WireRequest) {
    this.method = request.getMethod();
    this.path = request.getUrl();
    this.queryText = request.getQuery() ?? '';
    request.forEach((name, value) => this.headers.push(name, value));
  }

  /** The first value of a header by its lower-case name; '' when absent. */
  header(name: string): string {
    for (let at = 0; at < this.headers.length; at += 2)
      if (this.headers[at] === name) return this.headers[at + 1] ?? '';
    return '';
  }

  /** All values of a header that is a list, with commas between; '' when absent. */
  list(name: string): string {
    return this.all(name).join(', ');
  }

  get isHead(): boolean {
    return this.method === 'head';
  }

  /** The method as the log names it: clients may invent as many others as they like. */
  get loggedMethod(): string {
    return LOGGED_METHODS.get(this.method) ?? 'OTHER';
  }

  /** About what it takes on the wire. */
  get bytes(): number {
    const line = this.method.length + this.path.length + this.queryText.length;
    return this.headers.reduce((sum, { length }) => sum + length + 2, line + REQUEST_LINE_BYTES);
  }

  /**
   * Throws 422, or 400 for no host or no length, where two readers could disagree on whose request it is or where its body ends: it may hide another one
   * inside. An empty header is not an absent one.
   */
  announcedBody(): Announced {
    const [codings, lengths] = [this.all('transfer-encoding'), this.all('content-length')];
    const [coding, length] = [codings[0], lengths[0]];
    const hosts = this.all('host');
    if (hosts.length !== 1 || hosts[0] === '') throw new AppError('invalid_request', 'The header Host is wanted once.');
    if (codings.length > 1 || (coding !== undefined && coding.toLowerCase() !== 'chunked'))
      throw unclear('transfer-encoding', 'only `chunked` is understood, given once');
    if (coding !== undefined && length !== undefined)
      throw unclear('content-length', 'is not given beside transfer-encoding');
    if (lengths.some((other) => other !== length)) throw unclear('content-length', 'given twice with different values');
    if (length !== undefined && !/^\d{1,15}$/.test(length))
      throw new AppError('invalid_request', 'The header Content-Length should be a number of bytes.');
    return coding === undefined ? Number(length ?? 0) : 'chunked';
  }

  private all(name: string): string[] {
    return this.headers.filter((_, at) => at % 2 === 1 && this.headers[at - 1] === name);
  }
}

const unclear = (name: string, msg: string): Error => invalidField(['header', name], msg, 'value_error');

// What stands in an exchange for the route, the caller and the body before they are known, so that nothing has to ask
// whether they are. Constants, used by exchange.ts on the front thread.

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

/** Also the route of requests that have none: their 400s stay 400. */
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

/** Who is asked on the way in; the same for all requests of a server. */
export interface Reception {
  readonly options: HttpServerOptions;
  readonly router: Router;
  readonly admission: Admission;
}

/** Without a reason each abortion would make an exception. */
const GONE = 'there is nobody left to answer';

export class Visit implements Request {
  readonly startedAtMs = performance.now();
  route: Route = UNMATCHED;
  params: Readonly<Record<string, string>> = {};
  actor: Actor = NOBODY;
  body: Body = NO_BODY;
  announced: Announced | 'unclear' = 'unclear';
  /** undefined where nothing is traced. */
  readonly trace: RequestTrace | undefined;
  readonly departure = new Departure();
  private abortion: AbortController | undefined;
  private parsedQuery: URLSearchParams | undefined;
  private incoming: IncomingBody | undefined;
  private isAdmitted = false;
  private permit: Permit | undefined;

  constructor(
    private readonly reception: Reception,
    private readonly response: WireResponse,
    private readonly head: Head,
    readonly id: string,
  ) {
    this.trace = reception.options.tracer?.begin((name) => head.header(name), this.startedAtMs);
  }

  /** True once there is nobody left to answer, or an answer has begun. */
  get aborted(): boolean {
    return this.departure.aborted;
  }

  set aborted(aborted: boolean) {
    if (!aborted) return;
    this.departure.tell();
    this.abortion?.abort(GONE);
  }

  /** Made when it is first asked for: most requests need none. */
  get signal(): AbortSignal {
    if (!this.abortion) {
      this.abortion = new AbortController();
      // Each part of a batch listens: they are many, and no leak.
      setMaxListeners(0, this.abortion.signal);
    }
    if (this.aborted) this.abortion.abort(GONE);
    return this.abortion.signal;
  }

  get query(): URLSearchParams {
    return (this.parsedQuery ??= new URLSearchParams(this.head.queryText));
  }

  /** The bytes of the body; undefined where there are none, or nobody listens to them yet. */
  get source(): BodySource | undefined {
    return this.incoming?.source;
  }

  /** Whether bytes of the body may still come. */
  get owesBody(): boolean {
    return this.announced !== 0 && this.source?.hasEnded !== true;
  }

  /** Headers for whatever is answered. */
  get headers(): Readonly<Record<string, string>> | undefined {
    return this.permit?.headers;
  }

  header(name: string): string {
    return this.head.header(name);
  }

  /** What closes an answer given now. */
  closing(): Closing {
    return { latencyMs: performance.now() - this.startedAtMs, requestId: this.id };
  }

  /** Throws 422 where it is not clear where the request ends. Comes first. */
  findEnd(): void {
    this.announced = this.head.announcedBody();
  }

  /**
   * Runs as far as the opening of the body before it returns. Rejects with what refuses the request, or what the
   * handler throws.
   */
  async handle(): Promise<Reply> {
    const { options, router, admission } = this.reception;
    admission.checkOpen();
    this.checkHead();
    options.guardSite?.(this, this.head.method);
    const { route, params } = router.match(this.head.method, this.head.path);
    this.route = route;
    this.params = params;
    const actor = options.authenticate(this, route);
    if (actor instanceof Promise) await this.identify(actor);
    else this.actor = actor;
    this.admit();
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

  /** Gives back what was taken, once nothing of the request is under way any more. */
  leave(): void {
    const { admission } = this.reception;
    if (this.isAdmitted) admission.leave();
    this.permit?.release();
    admission.giveBack(this.incoming?.heldBytes ?? 0);
    this.incoming?.removeFiles();
  }

  /**
   * The body is listened to before anything is awaited, or its first bytes would be lost; they wait, a few, for the
   * answer.
   */
  private async identify(actor: Promise<Actor>): Promise<void> {
    this.open();
    this.actor = await actor;
    if (this.aborted) throw abandoned();
  }

  private admit(): void {
    const { options, admission } = this.reception;
    const { route } = this;
    if (options.admit !== undefined && route.isLimited) this.permit = options.admit(this.actor, this.params.tenant);
    if (route.access === 'public') return;
    admission.enter();
    this.isAdmitted = true;
  }

  private open(): IncomingBody {
    const { options, admission } = this.reception;
    const head = {
      contentType: this.header('content-type'),
      contentEncoding: this.head.list('content-encoding'),
      announced: this.announced as Announced,
    };
    return (this.incoming ??= openBody(this.response, head, this.route.body, options.limits, admission));
  }
}
