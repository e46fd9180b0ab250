// Turns what a handler answered or threw into the body that goes out: the success envelope, the error envelope, and the
// list of field errors of a 422. Called by exchange.ts on the front thread; pure. Tells nothing of a fault of ours.
import { type AppError, ERROR_CODES, type ErrorCode, type ValidationDetail, errorTypeOf } from '../api/errors.js';
import { roundTo } from '../base/numbers.js';
import { assert } from '../base/assert.js';
import type { Phases } from '../base/trace.js';
import type { Reply, Route } from './route.js';

// The pieces of a streamed reply put together in blocks worth a write: what comes at once, up to 64 KiB. Front thread.
// It pulls while somebody waits for a block, and one piece beyond that, so a socket that is full holds the source back.

/**
 * A block is closed once it has more bytes than that; it is also what a reply of known length may have to come from a
 * stream.
 */
const BLOCK_BYTES = 64 * 1024;

export type Piece = string | Uint8Array;

interface Block {
  readonly bytes: Buffer;
  /** The last one; its bytes may be none. */
  readonly isLast: boolean;
}

interface Waiter {
  resolve(block: Block): void;
  reject(error: unknown): void;
}

export class PieceBlocks {
  private readonly iterator: AsyncIterator<Piece>;
  private gathered: Buffer[] = [];
  private gatheredBytes = 0;
  private isPulling = false;
  private isOver = false;
  private failure: { error: unknown } | undefined;
  private waiter: Waiter | undefined;
  private timer: NodeJS.Timeout | undefined;
  private returned: Promise<void> | undefined;

  constructor(pieces: AsyncIterable<Piece>) {
    this.iterator = pieces[Symbol.asyncIterator]();
  }

  /** The next block; one call at a time. What is there waits `waitMs` for more. Rejects with what the source throws. */
  next(waitMs: number): Promise<Block> {
    return new Promise((resolve, reject) => {
      this.waiter = { resolve, reject };
      if (this.isOver) return this.hand();
      if (this.gatheredBytes > 0) this.handAfter(waitMs);
      if (!this.isPulling) void this.pull(waitMs);
    });
  }

  /** Tells the source that nobody wants more, and waits until it has cleaned up. Only the first call does anything. */
  return(): Promise<void> {
    this.returned ??= Promise.resolve(this.iterator.return?.()).then(() => undefined);
    return this.returned;
  }

  private async pull(waitMs: number): Promise<void> {
    this.isPulling = true;
    try {
      while (this.waiter !== undefined && !this.isOver) {
        const result = await this.iterator.next();
        if (result.done === true) this.isOver = true;
        else this.add(result.value);
        if (this.isOver || this.gatheredBytes > BLOCK_BYTES) this.hand();
        else this.handAfter(waitMs);
      }
    } catch (error) {
      this.failure = { error };
      this.isOver = true;
      this.hand();
    }
    this.isPulling = false;
  }

  private add(piece: Piece): void {
    const bytes =
      typeof piece === 'string' ? Buffer.from(piece) : Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    this.gathered.push(bytes);
    this.gatheredBytes += bytes.length;
  }

  private handAfter(waitMs: number): void {
    this.timer ??= setTimeout(() => this.hand(), waitMs);
  }

  private hand(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { waiter, gathered } = this;
    if (waiter === undefined) return;
    this.waiter = undefined;
    this.gathered = [];
    this.gatheredBytes = 0;
    if (this.failure !== undefined) waiter.reject(this.failure.error);
    else waiter.resolve({ bytes: Buffer.concat(gathered), isLast: this.isOver });
  }
}

/** A finished reply but for the headers that all replies have. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body: Uint8Array;
  /** Of an error. */
  readonly code?: string;
  readonly phases?: Phases | undefined;
  /** What follows `body`, of unknown length; undefined where that is all. */
  readonly rest?: PieceBlocks | undefined;
}

/** The fields that close every JSON body. */
export interface Closing {
  readonly latencyMs: number;
  readonly requestId: string;
}

const JSON_TYPE = 'application/json';
const BRACE_OPEN = 0x7b;
const RETRY_AFTER_S = 1;
const QUOTA_RETRY_AFTER_S = 60;

/** Encodes a handler's reply. `ok` comes first and follows the status unless the handler sets it. */
export function encodeReply(reply: WholeReply, closing: Closing): Answer {
  const { status, headers, phases } = reply;
  if ('bytes' in reply) return { status, headers, contentType: reply.contentType, body: reply.bytes };
  const body =
    'json' in reply ? encodeObject(status, reply.json, closing) : joinParts(status, reply.jsonParts, closing);
  return { status, headers, contentType: JSON_TYPE, body, phases };
}

type StreamedReply = Extract<Reply, { jsonStream: unknown } | { stream: unknown }>;
type WholeReply = Exclude<Reply, StreamedReply>;

