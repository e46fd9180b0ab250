// Calls of a remote endpoint with timeouts, retries and budgets. Waits are bounded: seconds for a search, whose user is
// waiting, and for an ingest a minute, the period of the budgets. One per instance. Embed worker of role remote.
import { ExponentialBackoff, handleWhen, retry } from 'cockatiel';
import { AppError } from '../../api/errors.js';
import { parseRetryAfterMs } from '../../base/http-headers.js';
import type { EndpointMeter } from '../../base/meters.js';
import type { EndpointSpec } from '../embedder-spec.js';
import type { Purpose, Warn } from '../embedder.js';
import { RateLimiter } from './rate-limiter.js';

/**
 * `transient`: the same call may succeed later. `refused`: the endpoint rejects this body but may accept another.
 * `broken`: neither, until the configuration of either side changes.
 */
type CallFailure = 'transient' | 'refused' | 'broken';

/** A failed call. It never leaves the worker; clients see only `embedder_unavailable`. */
export class CallError extends Error {
  override readonly name = 'CallError';

  constructor(
    readonly failure: CallFailure,
    message: string,
    /** The delay that the endpoint asked for. */
    readonly retryAfterMs = 0,
  ) {
    super(message);
  }
}

const REFUSED: ReadonlySet<number> = new Set([400, 413, 422]);
/** Besides all 5xx. OpenAI's own clients retry 408, 409 and 429; 425 means "too early" (RFC 8470). */
const TRANSIENT: ReadonlySet<number> = new Set([408, 409, 425, 429]);

function failureOfStatus(status: number): CallFailure {
  if (REFUSED.has(status)) return 'refused';
  return status >= 500 || TRANSIENT.has(status) ? 'transient' : 'broken';
}

export interface Post {
  url: string;
  /** '' if there is none. */
  apiKey: string;
  body: object;
  timeoutMs: number;
  answerBytesMax: number;
  traceparent?: string | undefined;
}

const ERROR_BYTES_MAX = 4096;
const EXCERPT_CHARACTERS = 200;

/**
 * One HTTP call with a JSON body and answer, bounded in time and bytes. Redirects are not followed, because the key is
 * meant for the configured URL only. Rejects with CallError, whose message contains no key and at most an excerpt of
 * the answer.
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
    if (!response.ok) throw await rejectionOf(response, apiKey);
    const bytes = await read(response, answerBytesMax);
    if (bytes.length > answerBytesMax)
      throw new CallError('broken', `its answer has more than ${answerBytesMax} bytes`);
    return JSON.parse(bytes.toString());
  } catch (error) {
    throw asCallError(error, timeoutMs);
  }
}

/** The body, read until it ends or exceeds `bytesMax`. */
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

