// One HTTP exchange with the server: address, key, time limit, retries of refusals, errors as classes. Over fetch.
// Used by calls.ts; holds no state but its options, so it may be shared.
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CommonFields } from '../api/common.js';
import type { ErrorCode } from '../api/errors.js';
import { parseRetryAfterMs } from '../base/http-headers.js';
import { SheafError, SheafUnreachable, errorOf } from './errors.js';
import { type Query, encodePath, encodeQuery, parseBase } from './url.js';

// When to send a refused request again, and how long to wait before. Called by transport.ts, which does the waiting.
// Pure.

const RETRIES_MAX = 5;
/** No single wait is longer, whatever the server asks for. */
export const WAIT_MAX_MS = 30_000;
const WAIT_FIRST_MS = 250;

/**
 * True for the answers that mean "not now": rate limits, overload, a shard being rebuilt. Nothing has been done then.
 */
export const isRefusal = (status: number): boolean => status === 429 || status === 503;

/** Quotas are refusals with status 429 too, but no waiting makes room; nor does it mend what is damaged. */
const LASTING: ReadonlySet<string> = new Set<ErrorCode>([
  'collection_limit_reached',
  'chunk_limit_reached',
  'collection_damaged',
]);

/** Whether the same request may succeed after a wait. */
const isWorthRetry = (status: number, code: string): boolean => isRefusal(status) && !LASTING.has(code);

/**
 * Milliseconds to wait before retry number `attempt` (from 0): what `Retry-After` asks for (seconds or an HTTP date),
 * else doubling from 250 ms; up to a quarter is added by `random` in [0, 1), so that refused clients do not come back
 * together.
 */
export function retryWaitMs(attempt: number, retryAfter: string | null, nowMs: number, random: number): number {
  const askedMs = retryAfter === null ? undefined : parseRetryAfterMs(retryAfter, nowMs);
  const waitMs = askedMs ?? WAIT_FIRST_MS * 2 ** attempt;
  return Math.min(WAIT_MAX_MS, Math.round(waitMs * (1 + random / 4)));
}

// Sends a file as a form, over node:http: fetch gives up when an answer takes five minutes to begin, and a restore may
// take longer. The file is read as the server takes it. Called by transport.ts.

interface Upload {
  url: string;
  method: 'POST' | 'PUT';
  headers: Readonly<Record<string, string>>;
  file: Blob;
  signal: AbortSignal | undefined;
}

const BOUNDARY = 'sheaf-archive-5b0f4f8d1c2e';
const HEAD = Buffer.from(
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="archive.zip"\r\nContent-Type: application/zip\r\n\r\n`,
);
const TAIL = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);

/** The answer, whole. A server that refuses need not take the whole file. */
async function upload({ url, method, headers, file, signal }: Upload): Promise<Response> {
  const length = HEAD.length + file.size + TAIL.length;
  const request = (url.startsWith('https:') ? overHttps : overHttp)(url, {
    method,
    headers: { ...headers, 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, 'content-length': length },
    ...(signal && { signal }),
  });
  const answered = once(request, 'response') as Promise<[IncomingMessage]>;
  const sent = sendForm(request, file);
  const [response] = await Promise.race([answered, sent.then(() => answered)]);
  const body = await readAll(response);
  request.destroy();
  await sent.catch(() => undefined);
  return new Response(body, {
    status: response.statusCode ?? 0,
    headers: Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]),
  });
}

async function sendForm(request: ClientRequest, file: Blob): Promise<void> {
  await pipeline(Readable.from(form(file)), request);
}

async function* form(file: Blob): AsyncGenerator<Uint8Array> {
  yield HEAD;
  yield* file.stream() as unknown as AsyncIterable<Uint8Array>;
  yield TAIL;
}

async function readAll(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of response.setEncoding('utf8')) text += piece as string;
  return text;
}

export interface TransportOptions {
  /** Such as `http://127.0.0.1:8080`; a path before `/v1` is kept. */
  url: string;
  key?: string;
  /** How often a refusal (429, 503) is tried again, after the wait the server asks for; default 5. */
  retriesMax?: number;
  /**
   * For one exchange, without the waits between; of a stream, without a byte in either direction. Default 5 minutes.
   */
  timeoutMs?: number;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** Overrides the client's: health checks want none. */
  retriesMax?: number;
}

