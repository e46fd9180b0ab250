// One request's life: matched, authenticated, admitted, its body opened, handled, answered, logged. Made by server.ts for
// each request, on the front thread. Invariants: 1. `response` is not touched in state `over`. 2. A place taken from the
// admission is given back once the handler has settled *and* the reply is out or the client gone: an abandoned request
// still costs what its handler costs. 3. Each request is logged once, when it is over for the client.
import { AppError } from '../contract/errors.js';
import { type Admission, overloaded } from './admission.js';
import { afterwardsOf, type Announced } from './afterwards.js';
import { openBody } from './body.js';
import type { BodySource } from './body-source.js';
import { type Answer, type Closing, encodeError, encodeReply, wholeOf } from './envelope.js';
import type { Head } from './head.js';
import type { HttpServerOptions, Outcome, RequestEvent } from './options.js';
import { writeReply } from './reply.js';
import type { RequestIds } from './request-id.js';
import type { Actor, Body, Reply, Request } from './route.js';
import type { Router } from './router.js';
import { NO_BODY, NOBODY, UNMATCHED } from './unmatched.js';
import type { WireResponse } from './wire.js';

/** What all exchanges of a server share. */
export interface Floor {
  readonly options: HttpServerOptions;
  readonly router: Router;
  readonly admission: Admission;
  readonly requestIds: RequestIds;
  /** Called once for each exchange, when nothing of it is under way any more. */
  left(exchange: Exchange): void;
}

export class Exchange implements Request {
  readonly startedAtMs = performance.now();
  readonly id: string;
  route = UNMATCHED;
  params: Readonly<Record<string, string>> = {};
  actor = NOBODY;
  body: Body = NO_BODY;
  private parsedQuery: URLSearchParams | undefined;
  private source: BodySource | undefined;
  private announced: Announced | 'unclear' = 'unclear';
  private isAdmitted = false;
  private isSettled = false;
  private state: 'open' | 'replying' | 'over' = 'open';
  private sent: Answer | undefined;
  private cutOff: Outcome | undefined;

  constructor(private readonly floor: Floor, private readonly response: WireResponse, private readonly head: Head) {
    this.id = floor.requestIds.idFor(head.header('x-request-id'));
  }

  get query(): URLSearchParams {
    return (this.parsedQuery ??= new URLSearchParams(this.head.queryText));
  }

  get aborted(): boolean {
    return this.state !== 'open';
  }

  header(name: string): string {
    return this.head.header(name);
  }

  /** Answers the request. Runs as far as the opening of the body before it returns; never rejects. */
  async run(): Promise<void> {
    let answer: Answer;
    try {
      const reply = await wholeOf(await this.handle());
      answer = encodeReply(reply, this.closing());
    } catch (error) {
      answer = this.refusal(error);
    }
    this.isSettled = true;
    if (this.state === 'open') this.reply(answer);
    else if (this.state === 'over') this.leave();
  }

  /** The client has gone. */
  abort(): void {
    if (this.state === 'over') return;
    this.source?.abandon();
    this.finish(this.cutOff ?? 'aborted');
  }

  /** Ends what has taken too long. Called every now and then while the request is under way. */
  checkTime(nowMs: number): void {
    const { bodyTimeoutMs, requestTimeoutMs = Infinity } = this.floor.options.limits;
    if (this.state !== 'open') return;
    if ((this.source?.stalledMs(nowMs) ?? 0) > bodyTimeoutMs) {
      this.cutOff = 'body_timeout';
      this.response.close();
    } else if (nowMs - this.startedAtMs > requestTimeoutMs) {
      this.reply(this.refusal(overloaded('The request took longer than the server allows.')));
    }
  }

  private async handle(): Promise<Reply> {
    const { options, router, admission } = this.floor;
    admission.checkOpen();
    this.announced = this.head.announcedBody();
    const { route, params } = router.match(this.head.method, this.head.path);
    this.route = route;
    this.params = params;
    this.actor = options.authenticate(this, route) as Actor;
    if (route.access !== 'public') {
      admission.enter();
      this.isAdmitted = true;
    }
    const body = openBody(this.response, { contentType: this.header('content-type'), announced: this.announced }, route.body, options.limits, (bytes) => admission.hold(bytes));
    this.body = body;
    this.source = body.source;
    if (route.body === 'none' && this.announced !== 0) await body.discard();
    return route.handle(this);
  }

  private refusal(error: unknown): Answer {
    if (error instanceof AppError) return encodeError(error, this.route.statuses, this.closing());
    this.floor.options.onFault(error, this.id);
    return encodeError(new AppError('internal_error'), this.route.statuses, this.closing());
  }

  private reply(answer: Answer): void {
    const afterwards = afterwardsOf(this.announced, this.source, this.floor.admission.isClosed);
    this.state = 'replying';
    this.sent = answer;
    this.source?.release();
    writeReply(this.response, answer, { requestId: this.id, isHead: this.head.isHead, afterwards }, () => this.finish('answered'));
  }

  private finish(outcome: Outcome): void {
    this.state = 'over';
    this.floor.options.log(this.event(outcome));
    if (this.isSettled) this.leave();
  }

  private leave(): void {
    if (this.isAdmitted) this.floor.admission.leave();
    this.floor.admission.giveBack(this.source?.heldBytes ?? 0);
    this.floor.left(this);
  }

  private closing(): Closing {
    return { latencyMs: performance.now() - this.startedAtMs, requestId: this.id };
  }

  private event(outcome: Outcome): RequestEvent {
    const { id, head, route, actor, sent } = this;
    const { latencyMs } = this.closing();
    const bytes = head.isHead ? 0 : (sent?.body.length ?? 0);
    return { id, method: head.loggedMethod, route: route.path, status: sent?.status ?? 0, latencyMs, actor: actor.name, bytes, outcome };
  }
}
