// An endpoint of another machine: its calls, with their timeouts, retries and budgets. Waits are bounded: those of a
// search by seconds, since somebody looks at a page meanwhile, those of an ingest by the minute that budgets are
// counted in. One for each instance; embed worker of role remote.
import { ExponentialBackoff, handleWhen, retry } from 'cockatiel';
import { AppError } from '../../api/errors.js';
import { parseRetryAfterMs } from '../../base/http-headers.js';
import type { EndpointMeter } from '../../base/meters.js';
import type { EndpointSpec } from '../embedder-spec.js';
import type { Purpose, Warn } from '../embedder.js';
import { RateLimiter } from './rate-limiter.js';

/**
 * `transient`: the same call may succeed later. `refused`: the endpoint does not take this body; another one it may.
 * `broken`: neither, until somebody changes its configuration or ours.
 */
type CallFault = 'transient' | 'refused' | 'broken';

/** A call that failed. It never leaves the worker: clients get `embedder_unavailable` alone. */
export class CallError extends Error {
  override readonly name = 'CallError';

  constructor(
    readonly fault: CallFault,
    message: string,
    /** When the endpoint asked to be called again. */
    readonly retryAfterMs = 0,
  ) {
    super(message);
  }
}

const REFUSED: ReadonlySet<number> = new Set([400, 413, 422]);
/** Beside all of 5xx. OpenAI's own clients try 408, 409 and 429 again; 425 says so by its name (RFC 8470). */
const TRANSIENT: ReadonlySet<number> = new Set([408, 409, 425, 429]);

function faultOfStatus(status: number): CallFault {
  if (REFUSED.has(status)) return 'refused';
  return status >= 500 || TRANSIENT.has(status) ? 'transient' : 'broken';
}

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

/**
 * One HTTP call: JSON there, JSON back, bounded in time and in bytes. A redirect is not followed: the key is meant for
 * the URL that was configured. Rejects with CallError; its message has no key in it, and no more than an excerpt of the
 * answer.
 */
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

/** One call, which may take several tries. */
export interface Call<T> {
  purpose: Purpose;
  /** The caller has entered already: the first try begins at once. */
  hasEntered?: boolean;
  /** Estimated tokens; undefined where nobody wants the answer any more. Asked before each try. */
  tokens(): number | undefined;
  body(): object;
  answerBytesMax: number;
  /** Of a request that it is for. Several may share a call: it can name one. */
  traceparent?: () => string | undefined;
  /** Throws CallError for an answer that makes no sense. */
  read(answer: unknown): T;
}

/** How long a call waits for its turn, and how long all tries of a query take together. */
const WAIT_MAX_MS: Readonly<Record<Purpose, number>> = { query: 5000, passage: 60_000 };
/** The largest wait before another try, where the endpoint names none. */
const BACKOFF_MAX_MS: Readonly<Record<Purpose, number>> = { query: 1000, passage: 15_000 };
const BACKOFF_FIRST_MS = 250;
/** What endpoints ask to be left alone for, and this share more, so that several servers do not come back together. */
const JITTER = 0.1;
const SAME_WARNING_MS = 60_000;

export class RemoteEndpoint {
  private readonly limiter: RateLimiter;
  private warned = { kind: '', atMs: -Infinity };

  constructor(
    private readonly key: string,
    private readonly spec: EndpointSpec,
    private readonly path: string,
    private readonly warn: Warn,
    private readonly nowMs: () => number = () => performance.now(),
    private readonly meter?: EndpointMeter,
  ) {
    this.limiter = new RateLimiter(spec, nowMs, meter);
  }

  /** Tokens that a call should not go beyond. */
  get tokensMax(): number {
    return this.limiter.tokensMax;
  }

  /** As RateLimiter.enter, for a call whose content is chosen when it may begin. */
  enter(purpose: Purpose, sinceMs: number, begin: () => number | undefined): Promise<boolean> {
    return this.limiter.enter(purpose, sinceMs + WAIT_MAX_MS[purpose], begin);
  }

