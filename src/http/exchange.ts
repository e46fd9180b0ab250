// The life of one request: handle, answer, log. Runs on front threads and on the main thread.
//
// Invariants: 1. `response` is not touched in state `over`. 2. Resources are released once the handler has settled
// *and* the reply is sent but for its end or the client is gone: an abandoned request still counts while its handler
// runs, and a client that has its answer does not, on whichever thread its next request arrives. 3. Each request is
// logged once, when it is over for the client.
import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { AppError } from '../api/errors.js';
import type { RequestEnd, RequestEvent } from '../base/trace.js';
import { overloaded } from './admission.js';
import { isCompressible, negotiated } from './compression.js';
import { type Afterwards, afterwardsOf } from './connection-policy.js';
import {
  type Answer,
  type PieceBlocks,
  beginStreamed,
  encodeError,
  encodeReply,
  inMsgpack,
  isStreamed,
} from './envelope.js';
import { type ReplyOptions, ReplyStream, writeLastReply, writeReply } from './reply.js';
import { type Head, RequestContext, type ServerContext } from './request-context.js';
import type { WireResponse } from './uws.js';

// The event that a finished request reports to the log, the metrics and the trace.

/** `sent` is undefined if there was no reply. `streamedBytes` is set for a streamed reply. */
function requestEvent(
  context: RequestContext,
  head: Head,
  sent: Answer | undefined,
  streamedBytes: number | undefined,
  result: RequestEnd,
): RequestEvent {
  const { id, route, actor, trace } = context;
  return {
    id,
    method: head.loggedMethod,
    route: route.path,
    status: sent?.status ?? 0,
    latencyMs: context.closing().latencyMs,
    actor: actor.name,
    // Unauthenticated callers could otherwise create any number of label values.
    tenant: actor.name === '' ? '' : (context.params.tenant ?? ''),
    bytes: streamedBytes ?? (head.isHead ? 0 : (sent?.body.length ?? 0)),
    result,
    isLong: route.isLong === true || streamedBytes !== undefined,
    ...(sent?.code !== undefined && { code: sent.code }),
    ...(sent?.phases && { phases: sent.phases }),
    ...(trace && { traceId: trace.id }),
  };
}

// Request ids, which appear in the reply and in the log. One instance per server. Runs on front threads and on the main
// thread.

const REQUEST_ID_CHARACTERS_MAX = 128;
const UUID_RANDOM_BYTES = 16;
/**
 * Random bytes are drawn for 256 ids at once. One draw per id made a static GET take 10.1 µs instead of 8.8 µs (`load
 * http floor`).
 */
const POOL_BYTES = 256 * UUID_RANDOM_BYTES;

export class RequestIds {
  private readonly pool = new Uint8Array(POOL_BYTES);
  private usedBytes = POOL_BYTES;

  /**
   * The caller's id if it is 1 to 128 visible ASCII characters, so that it can be echoed in a header; else a new
   * UUIDv7.
   */
  idFor(callersId: string): string {
    return isEchoable(callersId) ? callersId : uuidv7({ random: this.draw() });
  }

  private draw(): Uint8Array {
    if (this.usedBytes === POOL_BYTES) {
      randomFillSync(this.pool);
      this.usedBytes = 0;
    }
    this.usedBytes += UUID_RANDOM_BYTES;
    return this.pool.subarray(this.usedBytes - UUID_RANDOM_BYTES, this.usedBytes);
  }
}

function isEchoable(text: string): boolean {
  if (text.length === 0 || text.length > REQUEST_ID_CHARACTERS_MAX) return false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x21 || code > 0x7e) return false;
  }
  return true;
}

/** State that all exchanges of a server share. */
export interface ExchangeContext extends ServerContext {
  readonly requestIds: RequestIds;
  /** Called once per exchange, when all of its work has finished. */
  left(exchange: Exchange): void;
}

export class Exchange {
  private readonly context: RequestContext;
  private isSettled = false;
  /** Whether the handler has settled. */
  private isHandled = false;
  private state: 'open' | 'replying' | 'over' = 'open';
  private sent: Answer | undefined;
  private stream: ReplyStream | undefined;
  private cutOff: RequestEnd | undefined;

  constructor(
    private readonly server: ExchangeContext,
    private readonly response: WireResponse,
    private readonly head: Head,
  ) {
    this.context = new RequestContext(server, response, head, server.requestIds.idFor(head.header('x-request-id')));
  }