/** The status of an error on a route: where the specification lists no 400, it is 422. */
export function statusOf(code: ErrorCode, { keeps400 }: Pick<Route, 'keeps400'>): number {
  const { status } = ERROR_CODES[code];
  return status === 400 && !keeps400 ? 422 : status;
}

export function encodeError(error: AppError, route: Pick<Route, 'keeps400'>, closing: Closing): Answer {
  const status = statusOf(error.code, route);
  return {
    status,
    code: error.code,
    contentType: JSON_TYPE,
    headers: {
      ...retryHeader(status, error),
      ...error.options.headers,
      ...(status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
    },
    body: encodeObject(status, errorFields(error, status), closing),
  };
}

/** Every refusal for a time tells when to come back; where the cause is a quota, that is not soon. */
function retryHeader(status: number, { code, options }: AppError): Record<string, string> {
  if (status !== 429 && status !== 503 && options.retryAfterS === undefined) return {};
  const retryAfterS = options.retryAfterS ?? (ERROR_CODES[code].retryable ? RETRY_AFTER_S : QUOTA_RETRY_AFTER_S);
  return { 'Retry-After': String(Math.ceil(retryAfterS)) };
}

function errorFields(error: AppError, status: number): Record<string, unknown> {
  const list = error.options.detail ?? (status === 422 ? [wholeBody(error)] : undefined);
  const details = list === undefined ? error.options.details : { ...error.options.details, errors: list };
  // Undefined fields are left out of the JSON.
  return {
    ok: false,
    code: error.code,
    error: error.message,
    error_type: errorTypeOf(error.code),
    details,
    detail: status === 422 ? list : undefined,
  };
}

function wholeBody(error: AppError): ValidationDetail {
  return { loc: ['body'], msg: error.message, type: error.code };
}

function encodeObject(status: number, fields: object, closing: Closing): Buffer {
  const latency_ms = roundTo(closing.latencyMs, 3);
  return Buffer.from(JSON.stringify({ ok: status < 400, ...fields, latency_ms, request_id: closing.requestId }));
}

/**
 * Joins ready pieces of one object: `ok` goes in behind the first brace, the closing fields and the last brace at the
 * end.
 */
function joinParts(status: number, parts: readonly (string | Uint8Array)[], closing: Closing): Buffer {
  const [only] = parts;
  if (parts.length === 1 && typeof only === 'string') {
    assert(only.startsWith('{'), 'jsonParts start with the brace of an object');
    return Buffer.from(`${headOf(status)}${only.slice(1)}${tailOf(closing)}`);
  }
  const pieces = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
  const first = pieces[0];
  assert(first !== undefined && first[0] === BRACE_OPEN, 'jsonParts start with the brace of an object');
  pieces[0] = first.subarray(1);
  return Buffer.concat([Buffer.from(headOf(status)), ...pieces, Buffer.from(tailOf(closing))]);
}

/** The same for pieces that are still to come; `closing` is asked for when they are over. */
async function* joinedPieces(
  status: number,
  pieces: AsyncIterable<string>,
  closing: () => Closing,
): AsyncGenerator<string> {
  let isFirst = true;
  for await (const piece of pieces) {
    assert(!isFirst || piece[0] === '{', 'a jsonStream starts with the brace of an object');
    yield isFirst ? headOf(status) + piece.slice(1) : piece;
    isFirst = false;
  }
  assert(!isFirst, 'a jsonStream has pieces');
  yield tailOf(closing());
}

const headOf = (status: number): string => `{"ok":${status < 400},`;
const tailOf = ({ latencyMs, requestId }: Closing): string =>
  `,"latency_ms":${roundTo(latencyMs, 3)},"request_id":${JSON.stringify(requestId)}}`;

// Begins a streamed reply: pulls its first block, so that a failure before it is an ordinary error, and what ends
// within it goes out whole, with a length. Called by exchange.ts on the front thread.

/** How long the first piece waits for others: a stream that is over by then costs no more than a whole reply. */
const FIRST_BLOCK_WAIT_MS = 10;

export function isStreamed(reply: Reply): reply is StreamedReply {
  return 'stream' in reply || 'jsonStream' in reply;
}

/** Rejects with what the stream throws before it has given anything. `closing` is asked for when the stream is over. */
export async function beginStreamed(reply: StreamedReply, closing: () => Closing): Promise<Answer> {
  const { status, headers } = reply;
  const isJson = 'jsonStream' in reply;
  const blocks = new PieceBlocks(isJson ? joinedPieces(status, reply.jsonStream, closing) : reply.stream);
  const { bytes, isLast } = await blocks.next(FIRST_BLOCK_WAIT_MS);
  return {
    status,
    headers,
    contentType: isJson ? JSON_TYPE : reply.contentType,
    body: bytes,
    rest: isLast ? undefined : blocks,
  };
}
