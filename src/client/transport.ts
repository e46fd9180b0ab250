// HTTP transport of the client: address, key, timeouts, retries, and error classes. Uses fetch, except for archives.
// Calls may share a transport, because its only state is its options.
import type { CommonFields } from '../api/common.js';
import type { ErrorCode } from '../api/errors.js';
import { parseRetryAfterMs } from '../base/http-headers.js';
import { type Encoding, MSGPACK_TYPE, packed, unpacked } from './encoding.js';
import { SheafError, SheafUnreachable, errorOf } from './errors.js';
import { upload } from './upload.js';
import { type Query, encodePath, encodeQuery, parseBase } from './url.js';

const RETRIES_MAX = 5;
/** The longest wait between retries, whatever the server asks for. */
export const WAIT_MAX_MS = 30_000;
const WAIT_FIRST_MS = 250;

/**
 * Whether a status means "try again later": rate limits, overload, a shard being rebuilt. The request has had no
 * effect.
 */
export const isRejection = (status: number): boolean => status === 429 || status === 503;

/** Errors that a retry does not help despite their status: exhausted quotas and damaged records. */
const LASTING: ReadonlySet<string> = new Set<ErrorCode>([
  'collection_limit_reached',
  'chunk_limit_reached',
  'collection_damaged',
]);

/** Whether the same request may succeed after a wait. */
const isWorthRetry = (status: number, code: string): boolean =>
  (isRejection(status) && !LASTING.has(code)) || code === ('idempotency_key_in_use' satisfies ErrorCode);

/** Resolves after this time, and rejects with the reason of the signal if that is aborted before. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }, ms);
    if (signal?.aborted) aborted();
    else signal?.addEventListener('abort', aborted, { once: true });
  });
}

/** What one attempt has come to. */
type Attempt =
  | { body: string | object }
  | {
      error: unknown;
      isWorthRetry: boolean;
      retryAfter: string | null;
      /** Whether another node may well answer at once. */
      isOfNode: boolean;
    };

/**
 * Milliseconds to wait before retry `attempt` (from 0): the value of `Retry-After` (seconds or an HTTP date), else
 * doubling from 250 ms. `random` in [0, 1) adds up to a quarter, so that rejected clients do not return at the same
 * time.
 */
export function retryWaitMs(attempt: number, retryAfter: string | null, nowMs: number, random: number): number {
  const askedMs = retryAfter === null ? undefined : parseRetryAfterMs(retryAfter, nowMs);
  const waitMs = askedMs ?? WAIT_FIRST_MS * 2 ** attempt;
  return Math.min(WAIT_MAX_MS, Math.round(waitMs * (1 + random / 4)));
}

export interface TransportOptions {
  /**
   * Base address, such as `http://127.0.0.1:8080`; a path before `/v1` is kept. Of a cluster, those of several nodes: where
   * one does not answer, the next one is asked, and shows what has been written before.
   */
  url: string | readonly string[];
  key?: string;
  /** Maximum number of retries after 429 and 503, each after the wait that the server asks for. Default: 5. */
  retriesMax?: number;
  /**
   * Timeout of one HTTP request, not counting waits between retries; for a stream, of silence in both directions.
   * Default: 5 minutes.
   */
  timeoutMs?: number;
  /** How searches and documents are sent and answered. Default: `json`. */
  encoding?: Encoding;
  /** Gives each write of documents an idempotency key of its own, so that its retries write once. Default: false. */
  idempotent?: boolean;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** Overrides the client's setting; health checks use 0. */
  retriesMax?: number;
  /**
   * Makes a write of documents safe to repeat: the server answers a repetition with the same key what the first request
   * was answered, and writes nothing. With a key, a call is retried after a broken connection as well.
   */
  idempotencyKey?: string;
}

interface Exchange extends CallOptions {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path segments; the transport percent-encodes them. */
  path: readonly string[];
  query?: Query;
  /** A plain object is sent as JSON, or in the encoding of the client if `isEncoded`. */
  body?: FormData | object;
  isEncoded?: true;
  /** Changes nothing, as GET does, so that another node may be asked. */
  isRead?: true;
}

