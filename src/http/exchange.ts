// One request's life: handled, answered, logged. Made by server.ts for each request, on the front thread. Invariants:
// 1. `response` is not touched in state `over`. 2. What a request has taken is given back once its handler has settled
// *and* the reply is out or the client gone: an abandoned request still costs what its handler costs. 3. Each request
// is logged once, when it is over for the client.
import { AppError } from '../contract/errors.js';
import { overloaded } from './admission.js';
import { type Afterwards, afterwardsOf } from './afterwards.js';
import { isCompressible, negotiated } from './compression.js';
import { type Answer, encodeError, encodeReply } from './envelope.js';
import type { Head } from './head.js';
import type { Outcome } from './options.js';
import type { PieceBlocks } from './piece-blocks.js';
import { type Manner, writeLastReply, writeReply } from './reply.js';
import { ReplyStream } from './reply-stream.js';
import { requestEvent } from './request-event.js';
import type { RequestIds } from './request-id.js';
import { beginStreamed, isStreamed } from './streamed-answer.js';
import { type Reception, Visit } from './visit.js';
import type { WireResponse } from './wire.js';

/** What all exchanges of a server share. */
export interface Floor extends Reception {
  readonly requestIds: RequestIds;
  /** Called once for each exchange, when nothing of it is under way any more. */
  left(exchange: Exchange): void;
}

export class Exchange {
  private readonly visit: Visit;
  private isSettled = false;
  private state: 'open' | 'replying' | 'over' = 'open';
  private sent: Answer | undefined;
  private stream: ReplyStream | undefined;
  private cutOff: Outcome | undefined;

  constructor(
    private readonly floor: Floor,
    private readonly response: WireResponse,
    private readonly head: Head,
  ) {
    this.visit = new Visit(floor, response, head, floor.requestIds.idFor(head.header('x-request-id')));
  }

  /** Answers the request. Runs as far as the opening of the body before it returns; never rejects. */
  async run(): Promise<void> {
    let answer: Answer;
    try {
      this.visit.findEnd();
    } catch (error) {
      return this.refuseUnclear(error);
    }
    try {
      const reply = await this.visit.handle();
      answer = isStreamed(reply)
        ? await beginStreamed(reply, () => this.visit.closing())
        : encodeReply(reply, this.visit.closing());
    } catch (error) {
      answer = this.refusal(error);
    }
    if (isCompressible(answer)) answer = await negotiated(answer, this.head.header('accept-encoding'));
    if (this.floor.options.tls !== undefined && this.visit.owesBody) await new Promise(setImmediate);
    // The library is lenient with chunks: a request that it reads behind them meets this one unanswered, and is dropped.
    else if (this.visit.announced === 'chunked') await new Promise(setImmediate);
    if (answer.rest !== undefined) await this.replyAtLength(answer, answer.rest);
    else if (this.state === 'open') this.reply(answer);
    this.isSettled = true;
    if (this.state === 'over') this.leave();
  }

  /** The client has gone. */
  abort(): void {
    if (this.state === 'over') return;
    this.visit.source?.abandon();
    this.stream?.abandon();
    this.finish(this.cutOff ?? 'aborted');
  }

  /** Ends what has taken too long. Called every now and then while the request is under way. */
  checkTime(nowMs: number): void {
    const { source, startedAtMs } = this.visit;
    const { bodyTimeoutMs, requestTimeoutMs = Infinity } = this.floor.options.limits;
    if (this.state === 'over') return;
    const verdict = this.stream?.verdict(nowMs);
    if (verdict !== undefined) return this.cut(verdict);
    if (this.state !== 'open') return;
    if (source?.wasResumed && source.hasEnded && !source.isPaused) {
      this.response.pause();
      this.response.resume();
    }
    const waitedMs = nowMs - Math.max(startedAtMs, source?.latestAtMs ?? 0);
    if ((source?.stalledMs(nowMs) ?? 0) > bodyTimeoutMs) this.cut('body_timeout');
    else if (waitedMs > requestTimeoutMs && !this.visit.route.isLong)
      this.reply(this.refusal(overloaded('The request took longer than the server allows.')));
  }

  /** Nobody knows where such a request ends: what comes behind it is not looked at. */
  private refuseUnclear(error: unknown): void {
    const answer = this.refusal(error);
    this.begin(answer);
    this.isSettled = true;
    this.finish('answered');
    writeLastReply(this.response, answer, this.manner('close'));
  }

  private refusal(error: unknown): Answer {
    this.tellFault(error);
    return encodeError(
      error instanceof AppError ? error : new AppError('internal_error'),
      this.visit.route.statuses,
      this.visit.closing(),
    );
  }

  private tellFault(error: unknown): void {
    if (!(error instanceof AppError)) this.floor.options.onFault(error, this.visit.id);
  }

  private reply(answer: Answer): void {
    const { announced, source } = this.visit;
    const afterwards = afterwardsOf(announced, source, this.floor.admission.isClosed);
    this.begin(answer);
    source?.release();
    writeReply(this.response, answer, this.manner(afterwards), () => this.finish('answered'));
  }

  /** Writes a streamed reply while there is somebody to take it; its source is made to clean up in any case. */
  private async replyAtLength(answer: Answer, rest: PieceBlocks): Promise<void> {
    try {
      if (this.state === 'open' && this.head.isHead) this.reply(answer);
      else if (this.state === 'open') await this.writeStream(answer, rest);
    } catch (error) {
      if (this.state !== 'over') this.floor.options.onFault(error, this.visit.id);
      this.cut('failed');
    }
    await rest.return().catch((error: unknown) => this.tellFault(error));
  }

  private async writeStream(answer: Answer, rest: PieceBlocks): Promise<void> {
    const { options, admission } = this.floor;
    this.begin(answer);
    const stream = (this.stream = new ReplyStream(
      this.response,
      this.visit.source,
      options.limits,
      admission,
      options.tls !== undefined,
    ));
    if (!(await stream.write(answer, rest, this.manner(admission.isClosed ? 'ask_to_close' : 'keep')))) return;
    stream.end();
    this.finish('answered');
  }

  private begin(answer: Answer): void {
    this.state = 'replying';
    this.sent = answer;
    this.visit.aborted = answer.rest === undefined;
  }

  private manner(afterwards: Afterwards): Manner {
    return { requestId: this.visit.id, isHead: this.head.isHead, afterwards, headers: this.visit.headers };
  }

  /** Drops the connection, by which `abort` is called. */
  private cut(outcome: Outcome): void {
    if (this.state === 'over') return;
    this.cutOff = outcome;
    this.response.close();
  }

  private finish(outcome: Outcome): void {
    this.state = 'over';
    this.visit.aborted = true;
    const event = requestEvent(this.visit, this.head, this.sent, this.stream?.writtenBytes, outcome);
    this.floor.options.log(event);
    this.visit.trace?.end(event);
    if (this.isSettled) this.leave();
  }

  private leave(): void {
    this.visit.leave();
    this.floor.left(this);
  }
}
