// One HTTP exchange with the server: address, key, time limit, retries of refusals, errors as classes. Over fetch.
// Used by calls.ts; holds no state but its options, so it may be shared.
import { setTimeout as sleep } from 'node:timers/promises';
import { errorOf } from './error-answer.js';
import { SheafUnreachable } from './errors.js';
import { isWorthRetry, RETRIES_MAX, retryWaitMs } from './retry.js';
import { upload } from './upload.js';
import { encodePath, encodeQuery, parseBase, type Query } from './url.js';

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

export interface Exchange extends CallOptions {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Segments, encoded here. */
  path: readonly string[];
  query?: Query;
  /** Plain objects are sent as JSON. */
  body?: FormData | object;
}

/** A file as a form; it is sent once, and its answer may take any time. */
export interface UploadExchange extends CallOptions {
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
export function createTransport({
  url,
  key,
  retriesMax = RETRIES_MAX,
  timeoutMs = 300_000,
}: TransportOptions): Transport {
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
