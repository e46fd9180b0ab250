// One exchange with the server that the page came from, with the key of the session. A refusal becomes the client's
// SheafError. Used by api.ts; relative to the page, so that a path before /ui is kept.
import type { CommonFields } from '../../contract/api/common.js';
import { errorOf } from '../../client/error-answer.js';
import { SheafUnreachable } from '../../client/errors.js';
import { encodePath, encodeQuery, type Query } from '../../client/url.js';
import { apiKey, askForKey, breaks, judgeKey } from '../state/session.js';

export interface Exchange {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: object;
  readonly signal?: AbortSignal | undefined;
}

/** `round_ms`: what the exchange took as the page saw it. */
export type Told<T> = T & CommonFields & { readonly round_ms: number };

export const addressOf = (path: readonly string[], query?: Query): string =>
  new URL(`.${encodePath(path)}${encodeQuery(query)}`, document.baseURI).href;

export const keyHeaders = (key: string): Record<string, string> => (key ? { authorization: `Bearer ${key}` } : {});

/** Rejects with SheafError, SheafUnreachable, or an AbortError. */
export async function call<T>(path: readonly string[], { query, ...exchange }: Exchange = {}): Promise<Told<T>> {
  const startedAtMs = performance.now();
  const response = await open(path, { query, ...exchange });
  const answer = (await response.json()) as T & CommonFields;
  return { ...answer, round_ms: performance.now() - startedAtMs };
}

export async function callText(path: readonly string[], signal?: AbortSignal): Promise<string> {
  return (await open(path, { signal })).text();
}

/** A successful answer whose body is still to come. */
export async function open(
  path: readonly string[],
  { method = 'GET', query, body, signal }: Exchange,
  headers: Record<string, string> = {},
): Promise<Response> {
  const key = apiKey.value;
  const init: RequestInit = {
    method,
    headers: { ...keyHeaders(key), ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  };
  const response = await fetch(addressOf(path, query), init).catch((error: unknown) => {
    signal?.throwIfAborted();
    breaks.value += 1;
    throw new SheafUnreachable(location.origin, error instanceof Error ? error.message : String(error));
  });
  judge(response, key);
  if (response.ok) return response;
  throw errorOf(response, await response.text());
}

/** A page that anybody may have says nothing of a key. */
function judge({ status, url }: Response, key: string): void {
  if (status === 401) judgeKey(key, false);
  else if (key && (status < 300 || status === 403) && new URL(url).pathname.includes('/v1/')) judgeKey(key, true);
  if (status === 401) askForKey(key);
}