/** A file sent as a form. Sent once, and without a timeout. */
interface UploadExchange extends CallOptions {
  method: 'POST' | 'PUT';
  path: readonly string[];
  query?: Query;
  file: Blob;
}

/** A request with a streamed body. Sent once. */
interface StreamedExchange {
  path: readonly string[];
  contentType: string;
  body: ReadableStream<Uint8Array>;
  signal: AbortSignal;
  idempotencyKey?: string;
}

type Headers = Readonly<Record<string, string>>;

/** The key as a string of structured headers (RFC 9651). */
const keyHeader = (key: string | undefined): Headers =>
  key === undefined ? {} : { 'idempotency-key': `"${key.replace(/["\\]/g, '\\$&')}"` };

function contentOf(
  headers: Headers,
  body: FormData | object | undefined,
  isMsgpack: boolean,
): Pick<RequestInit, 'headers' | 'body'> {
  if (body === undefined) return { headers };
  if (body instanceof FormData) return { headers, body };
  if (isMsgpack)
    return { headers: { ...headers, 'content-type': MSGPACK_TYPE, accept: MSGPACK_TYPE }, body: packed(body) };
  return { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** An answer with the fields that all answers have. */
export type Answered<T> = T & CommonFields;

export interface PageOptions extends CallOptions {
  /** Page size. Without it, a listing returns everything. */
  limit?: number;
  /** `next_cursor` of the previous page. */
  cursor?: string;
}

export interface DocumentPageOptions extends PageOptions {
  /** With the metadata of each document. */
  metadata?: boolean;
}

/** Aborted with the first of the signals. Some edge runtimes have no `AbortSignal.any`. */
export function firstOf(signals: AbortSignal[]): AbortSignal {
  if ('any' in AbortSignal) return AbortSignal.any(signals);
  const controller = new AbortController();
  for (const signal of signals) {
    const abort = (): void => controller.abort(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  }
  return controller.signal;
}

/** Page size of the iterators. */
const PAGE_LENGTH = 1000;

/** Whether a token tells of less of the same command log than another one. */
function isBefore(token: string, other: string): boolean {
  const [stream, last] = token.split(':');
  const [otherStream, otherLast] = other.split(':');
  return stream === otherStream && Number(last) < Number(otherLast);
}

export class Transport {
  private readonly bases: readonly string[];
  /** The place of the node that is asked. */
  private place = 0;
  /** Of several nodes: what a token of the latest answers tells of, the next one shows. */
  private token: string | undefined;
  readonly timeoutMs: number;
  readonly encoding: Encoding;
  private readonly headers: Record<string, string>;
  private readonly retriesMax: number;
  private readonly isIdempotent: boolean;

  /** Throws TypeError if `url` is no http or https address, or none at all, or if `key` cannot be sent in a header. */
  constructor({
    url,
    key,
    retriesMax = RETRIES_MAX,
    timeoutMs = 300_000,
    encoding = 'json',
    idempotent = false,
  }: TransportOptions) {
    this.bases = (typeof url === 'string' ? [url] : url).map(parseBase);
    if (this.bases.length === 0) throw new TypeError('There is no address.');
    if (key && !/^[\x20-\x7e]+$/.test(key)) throw new TypeError('The key has invalid characters.');
    this.headers = key ? { authorization: `Bearer ${key}` } : {};
    this.retriesMax = retriesMax;
    this.timeoutMs = timeoutMs;
    this.encoding = encoding;
    this.isIdempotent = idempotent;
  }

  /** The address of the node that is asked. */
  get base(): string {
    return this.bases[this.place] as string;
  }

  /** The body of a successful answer. */
  async text(exchange: Exchange): Promise<string> {
    return (await this.answered(exchange)) as string;
  }

  async json<T>(exchange: Exchange): Promise<Answered<T>> {
    return parsed<T>(await this.answered(exchange));
  }

  /** The body of a successful answer: its text, or its value if it is MessagePack. */
  private async answered(exchange: Exchange): Promise<string | object> {
    const { retriesMax = this.retriesMax, signal } = exchange;
    const isRead = exchange.method === 'GET' || exchange.isRead === true;
    let others = this.bases.length - 1;
    for (let attempt = 0; ; ) {
      const attempted = await this.attempted(exchange);
      if ('body' in attempted) return attempted.body;
      const { error, isOfNode, isWorthRetry: isWorth, retryAfter } = attempted;
      if (isOfNode && (isWorth || isRead) && retriesMax > 0 && others-- > 0) continue;
      if (!isWorth || attempt >= retriesMax) return this.failed(error);
      await sleep(retryWaitMs(attempt++, retryAfter, Date.now(), Math.random()), signal);
      others = this.bases.length - 1;
    }
  }

  /** No node shows what the token tells of where the cluster has been set up anew, so the next call goes without it. */
  private failed(error: unknown): never {
    if (error instanceof SheafError && error.code === 'node_behind') this.token = undefined;
    throw error;
  }

  /** A broken connection tells nothing of what has become of a request, so only one with a key is worth a retry. */
  private async attempted(exchange: Exchange): Promise<Attempt> {
    const { signal, idempotencyKey } = exchange;
    const { base } = this;
    try {
      const response = await this.send(exchange);
      const body = await this.reached(signal, bodyOf(response), base);
      if (response.ok) return this.note(response), { body };
      const error = errorOf(response, body);
      const isWorth = isWorthRetry(response.status, error.code);
      const isOfNode = isWorth && response.status === 503;
      if (isOfNode) this.leave(base);
      return { error, isWorthRetry: isWorth, retryAfter: response.headers.get('retry-after'), isOfNode };
    } catch (error) {
      if (!(error instanceof SheafUnreachable)) throw error;
      return { error, isWorthRetry: idempotencyKey !== undefined, retryAfter: null, isOfNode: true };
    }
  }

  /** Asks the next node from now on, unless another call has seen before that this one does not answer. */
  private leave(base: string): void {
    if (base === this.base) this.place = (this.place + 1) % this.bases.length;
  }

  private note({ headers }: Response): void {
    const token = this.bases.length > 1 ? headers.get('x-consistency') : null;
    if (token !== null && !(this.token !== undefined && isBefore(token, this.token))) this.token = token;
  }

  /** The options of a write of documents: with a key, if the client gives each of them one. */
  keyed<T extends CallOptions>(call: T = {} as T): T {
    return this.isIdempotent ? { idempotencyKey: crypto.randomUUID(), ...call } : call;
  }

  get<T>(path: readonly string[], call?: CallOptions): Promise<Answered<T>> {
    return this.json({ method: 'GET', path, ...call });
  }

  post<T>(path: readonly string[], body: object | undefined, call?: CallOptions): Promise<Answered<T>> {
    return this.json({ method: 'POST', path, body, ...call });
  }

  /** Like `post`, in the encoding of the client. For routes that take MessagePack. */
  postEncoded<T>(path: readonly string[], body: object, call?: CallOptions): Promise<Answered<T>> {
    return this.json({ method: 'POST', path, body, isEncoded: true, ...call });
  }

  /** Like `postEncoded`, for what changes nothing. */
  search<T>(path: readonly string[], body: object, call?: CallOptions): Promise<Answered<T>> {
    return this.json({ method: 'POST', path, body, isEncoded: true, isRead: true, ...call });
  }

  patch<T>(path: readonly string[], body: object, call?: CallOptions): Promise<Answered<T>> {
    return this.json({ method: 'PATCH', path, body, ...call });
  }

  delete<T>(path: readonly string[], call?: CallOptions): Promise<Answered<T>> {
    return this.json({ method: 'DELETE', path, ...call });
  }

  page<T>(
    path: readonly string[],
    { limit, cursor, metadata, ...call }: DocumentPageOptions = {},
  ): Promise<Answered<T>> {
    return this.json({ method: 'GET', path, query: { limit, cursor, metadata }, ...call });
  }

  /** The entries of all pages; the next page is requested on demand. `limit` is the page size. */
  async *each<T, P extends { next_cursor?: string }, O extends PageOptions = PageOptions>(
    ask: (options: O) => Promise<P>,
    entries: (page: P) => readonly T[],
    options = {} as O,
  ): AsyncGenerator<T, void> {
    let cursor = options.cursor;
    do {
      const page: P = await ask({ limit: PAGE_LENGTH, ...options, cursor });
      yield* entries(page);
      cursor = page.next_cursor;
    } while (cursor !== undefined);
  }

  /** A successful answer whose body is still to be read. No timeout. */
  open({ method, path, query, signal }: Exchange): Promise<Response> {
    const request = { method, headers: this.headers, ...(signal && { signal }) };
    return this.accepted(signal, fetch(this.target(path, query), request));
  }

  /** Uploads a file as a form. */
  async upload<T>({ method, path, query, file, signal }: UploadExchange): Promise<Answered<T>> {
    const request = { url: this.target(path, query), method, headers: this.headers, file, signal };
    return parsed<T>(await (await this.accepted(signal, upload(request))).text());
  }

  /** Sends a stream and returns a successful answer whose body is still to be read. */
  stream({ path, contentType, body, signal, idempotencyKey }: StreamedExchange): Promise<Response> {
    // `duplex` permits the answer to begin before the request ends; the type declarations of fetch lack it.
    const request: RequestInit & { duplex: 'half' } = {
      method: 'POST',
      headers: { ...this.headers, 'content-type': contentType, ...keyHeader(idempotencyKey) },
      body,
      signal,
      duplex: 'half',
    };
    return this.accepted(signal, fetch(this.target(path), request));
  }

  /**
   * Awaits `answered` and converts its rejection to SheafUnreachable, unless the caller has aborted the call. `base`: the
   * node that is not asked any more then.
   */
  async reached<T>(signal: AbortSignal | undefined, answered: Promise<T>, base?: string): Promise<T> {
    try {
      return await answered;
    } catch (error) {
      signal?.throwIfAborted();
      if (base !== undefined) this.leave(base);
      throw new SheafUnreachable(base ?? this.base, causeOf(error), { cause: error });
    }
  }

  private send({ method, path, query, body, isEncoded, signal, idempotencyKey }: Exchange): Promise<Response> {
    const timeout = AbortSignal.timeout(this.timeoutMs);
    const headers = {
      ...this.headers,
      ...keyHeader(idempotencyKey),
      ...(this.token !== undefined && { 'x-consistency': this.token }),
    };
    const request = {
      method,
      ...contentOf(headers, body, isEncoded === true && this.encoding === 'msgpack'),
      signal: signal ? firstOf([signal, timeout]) : timeout,
    };
    return this.reached(signal, fetch(this.target(path, query), request), this.base);
  }

  /** The answer if it is a success; rejects with its error otherwise. */
  private async accepted(signal: AbortSignal | undefined, answer: Promise<Response>): Promise<Response> {
    const response = await this.reached(signal, answer, this.base);
    if (!response.ok) throw errorOf(response, await this.reached(signal, response.text()));
    return response;
  }

  private target(path: readonly string[], query?: Query): string {
    return this.base + encodePath(path) + encodeQuery(query);
  }
}

/** The reason of a network error. fetch only says "fetch failed"; its cause names the socket error. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause as { code?: string; message?: string } | undefined;
  return cause?.code ?? (cause?.message || error.message);
}

async function bodyOf(response: Response): Promise<string | object> {
  if (response.headers.get('content-type') !== MSGPACK_TYPE) return response.text();
  return unpacked(new Uint8Array(await response.arrayBuffer()));
}

function parsed<T>(body: string | object): Answered<T> {
  try {
    const answer = (typeof body === 'string' ? JSON.parse(body) : body) as Partial<Answered<T>> | null;
    // All answers of Sheaf have `ok`.
    if (typeof answer?.ok === 'boolean') return answer as Answered<T>;
  } catch {
    // Reported below, like JSON that is not an answer of Sheaf.
  }
  throw new SheafError(200, 'http_error', 'The answer is not from Sheaf: another program listens at this address.');
}

export const collectionPath = (tenant: string, collection: string, ...rest: string[]): string[] => [
  'v1',
  'collections',
  tenant,
  collection,
  ...rest,
];
