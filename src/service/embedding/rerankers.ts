// The configured reranker instances: which ones a tenant may use, and the scores they give. After several consecutive
// failures an instance is skipped for some seconds and then tried with one search. Runs on front threads and on the
// main thread.
import { type CircuitBreakerPolicy, isBrokenCircuitError } from 'cockatiel';
import { AppError } from '../../api/errors.js';
import type { CancelSignal } from '../../base/signals.js';
import type { RerankerInstance } from '../../embedding/embedder-spec.js';
import type { QueryText } from '../../embedding/messages.js';
import { visibleTo } from '../../embedding/spaces.js';
import type { EmbedPool } from '../../pool/embed-pool.js';
import { breakerOf } from './embedders.js';

const PAUSE_SECONDS = 5;

export class Rerankers {
  private readonly breakers = new Map<string, CircuitBreakerPolicy>();

  constructor(
    private readonly instances: readonly RerankerInstance[],
    private readonly pool: Pick<EmbedPool, 'rerank'>,
  ) {
    for (const { key } of instances) this.breakers.set(key, breakerOf(isUnavailable, PAUSE_SECONDS * 1000));
  }

  /** Throws 400 `invalid_rerank` if the reranker is not configured or not visible to the tenant. */
  check(key: string, tenant: string): void {
    const visible = visibleTo(tenant, this.instances).map((instance) => instance.key);
    if (visible.includes(key)) return;
    throw new AppError(
      'invalid_rerank',
      visible.length === 0 ? 'No reranker is configured.' : `Rerankers are: ${visible.join(', ')}.`,
    );
  }

  /**
   * The relevance of each text to the query; higher is better. Rejects with 503 `reranker_unavailable` or `overloaded`.
   */
  async score(
    key: string,
    query: QueryText,
    texts: readonly string[],
    tenant: string,
    signal?: CancelSignal,
  ): Promise<Float32Array> {
    if (texts.length === 0) return new Float32Array();
    const breaker = this.breakers.get(key) as CircuitBreakerPolicy;
    try {
      return await breaker.execute(() => this.ask(key, query, texts, tenant, signal));
    } catch (error) {
      throw isBrokenCircuitError(error)
        ? new AppError('reranker_unavailable', undefined, { retryAfterS: PAUSE_SECONDS })
        : error;
    }
  }

  private async ask(
    reranker: string,
    { text: query, traceparent }: QueryText,
    texts: readonly string[],
    tenant: string,
    signal?: CancelSignal,
  ): Promise<Float32Array> {
    try {
      const scores = await this.pool.rerank(
        { reranker, query, texts: [...texts], ...(traceparent !== undefined && { traceparent }) },
        tenant,
        signal,
      );
      if (scores.length !== texts.length || !scores.every(Number.isFinite)) throw new AppError('embedder_unavailable');
      return scores;
    } catch (error) {
      throw asOfReranker(error);
    }
  }
}

/** The pool uses `embedder_unavailable` for rerankers too; this converts the error. */
function asOfReranker(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== 'embedder_unavailable') return error;
  const { retryAfterS } = error.options;
  return new AppError('reranker_unavailable', undefined, retryAfterS === undefined ? {} : { retryAfterS });
}

const isUnavailable = (error: unknown): boolean => error instanceof AppError && error.code === 'reranker_unavailable';