interface Exchange extends CallOptions {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Segments, encoded here. */
  path: readonly string[];
  query?: Query;
  /** Plain objects are sent as JSON. */
  body?: FormData | object;
}

/** A file as a form; it is sent once, and its answer may take any time. */
interface UploadExchange extends CallOptions {
  method: 'POST' | 'PUT';
  path: readonly string[];
  query?: Query;
  file: Blob;
}

/** A request whose body is a stream; it is sent once. */
interface StreamedExchange {
  path: readonly string[];
  contentType: string;
  body: ReadableStream<Uint8Array>;
  signal: AbortSignal;
}

export interface Transport {
  readonly base: string;
  readonly timeoutMs: number;
  /** The body of a successful answer. */
  text(exchange: Exchange): Promise<string>;
  /** A successful answer of which the body is still to come. */
  open(exchange: Exchange): Promise<Response>;
  /** The body of a successful answer. */
  upload(exchange: UploadExchange): Promise<string>;
  /** A successful answer whose body is still to come. Rejects with what fetch rejects with. */
  stream(exchange: StreamedExchange): Promise<Response>;
}

/** Throws TypeError when `url` is no http or https address, or `key` can stand in no header. */
function createTransport({ url, key, retriesMax = RETRIES_MAX, timeoutMs = 300_000 }: TransportOptions): Transport {
  const base = parseBase(url);
  if (key && !/^[\x20-\x7e]+$/.test(key)) throw new TypeError('The key has characters that no key has.');
  const headers: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {};
  return {
    base,
    timeoutMs,
    async text(exchange) {
      const target = base + encodePath(exchange.path) + encodeQuery(exchange.query);
      for (let attempt = 0; ; attempt++) {
        const { response, text } = await send(base, target, exchange, headers, timeoutMs);
        if (response.ok) return text;
        const error = errorOf(response, text);
        if (!isWorthRetry(response.status, error.code) || attempt >= (exchange.retriesMax ?? retriesMax)) throw error;
        const waitMs = retryWaitMs(attempt, response.headers.get('retry-after'), Date.now(), Math.random());
        await sleep(waitMs, undefined, { signal: exchange.signal });
      }
    },
    open: (exchange) => openAnswer(base, exchange, headers),
    upload: (exchange) => sendFile(base, exchange, headers),
    stream: (exchange) => sendStream(base, exchange, headers),
  };
}

async function send(
  base: string,
  target: string,
  { method, body, signal }: Exchange,
  headers: Record<string, string>,
  timeoutMs: number,
) {
  const json = body !== undefined && !(body instanceof FormData);
  const timeout = AbortSignal.timeout(timeoutMs);
  const request = {
    method,
    headers: json ? { ...headers, 'content-type': 'application/json' } : headers,
    body: json ? JSON.stringify(body) : body,
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
  };
  const response = await reached(base, signal, fetch(target, request));
  return { response, text: await reached(base, signal, response.text()) };
}

async function sendStream(
  base: string,
  { path, contentType, body, signal }: StreamedExchange,
  headers: Record<string, string>,
): Promise<Response> {
  // fetch wants to be told that the answer may begin before the request has ended; its types do not know the word yet.
  const request: RequestInit & { duplex: 'half' } = {
    method: 'POST',
    headers: { ...headers, 'content-type': contentType },
    body,
    signal,
    duplex: 'half',
  };
  const response = await fetch(base + encodePath(path), request);
  if (!response.ok) throw errorOf(response, await response.text());
  return response;
}

async function openAnswer(
  base: string,
  { method, path, query, signal }: Exchange,
  headers: Record<string, string>,
): Promise<Response> {
  const response = await reached(
    base,
    signal,
    fetch(base + encodePath(path) + encodeQuery(query), { method, headers, ...(signal && { signal }) }),
  );
  if (!response.ok) throw errorOf(response, await reached(base, signal, response.text()));
  return response;
}

