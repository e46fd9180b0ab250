// Encodes what a handler returns or throws as the success envelope or the error envelope, including the field errors of
// a 422. An internal error reveals no details. Pure. Runs on front threads and on the main thread.
import { type AppError, ERROR_CODES, type ErrorCode, type ValidationDetail, errorTypeOf } from '../api/errors.js';
import { MSGPACK_TYPE } from '../api/msgpack.js';
import { msgpackOfJson } from '../base/json-msgpack.js';
import { roundTo } from '../base/numbers.js';
import { assert } from '../base/assert.js';
import type { Phases } from '../base/trace.js';
import type { Reply, Route } from './route.js';

// Groups the pieces of a streamed reply into blocks of up to 64 KiB. It pulls from the source only while a reader waits
// for a block, so a full socket holds the source back. Runs on front threads and on the main thread.

/**
 * A block is closed once it exceeds this size. A stream that ends within its first block becomes a reply of known
 * length.
 */
const BLOCK_BYTES = 64 * 1024;

export type Piece = string | Uint8Array;

interface Block {
  readonly bytes: Buffer;
  /** Whether this is the last block, which may be empty. */
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

  /**
   * The next block. Available bytes wait up to `waitMs` for more. One call at a time. Rejects with what the source
   * throws.
   */
  next(waitMs: number): Promise<Block> {
    return new Promise((resolve, reject) => {
      this.waiter = { resolve, reject };
      if (this.isOver) return this.hand();
      if (this.gatheredBytes > 0) this.handAfter(waitMs);
      if (!this.isPulling) void this.pull(waitMs);
    });
  }

  /** Closes the source and waits for its cleanup. Only the first call has an effect. */
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

/** A complete reply, except for the headers that every reply has. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body: Uint8Array;
  /** The error code; absent for a success. */
  readonly code?: string;
  readonly phases?: Phases | undefined;
  /** The part of the body after `body`, of unknown length; undefined if `body` is all. */
  readonly rest?: PieceBlocks | undefined;
}

/** The last fields of every JSON body. */
export interface Closing {
  readonly latencyMs: number;
  readonly requestId: string;
}

const JSON_TYPE = 'application/json';
const BRACE_OPEN = 0x7b;
const RETRY_AFTER_S = 1;
const QUOTA_RETRY_AFTER_S = 60;

/** Encodes a handler's reply. `ok` comes first and is derived from the status unless the handler sets it. */
export function encodeReply(reply: WholeReply, closing: Closing): Answer {
  const { status, headers, phases } = reply;
  if ('bytes' in reply) return { status, headers, contentType: reply.contentType, body: reply.bytes };
  const body =
    'json' in reply ? encodeObject(status, reply.json, closing) : joinParts(status, reply.jsonParts, closing);
  return { status, headers, contentType: JSON_TYPE, body, phases };
}

/** A JSON answer as MessagePack; others stay as they are. */
export function inMsgpack(answer: Answer): Answer {
  const { contentType, body } = answer;
  if (contentType !== JSON_TYPE) return answer;
  const json = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return { ...answer, contentType: MSGPACK_TYPE, body: msgpackOfJson(json) };
}

type StreamedReply = Extract<Reply, { jsonStream: unknown } | { stream: unknown }>;
type WholeReply = Exclude<Reply, StreamedReply>;

/** The status of an error code on a route: 400 becomes 422 where the specification lists no 400 for the route. */
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

/** `Retry-After` for temporary errors; longer if the cause is a quota. */
function retryHeader(status: number, { code, options }: AppError): Record<string, string> {
  if (status !== 429 && status !== 503 && options.retryAfterS === undefined) return {};
  const retryAfterS = options.retryAfterS ?? (ERROR_CODES[code].retryable ? RETRY_AFTER_S : QUOTA_RETRY_AFTER_S);
  return { 'Retry-After': String(Math.ceil(retryAfterS)) };
}

/** The envelope of an error as JSON, without the common fields. */
export function errorJson(error: AppError, route: Pick<Route, 'keeps400'>): string {
  return JSON.stringify(errorFields(error, statusOf(error.code, route)));
}

function errorFields(error: AppError, status: number): Record<string, unknown> {
  const list = error.options.detail ?? (status === 422 ? [wholeBody(error)] : undefined);
  const details = list === undefined ? error.options.details : { ...error.options.details, errors: list };
  // `JSON.stringify` omits undefined fields.
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
 * Joins serialized pieces of one JSON object: inserts `ok` after the first brace, and appends the closing fields and
 * the last brace.
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

/** Like `joinParts`, for pieces that are still to come. `closing` is called when they end. */
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

// Starts a streamed reply by pulling its first block. An error before that block is an ordinary error reply, and a
// stream that ends within it is sent whole, with a length. Runs on front threads and on the main thread.

/** How long the first piece waits for more: a stream that ends within this time costs no more than a whole reply. */
const FIRST_BLOCK_WAIT_MS = 10;
/** How long a later block of a stream waits for more pieces. */
export const BLOCK_WAIT_MS = 1;

export function isStreamed(reply: Reply): reply is StreamedReply {
  return 'stream' in reply || 'jsonStream' in reply;
}

/** Rejects with what the stream throws before its first block. `closing` is called when the stream ends. */
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
