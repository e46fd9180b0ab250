// Turns what a handler answered or threw into the body that goes out: the success envelope, the error envelope, and the
// list of field errors of a 422. Called by exchange.ts on the front thread; pure. Tells nothing of a fault of ours.
import { assert } from '../base/assert.js';
import type { Phases } from '../base/trace.js';
import { type AppError, ERROR_CODES, errorTypeOf, type ValidationDetail } from '../contract/errors.js';
import type { PieceBlocks } from './piece-blocks.js';
import type { Reply } from './route.js';

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

export const JSON_TYPE = 'application/json';
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

export type StreamedReply = Extract<Reply, { jsonStream: unknown } | { stream: unknown }>;
export type WholeReply = Exclude<Reply, StreamedReply>;

/** Encodes an error for a route that lists `statuses`: where 400 is not among them, a 400 becomes 422. */
export function encodeError(error: AppError, statuses: readonly number[], closing: Closing): Answer {
  const listed = ERROR_CODES[error.code].status;
  const status = listed === 400 && !statuses.includes(400) ? 422 : listed;
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
  const latency_ms = roundedMs(closing.latencyMs);
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
export async function* joinedPieces(
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
  `,"latency_ms":${roundedMs(latencyMs)},"request_id":${JSON.stringify(requestId)}}`;
const roundedMs = (ms: number): number => Math.round(ms * 1000) / 1000;