async function rejectionOf(response: Response, apiKey: string): Promise<CallError> {
  const { status } = response;
  const retryAfter = response.headers.get('retry-after');
  // Servers that reject a key often quote it.
  const isOfKey = status === 401 || status === 403;
  const text = isOfKey
    ? '(the API key is missing, wrong, or not allowed this model)'
    : excerptOf(await read(response, ERROR_BYTES_MAX).catch(() => Buffer.alloc(0)), apiKey);
  if (isOfKey) await response.body?.cancel();
  return new CallError(
    failureOfStatus(status),
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
  if (name === 'SyntaxError') return new CallError('broken', 'its answer is not JSON');
  return new CallError('transient', `no connection: ${cause?.code ?? cause?.message ?? message}`);
}

/** One call, possibly with retries. */
export interface Call<T> {
  purpose: Purpose;
  /** Whether the caller has already entered; the first attempt then begins at once. */
  hasEntered?: boolean;
  /** Estimated tokens; undefined once nobody waits for the answer. Called before each attempt. */
  tokens(): number | undefined;
  body(): object;
  answerBytesMax: number;
  /** Trace context of a request that the call serves. If several share the call, it names one. */
  traceparent?: () => string | undefined;
  /** Throws CallError for an invalid answer. */
  read(answer: unknown): T;
}

/** How long a call waits for its turn, and how long all attempts of a query take together. */
const WAIT_MAX_MS: Readonly<Record<Purpose, number>> = { query: 5000, passage: 60_000 };
/** The longest wait before a retry, if the endpoint names none. */
const BACKOFF_MAX_MS: Readonly<Record<Purpose, number>> = { query: 1000, passage: 15_000 };
const BACKOFF_FIRST_MS = 250;
/**
 * Random extra share of the delay that an endpoint asks for, so that several servers do not return at the same time.
 */
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

  /** Tokens that a call should not exceed. */
  get tokensMax(): number {
    return this.limiter.tokensMax;
  }

  /** Like RateLimiter.enter, for a call whose content is chosen when it may begin. */
  enter(purpose: Purpose, sinceMs: number, begin: () => number | undefined): Promise<boolean> {
    return this.limiter.enter(purpose, sinceMs + WAIT_MAX_MS[purpose], begin);
  }

  /**
   * The result of `read`, or undefined once nobody waits for the answer. Rejects with CallError `refused` if the
   * endpoint rejects the body, else with 503 `embedder_unavailable`, which has been logged.
   */
  async call<T>(call: Call<T>): Promise<T | undefined> {
    const untilMs = this.nowMs() + WAIT_MAX_MS[call.purpose];
    const isWorthRetry = (error: unknown): boolean =>
      error instanceof CallError &&
      error.failure === 'transient' &&
      error.retryAfterMs <= WAIT_MAX_MS[call.purpose] &&
      (call.purpose === 'passage' || this.nowMs() < untilMs);
    const backoff = new ExponentialBackoff({ initialDelay: BACKOFF_FIRST_MS, maxDelay: BACKOFF_MAX_MS[call.purpose] });
    try {
      return await retry(handleWhen(isWorthRetry), { maxAttempts: this.spec.retriesMax, backoff }).execute(
        ({ attempt }) => this.try(call, attempt === 0, untilMs),
      );
    } catch (error) {
      if (!(error instanceof CallError) || error.failure === 'refused') throw error;
      throw this.unavailable(error.message, error.retryAfterMs);
    }
  }

  /** Creates 503 `embedder_unavailable` and logs the reason. */
  unavailable(reason: string, retryAfterMs = 0): AppError {
    const nowMs = this.nowMs();
    // The words after the first two may name the request and differ each time.
    const kind = reason.split(' ', 2).join(' ');
    if (kind !== this.warned.kind || nowMs - this.warned.atMs >= SAME_WARNING_MS) {
      this.warned = { kind, atMs: nowMs };
      this.warn({ instance: this.key, url: this.spec.url + this.path, reason }, 'an endpoint gives no usable answer');
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
      const waitMs = isPassage ? timeoutMs : Math.max(1, Math.min(timeoutMs, Math.ceil(untilMs - this.nowMs())));
      const answer = await postJson({
        url: url + this.path,
        apiKey,
        body: call.body(),
        timeoutMs: waitMs,
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

/** Servers that do not count tokens report 0. */
function countedTokens(answer: unknown): number | undefined {
  const tokens = (answer as { usage?: { total_tokens?: unknown } } | null)?.usage?.total_tokens;
  return typeof tokens === 'number' && tokens > 0 ? tokens : undefined;
}

/**
 * The tokenizers of such models need at least three bytes of UTF-8 per token in natural language of any script: English
 * four to five, CJK three per character, Cyrillic four. For other text (base64, long numbers) the estimate is too low:
 * if a call becomes too large by it, the endpoint rejects it and it is sent in halves.
 */
const BYTES_PER_TOKEN = 3;
/** Start and end markers. */
const SPECIAL_TOKENS = 2;

/** Estimates the tokens of a text, for splitting calls and for budgets. */
export const estimateTokens = (text: string): number =>
  Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN) + SPECIAL_TOKENS;
