// An endpoint of another machine: its calls, with their timeouts, retries and budgets. Used by the runners of openai/
// and of rerank-endpoint/, one for each instance; embed worker of role remote. Waits are bounded: those of a search by
// seconds, since somebody looks at a page meanwhile, those of an ingest by the minute that budgets are counted in.
import { ExponentialBackoff, handleWhen, retry } from 'cockatiel';
import type { RemoteEndpoint as EndpointSpec } from '../../../src/contract/embedder.js';
import type { EndpointMeter } from '../../../src/contract/endpoint-meters.js';
import { AppError } from '../../../src/contract/errors.js';
import type { Purpose, Warn } from '../runner.js';
import { CallError } from './call-error.js';
import { CallGate } from './call-gate.js';
import { postJson } from './post-json.js';

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
  private readonly gate: CallGate;
  private warned = { kind: '', atMs: -Infinity };

  constructor(
    private readonly key: string,
    private readonly spec: EndpointSpec,
    private readonly path: string,
    private readonly warn: Warn,
    private readonly nowMs: () => number = () => performance.now(),
    private readonly meter?: EndpointMeter,
  ) {
    this.gate = new CallGate(spec, nowMs, meter);
  }

  /** Tokens that a call should not go beyond. */
  get tokensMax(): number {
    return this.gate.tokensMax;
  }

  /** As CallGate's: the turn of a call whose content is chosen when it comes. */
  enter(purpose: Purpose, sinceMs: number, begin: () => number | undefined): Promise<boolean> {
    return this.gate.enter(purpose, sinceMs + WAIT_MAX_MS[purpose], begin);
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
      (isFirst && call.hasEntered) || (await this.gate.enter(call.purpose, enterUntilMs, () => call.tokens()));
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
      this.gate.correct(spent - estimated);
      return call.read(answer);
    } catch (error) {
      if (error instanceof CallError && error.retryAfterMs > 0)
        this.gate.rest(Math.min(error.retryAfterMs * (1 + JITTER * Math.random()), WAIT_MAX_MS.passage));
      throw error;
    } finally {
      this.gate.leave(call.purpose);
    }
  }
}

/** Servers that do not count say 0. */
function countedTokens(answer: unknown): number | undefined {
  const tokens = (answer as { usage?: { total_tokens?: unknown } } | null)?.usage?.total_tokens;
  return typeof tokens === 'number' && tokens > 0 ? tokens : undefined;
}
