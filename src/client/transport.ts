// One HTTP exchange with the server: address, key, time limit, retries of refusals, errors as classes. Over fetch.
// Used by client.ts; holds no state but its options, so it may be shared.
import { setTimeout as sleep } from 'node:timers/promises';
import { SheafError, SheafUnreachable } from './errors.js';
import { isRefusal, RETRIES_MAX, retryWaitMs } from './retry.js';

export interface TransportOptions {
  /** Such as `http://127.0.0.1:8080`; a path before `/v1` is kept. */
  url: string;
  key?: string;
  /** How often a refusal (429, 503) is tried again, after the wait the server asks for; default 5. */
  retriesMax?: number;
  /** For one exchange, without the waits between; default 5 minutes. */
  timeoutMs?: number;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** Overrides the client's: health checks want none. */
  retriesMax?: number;
}

export interface Exchange extends CallOptions {
  method: 'GET' | 'POST' | 'DELETE';
  /** Segments, encoded here. */
  path: readonly string[];
  /** Plain objects are sent as JSON. */
  body?: FormData | object;
}

/** The body of a successful answer. */
export type Transport = (exchange: Exchange) => Promise<string>;

/** Throws TypeError when `url` is no http or https address. */
export function createTransport({ url, key, retriesMax = RETRIES_MAX, timeoutMs = 300_000 }: TransportOptions): Transport {
  const base = parseBase(url);
  const headers: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {};
  return async (exchange) => {
    const target = base + exchange.path.map((segment) => `/${encodeSegment(segment)}`).join('');
    for (let attempt = 0; ; attempt++) {
      const { response, text } = await send(base, target, exchange, headers, timeoutMs);
      if (response.ok) return text;
      if (!isRefusal(response.status) || attempt >= (exchange.retriesMax ?? retriesMax)) throw errorOf(response, text);
      const waitMs = retryWaitMs(attempt, response.headers.get('retry-after'), Date.now(), Math.random());
      await sleep(waitMs, undefined, { signal: exchange.signal });
    }
  };
}

function parseBase(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol)) throw new TypeError(`"${url}" is not an http address.`);
  return (parsed.origin + parsed.pathname).replace(/\/+$/, '');
}

/** A URL takes `.` and `..` for folders even when percent-encoded, so that a request would reach another resource. */
function encodeSegment(segment: string): string {
  if (segment === '' || segment === '.' || segment === '..') throw new TypeError(`"${segment}" cannot stand in a path.`);
  return encodeURIComponent(segment);
}

async function send(base: string, target: string, { method, body, signal }: Exchange, headers: Record<string, string>, timeoutMs: number) {
  const json = body !== undefined && !(body instanceof FormData);
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(target, {
      method,
      headers: json ? { ...headers, 'content-type': 'application/json' } : headers,
      body: json ? JSON.stringify(body) : body,
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    return { response, text: await response.text() };
  } catch (error) {
    signal?.throwIfAborted();
    throw new SheafUnreachable(base, reasonOf(error), { cause: error });
  }
}

/** fetch says "fetch failed"; the cause beneath names the socket's error. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause as { code?: string; message?: string } | undefined;
  return cause?.code ?? (cause?.message || error.message);
}

function errorOf(response: Response, text: string): SheafError {
  const { code, error, details, request_id } = parseEnvelope(text);
  const requestId = request_id ?? response.headers.get('x-request-id') ?? undefined;
  return new SheafError(response.status, code ?? 'http_error', error ?? response.statusText, requestId, details);
}

interface Envelope {
  code?: string;
  error?: string;
  details?: Record<string, unknown>;
  request_id?: string;
}

function parseEnvelope(text: string): Envelope {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