  /** Answers the request. Runs synchronously until the body is open; never rejects. */
  async run(): Promise<void> {
    let answer: Answer;
    try {
      this.context.findEnd();
    } catch (error) {
      return this.refuseUnclear(error);
    }
    try {
      const reply = await this.context.handle();
      answer = isStreamed(reply)
        ? await beginStreamed(reply, () => this.context.closing())
        : this.packed(encodeReply(reply, this.context.closing()));
    } catch (error) {
      answer = this.clientError(error);
    }
    this.isHandled = true;
    if (isCompressible(answer)) answer = await negotiated(answer, this.head.header('accept-encoding'));
    if (this.server.options.tls !== undefined && this.context.owesBody) await new Promise(setImmediate);
    // uWebSockets.js is lenient with chunked framing. While this request is still unanswered, another one that it
    // parses from the bytes behind it is dropped.
    else if (this.context.announced === 'chunked') await new Promise(setImmediate);
    if (answer.rest !== undefined) await this.replyAtLength(answer, answer.rest);
    else if (this.state === 'open') this.reply(answer);
    this.isSettled = true;
    if (this.state === 'over') this.leave();
  }

  /** Ends the request because the client has disconnected. */
  abort(): void {
    if (this.state === 'over') return;
    this.context.source?.abandon();
    this.stream?.abandon();
    this.finish(this.cutOff ?? 'aborted');
  }

  /** Ends a request that exceeds a timeout. Called periodically while the request is in progress. */
  checkTime(nowMs: number): void {
    const { source, startedAtMs } = this.context;
    const { bodyTimeoutMs, requestTimeoutMs = Infinity } = this.server.options.limits;
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
    else if (waitedMs > requestTimeoutMs && !this.context.route.isLong)
      this.reply(this.clientError(overloaded('The request took longer than the server allows.')));
  }

  /**
   * Replies and closes the connection: the end of such a request is ambiguous, so the bytes after it are not parsed.
   */
  private refuseUnclear(error: unknown): void {
    const answer = this.clientError(error);
    this.begin(answer);
    this.isSettled = true;
    this.finish('answered');
    writeLastReply(this.response, answer, this.replyOptions('close'));
  }

  private clientError(error: unknown): Answer {
    this.reportInternalError(error);
    const told = error instanceof AppError ? error : new AppError('internal_error');
    return this.packed(encodeError(told, this.context.route, this.context.closing()));
  }

  private packed(answer: Answer): Answer {
    return this.context.wantsMsgpack ? inMsgpack(answer) : answer;
  }

  private reportInternalError(error: unknown): void {
    if (!(error instanceof AppError)) this.server.options.onInternalError(error, this.context.id);
  }

  private reply(answer: Answer): void {
    const { announced, source } = this.context;
    const afterwards = afterwardsOf(announced, source, this.server.admission.isStopping);
    this.begin(answer);
    source?.release();
    writeReply(this.response, answer, this.replyOptions(afterwards), {
      ending: () => {
        if (this.isHandled) this.context.leave();
      },
      written: () => this.finish('answered'),
    });
  }

  /** Writes a streamed reply while the client is connected. The source is closed in any case. */
  private async replyAtLength(answer: Answer, rest: PieceBlocks): Promise<void> {
    try {
      if (this.state === 'open' && this.head.isHead) this.reply(answer);
      else if (this.state === 'open') await this.writeStream(answer, rest);
    } catch (error) {
      if (this.state !== 'over') this.server.options.onInternalError(error, this.context.id);
      this.cut('failed');
    }
    await rest.return().catch((error: unknown) => this.reportInternalError(error));
  }

  private async writeStream(answer: Answer, rest: PieceBlocks): Promise<void> {
    const { options, admission } = this.server;
    this.begin(answer);
    const stream = (this.stream = new ReplyStream(
      this.response,
      this.context.source,
      options.limits,
      admission,
      options.tls !== undefined,
    ));
    if (!(await stream.write(answer, rest, this.replyOptions(admission.isStopping ? 'ask_to_close' : 'keep')))) return;
    this.context.leave();
    stream.end();
    this.finish('answered');
  }

  private begin(answer: Answer): void {
    this.state = 'replying';
    this.sent = answer;
    this.context.aborted = answer.rest === undefined;
  }

  private replyOptions(afterwards: Afterwards): ReplyOptions {
    return { requestId: this.context.id, isHead: this.head.isHead, afterwards, headers: this.context.headers };
  }

  /** Closes the connection, which makes uWebSockets.js call `abort`. */
  private cut(result: RequestEnd): void {
    if (this.state === 'over') return;
    this.cutOff = result;
    this.response.close();
  }

  private finish(result: RequestEnd): void {
    this.state = 'over';
    this.context.aborted = true;
    const event = requestEvent(this.context, this.head, this.sent, this.stream?.writtenBytes, result);
    this.server.options.log(event);
    this.context.trace?.end(event);
    if (this.isSettled) this.leave();
  }

  private leave(): void {
    this.context.leave();
    this.server.left(this);
  }
}
