// One HTTP call: JSON there, JSON back, bounded in time and in bytes. Called by remote-endpoint.ts; embed worker of
// role remote. Connections are kept alive by Node's fetch. A redirect is not followed: the key is meant for the URL
// that was configured.
import { parseRetryAfterMs } from '../../../src/base/retry-after.js';
import { CallError, faultOfStatus } from './call-error.js';

export interface Post {
  url: string;
  /** '' for none. */
  apiKey: string;
  body: object;
  timeoutMs: number;
  answerBytesMax: number;
  traceparent?: string | undefined;
}

const ERROR_BYTES_MAX = 4096;
const EXCERPT_CHARACTERS = 200;

/** Rejects with CallError; its message has no key in it, and no more than an excerpt of the answer. */
export async function postJson({ url, apiKey, body, timeoutMs, answerBytesMax, traceparent }: Post): Promise<unknown> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    ...(traceparent !== undefined && { traceparent }),
  };
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      redirect: 'manual',
      signal,
    });
    if (!response.ok) throw await refusalOf(response, apiKey);
    const bytes = await read(response, answerBytesMax);
    if (bytes.length > answerBytesMax)
      throw new CallError('broken', `its answer has more than ${answerBytesMax} bytes`);
    return JSON.parse(bytes.toString());
  } catch (error) {
    throw asCallError(error, timeoutMs);
  }
}

/** The body, or so much of it as goes beyond `bytesMax` by a piece. */
async function read(response: Response, bytesMax: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > bytesMax) break;
  }
  return Buffer.concat(pieces);
}

async function refusalOf(response: Response, apiKey: string): Promise<CallError> {
  const { status } = response;
  const retryAfter = response.headers.get('retry-after');
  // Those who refuse a key like to quote it.
  const isOfKey = status === 401 || status === 403;
  const text = isOfKey
    ? '(the API key is missing, wrong, or not allowed this model)'
    : excerptOf(await read(response, ERROR_BYTES_MAX).catch(() => Buffer.alloc(0)), apiKey);
  if (isOfKey) await response.body?.cancel();
  return new CallError(
    faultOfStatus(status),
    `status ${status} ${text}`,
    retryAfter === null ? 0 : (parseRetryAfterMs(retryAfter, Date.now()) ?? 0),
  );
}

function excerptOf(bytes: Buffer, apiKey: string): string {
  const text = bytes.toString().replace(/\s+/g, ' ').trim();
  return (apiKey ? text.replaceAll(apiKey, '…') : text).slice(0, EXCERPT_CHARACTERS);
}

function asCallError(error: unknown, timeoutMs: number): CallError {
  if (error instanceof CallError) return error;
  const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  if (name === 'TimeoutError') return new CallError('transient', `no answer within ${timeoutMs} ms`);
  if (name === 'SyntaxError') return new CallError('broken', 'its answer is no JSON');
  return new CallError('transient', `no connection: ${cause?.code ?? cause?.message ?? message}`);
}