async function sendFile(
  base: string,
  { method, path, query, file, signal }: UploadExchange,
  headers: Record<string, string>,
): Promise<string> {
  const response = await reached(
    base,
    signal,
    upload({ url: base + encodePath(path) + encodeQuery(query), method, headers, file, signal }),
  );
  const text = await response.text();
  if (!response.ok) throw errorOf(response, text);
  return text;
}

/** What it resolves with; SheafUnreachable in place of what it rejects with, unless the caller has ended it. */
export async function reached<T>(base: string, signal: AbortSignal | undefined, answered: Promise<T>): Promise<T> {
  try {
    return await answered;
  } catch (error) {
    signal?.throwIfAborted();
    throw new SheafUnreachable(base, reasonOf(error), { cause: error });
  }
}

/** fetch says "fetch failed"; the cause beneath names the socket's error. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause as { code?: string; message?: string } | undefined;
  return cause?.code ?? (cause?.message || error.message);
}

// What the methods of the client are made of: a JSON answer, a text, and a listing page by page. Used by client.ts and
// the areas beside it.

/** An answer with the fields that all have. */
export type Answered<T> = T & CommonFields;

export interface PageOptions extends CallOptions {
  /** Entries of a page at most. Without it a listing is whole. */
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string;
}

/** Entries that are asked for at a time by the iterators. */
const PAGE_LENGTH = 1000;

export class Calls {
  readonly transport: Transport;

  constructor(options: TransportOptions) {
    this.transport = createTransport(options);
  }

  text(exchange: Exchange): Promise<string> {
    return this.transport.text(exchange);
  }

  async json<T>(exchange: Exchange): Promise<Answered<T>> {
    return parsed<T>(await this.text(exchange));
  }

  get<T>(path: readonly string[], call?: CallOptions): Promise<Answered<T>> {
    return this.json({ method: 'GET', path, ...call });
  }

  post<T>(path: readonly string[], body: object | undefined, call?: CallOptions): Promise<Answered<T>> {
    return this.json({ method: 'POST', path, body, ...call });
  }

  patch<T>(path: readonly string[], body: object, call?: CallOptions): Promise<Answered<T>> {
    return this.json({ method: 'PATCH', path, body, ...call });
  }

  delete<T>(path: readonly string[], call?: CallOptions): Promise<Answered<T>> {
    return this.json({ method: 'DELETE', path, ...call });
  }

  async upload<T>(exchange: UploadExchange): Promise<Answered<T>> {
    return parsed<T>(await this.transport.upload(exchange));
  }

  page<T>(path: readonly string[], { limit, cursor, ...call }: PageOptions = {}): Promise<Answered<T>> {
    return this.json({ method: 'GET', path, query: { limit, cursor }, ...call });
  }

  /** The entries of all pages; the next page is asked for when it is wanted. `limit` is the length of a page. */
  async *each<T, P extends { next_cursor?: string }>(
    ask: (options: PageOptions) => Promise<P>,
    entries: (page: P) => readonly T[],
    options: PageOptions = {},
  ): AsyncGenerator<T, void> {
    let cursor = options.cursor;
    do {
      const page: P = await ask({ limit: PAGE_LENGTH, ...options, cursor });
      yield* entries(page);
      cursor = page.next_cursor;
    } while (cursor !== undefined);
  }
}

function parsed<T>(text: string): Answered<T> {
  try {
    const answer = JSON.parse(text) as Partial<Answered<T>> | null;
    // All of Sheaf's have it.
    if (typeof answer?.ok === 'boolean') return answer as Answered<T>;
  } catch {
    // Told below, like what is JSON and no answer of Sheaf.
  }
  throw new SheafError(200, 'http_error', 'The answer is none of Sheaf: another program listens there.');
}

export const collectionPath = (tenant: string, collection: string, ...rest: string[]): string[] => [
  'v1',
  'collections',
  tenant,
  collection,
  ...rest,
];