  /**
   * What `read` makes of the answer; undefined where nobody wants it any more. Rejects with CallError `refused` where
   * the endpoint does not take the body, else with 503 `embedder_unavailable`, which has been logged.
   */
  async call<T>(call: Call<T>): Promise<T | undefined> {
    const untilMs = this.nowMs() + WAIT_MAX_MS[call.purpose];
    const isWorthRetry = (error: unknown): boolean =>
      error instanceof CallError &&
      error.fault === 'transient' &&
      error.retryAfterMs <= WAIT_MAX_MS[call.purpose] &&
      (call.purpose === 'passage' || this.nowMs() < untilMs);
    const backoff = new ExponentialBackoff({ initialDelay: BACKOFF_FIRST_MS, maxDelay: BACKOFF_MAX_MS[call.purpose] });
    try {
      return await retry(handleWhen(isWorthRetry), { maxAttempts: this.spec.retriesMax, backoff }).execute(
        ({ attempt }) => this.try(call, attempt === 0, untilMs),
      );
    } catch (error) {
      if (!(error instanceof CallError) || error.fault === 'refused') throw error;
      throw this.unavailable(error.message, error.retryAfterMs);
    }
  }

  /** 503 `embedder_unavailable`, and why, for the log. */
  unavailable(reason: string, retryAfterMs = 0): AppError {
    const nowMs = this.nowMs();
    // What follows these words may name the request, and differ each time.
    const kind = reason.split(' ', 2).join(' ');
    if (kind !== this.warned.kind || nowMs - this.warned.atMs >= SAME_WARNING_MS) {
      this.warned = { kind, atMs: nowMs };
      this.warn(
        { instance: this.key, url: this.spec.url + this.path, reason },
        'an endpoint gives no answer that can be used',
      );
    }
    return new AppError(
      'embedder_unavailable',
      undefined,
      retryAfterMs > 0 ? { retryAfterS: Math.ceil(retryAfterMs / 1000) } : {},
    );
  }

  private async try<T>(call: Call<T>, isFirst: boolean, untilMs: number): Promise<T | undefined> {
    const isPassage = call.purpose === 'passage';
    const enterUntilMs = isPassage ? this.nowMs() + WAIT_MAX_MS.passage : untilMs;
    const hasEntered =
      (isFirst && call.hasEntered) || (await this.limiter.enter(call.purpose, enterUntilMs, () => call.tokens()));
    if (!hasEntered) return undefined;
    try {
      const { url, apiKey, timeoutMs } = this.spec;
      const estimated = call.tokens();
      if (estimated === undefined) return undefined;
      const patienceMs = isPassage ? timeoutMs : Math.max(1, Math.min(timeoutMs, Math.ceil(untilMs - this.nowMs())));
      const answer = await postJson({
        url: url + this.path,
        apiKey,
        body: call.body(),
        timeoutMs: patienceMs,
        answerBytesMax: call.answerBytesMax,
        traceparent: call.traceparent?.(),
      });
      const spent = countedTokens(answer) ?? estimated;
      this.meter?.add('tokens', spent);
      this.limiter.correct(spent - estimated);
      return call.read(answer);
    } catch (error) {
      if (error instanceof CallError && error.retryAfterMs > 0)
        this.limiter.rest(Math.min(error.retryAfterMs * (1 + JITTER * Math.random()), WAIT_MAX_MS.passage));
      throw error;
    } finally {
      this.limiter.leave(call.purpose);
    }
  }
}

/** Servers that do not count say 0. */
function countedTokens(answer: unknown): number | undefined {
  const tokens = (answer as { usage?: { total_tokens?: unknown } } | null)?.usage?.total_tokens;
  return typeof tokens === 'number' && tokens > 0 ? tokens : undefined;
}

/**
 * The tokenizers of such models need three bytes of UTF-8 for a token or more, in natural language of any script:
 * English four to five, CJK three a character, Cyrillic four. Of text that is none (base64, long numbers) the estimate
 * is too small: a call that becomes too large by it is refused by the endpoint and sent in halves.
 */
const BYTES_PER_TOKEN = 3;
/** What marks the ends. */
const SPECIAL_TOKENS = 2;

/** How many tokens a text will be counted as, before anybody has counted: for splitting calls and for budgets. */
export const estimateTokens = (text: string): number =>
  Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN) + SPECIAL_TOKENS;
