// Turns what a handler answered or threw into the body that goes out: the success envelope, the error envelope, and the
// list of field errors of a 422. Called by exchange.ts on the front thread; pure. Tells nothing of a fault of ours.
import { assert } from '../base/assert.js';
import { AppError, ERROR_CODES, errorTypeOf, type ValidationDetail } from '../contract/errors.js';
import type { Reply } from './route.js';

/** A finished reply but for the headers that all replies have. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body: Uint8Array;
}

/** The fields that close every JSON body. */
export interface Closing {
  readonly latencyMs: number;
  readonly requestId: string;
}

const JSON_TYPE = 'application/json';
const BRACE_OPEN = 0x7b;

/** Encodes a handler's reply. `ok` comes first and follows the status unless the handler sets it. */
export function encodeReply(reply: WholeReply, closing: Closing): Answer {
  const { status, headers } = reply;
  if ('bytes' in reply) return { status, headers, contentType: reply.contentType, body: reply.bytes };
  const body = 'json' in reply ? encodeObject(status, reply.json, closing) : joinParts(status, reply.jsonParts, closing);
  return { status, headers, contentType: JSON_TYPE, body };
}

type StreamedReply = Extract<Reply, { jsonStream: unknown } | { stream: unknown }>;
export type WholeReply = Exclude<Reply, StreamedReply>;

export async function wholeOf(reply: Reply): Promise<WholeReply> {
  const { status, headers } = reply;
  if ('jsonStream' in reply) return { status, headers, jsonParts: await gathered(reply.jsonStream) };
  if (!('stream' in reply)) return reply;
  const pieces = await gathered(reply.stream);
  return { status, headers, contentType: reply.contentType, bytes: Buffer.concat(pieces.map((piece) => Buffer.from(piece as string))) };
}

async function gathered<T>(pieces: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

/** Encodes an error for a route that lists `statuses`: where 400 is not among them, a 400 becomes 422. */
export function encodeError(error: AppError, statuses: readonly number[], closing: Closing): Answer {
  const listed = ERROR_CODES[error.code].status;
  const status = listed === 400 && !statuses.includes(400) ? 422 : listed;
  const { headers, retryAfterS } = error.options;
  return {
    status,
    contentType: JSON_TYPE,
    headers: {
      ...headers,
      ...(retryAfterS === undefined ? {} : { 'Retry-After': String(Math.ceil(retryAfterS)) }),
      ...(status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
    },
    body: encodeObject(status, errorFields(error, status), closing),
  };
}

function errorFields(error: AppError, status: number): Record<string, unknown> {
  const list = error.options.detail ?? (status === 422 ? [wholeBody(error)] : undefined);
  const details = list === undefined ? error.options.details : { ...error.options.details, errors: list };
  // Undefined fields are left out of the JSON.
  return {
    ok: false,
    code: error.code,
    error: error.message,
    error_type: errorTypeOf(status),
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

/** Joins ready pieces of one object: `ok` goes in behind the first brace, the closing fields and the last brace at the end. */
function joinParts(status: number, parts: readonly (string | Uint8Array)[], closing: Closing): Buffer {
  const pieces = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part));
  const first = pieces[0];
  assert(first !== undefined && first[0] === BRACE_OPEN, 'jsonParts start with the brace of an object');
  pieces[0] = first.subarray(1);
  const head = Buffer.from(`{"ok":${status < 400},`);
  const tail = Buffer.from(`,"latency_ms":${roundedMs(closing.latencyMs)},"request_id":${JSON.stringify(closing.requestId)}}`);
  return Buffer.concat([head, ...pieces, tail]);
}

const roundedMs = (ms: number): number => Math.round(ms * 1000) / 1000;
