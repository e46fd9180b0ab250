// The configured embedder instances: which ones a tenant may use, the vector space of a new collection, the health of
// each instance, and the choice of the instance that embeds a text. Runs on the main thread.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  ExponentialBackoff,
  circuitBreaker,
  handleWhen,
} from 'cockatiel';
import type { Space } from '../../api/collections.js';
import { AppError, abandoned, invalidField } from '../../api/errors.js';
import type { EMBEDDER_ROUTES, EmbedderInventory, Embeddings, EmbeddingsBody } from '../../api/embedders.js';
import { REPORTED_NAME_CHARACTERS_MAX } from '../../api/limits.js';
import type { Log } from '../../base/log.js';
import { inOrder } from '../../base/in-order.js';
import type { CancelSignal } from '../../base/signals.js';
import type { EmbedderInstance } from '../../embedding/embedder-spec.js';
import type { DocumentTexts, EmbeddedDocuments, QueryText } from '../../embedding/messages.js';
import {
  BUILTIN,
  type EmbedderChoice,
  IDENTITY_TYPE,
  chooseSpace,
  defaultFor,
  selectSpace,
  visibleTo,
} from '../../embedding/spaces.js';
import { encodeVector } from '../../storage/records.js';
import { tokensOf } from '../../text/tokenize.js';
import { checkText } from '../search/input.js';
import type { Caller, UseCases } from '../use-case.js';
import type { EmbedPool } from '../../pool/embed-pool.js';

/** Number of consecutive failed calls that open a breaker. A call counts once, whatever the number of its retries. */
const FAILURES_MAX = 5;
/**
 * A circuit breaker that opens after `FAILURES_MAX` consecutive failures, and lets one trial call through
 * `halfOpenAfter` milliseconds later.
 */
export const breakerOf = (isFailure: (error: unknown) => boolean, halfOpenAfter: number): CircuitBreakerPolicy =>
  circuitBreaker(handleWhen(isFailure), { breaker: new ConsecutiveBreaker(FAILURES_MAX), halfOpenAfter });

const PROBE_DELAY_MS = { initialDelay: 100, maxDelay: 30_000 };

type InstanceState = 'untried' | 'usable' | 'broken';

/**
 * Load and health of one embedder instance. Consecutive failures open a breaker; then only probes reach the instance,
 * with exponentially growing pauses, until one is answered. An instance that has not answered since the start is probed
 * in the same way. An instance that answers is never probed, because a call may cost money.
 */
export class EmbedderHealth {
  /** Text in flight, approximately in bytes. */
  inFlight = 0;
  private hasAnswered = false;
  private lastReported: boolean | undefined;
  private probing: Promise<void> | undefined;
  private isWatched = false;
  private readonly stop = new AbortController();
  // The breaker may half-open at any time: only probes are sent while it is open, and they have pauses of their own.
  private readonly breaker = breakerOf(isFailure, 0);

  /** `ask` embeds a short text. */
  constructor(
    readonly instance: EmbedderInstance,
    private readonly ask: (key: string) => Promise<unknown>,
    private readonly log: Log,
  ) {
    this.breaker.onBreak(() => void this.watch());
    void this.watch();
  }

  get state(): InstanceState {
    if (this.isBroken) return 'broken';
    return this.hasAnswered ? 'usable' : 'untried';
  }

  /** While true, only probes may be sent. */
  get isBroken(): boolean {
    return this.breaker.state !== CircuitState.Closed;
  }

  /**
   * Runs `work` and rejects as it does. `isFailure` tells which errors count as failures; none counts once `signal` is
   * aborted.
   */
  async call<T>(bytes: number, work: (key: string) => Promise<T>, signal?: CancelSignal): Promise<T> {
    this.inFlight += bytes;
    try {
      const answer = await this.breaker.execute(() =>
        work(this.instance.key).catch((error: unknown) => Promise.reject(signal?.aborted ? abandoned() : error)),
      );
      if (!signal?.aborted && !this.isBroken) this.tell(true);
      return answer;
    } finally {
      this.inFlight -= bytes;
    }
  }

  /**
   * Embeds a short text as a health check. Concurrent callers share one call. Rejects with `embedder_unavailable` on
   * any error.
   */
  probe(): Promise<void> {
    const asked = (key: string): Promise<unknown> =>
      this.ask(key).catch(() => Promise.reject(new AppError('embedder_unavailable')));
    this.probing ??= this.call(0, asked)
      .then(() => undefined)
      .finally(() => (this.probing = undefined));
    return this.probing;
  }

  close(): void {
    this.stop.abort();
  }

  /** Probes until the instance is usable. */
  private async watch(): Promise<void> {
    if (this.isWatched) return;
    this.isWatched = true;
    const { signal } = this.stop;
    for (let pause = new ExponentialBackoff(PROBE_DELAY_MS).next(); !signal.aborted; pause = pause.next(undefined)) {
      await this.probe().catch(() => signal.aborted || this.tell(false));
      if (this.state === 'usable') break;
      await sleep(pause.duration, undefined, { signal, ref: false }).catch(() => undefined);
    }
    this.isWatched = false;
  }

  /** Logs a change of the state. */
  private tell(answers: boolean): void {
    if (answers) this.hasAnswered = true;
    if (this.lastReported === answers) return;
    const { key, space } = this.instance;
    const fields = { embedder: key, space: space.vector_space_key };
    if (answers) this.log[this.lastReported === undefined ? 'debug' : 'info'](fields, 'an embedder answers');
    else this.log.warn(fields, 'an embedder does not answer; it will be probed until it does');
    this.lastReported = answers;
  }
}

const isUnavailable = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'embedder_unavailable';

/**
 * An error with a retry time means that the instance is busy or over its budget, or that its worker is being replaced;
 * the instance itself is not broken.
 */
const isFailure = (error: unknown): boolean => isUnavailable(error) && error.options.retryAfterS === undefined;

interface Work<T> {
  /** Bytes of text, the unit of the load. */
  bytes: number;
  /** `isLast` is true if no other instance will be tried. */
  run: (key: string, isLast: boolean) => Promise<T>;
  signal: CancelSignal | undefined;
}

/**
 * Runs a piece of work on one of the instances of a vector space: on the instance with the least load that answers and,
 * if it fails, on the next one, each at most once. Rejects with `embedder_unavailable` if no instance could do it, and
 * with any other error at once.
 */
export async function route<T>(pool: readonly EmbedderHealth[], { bytes, run, signal }: Work<T>): Promise<T> {
  let untried = pool.filter(({ isBroken }) => !isBroken);
  let failure: unknown = new AppError('embedder_unavailable', undefined, { retryAfterS: 1 });
  for (let next = leastLoaded(untried); next; next = leastLoaded(untried)) {
    const chosen = next;
    untried = untried.filter((instance) => instance !== chosen && !instance.isBroken);
    const isLast = untried.length === 0;
    try {
      return await chosen.call(bytes, (key) => run(key, isLast), signal);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      failure = error;
      untried = untried.filter(({ isBroken }) => !isBroken);
    }
  }
  throw failure;
}

/** Prefers usable instances; an untried instance is chosen only if there is no usable one. Among equals, the first. */
function leastLoaded(instances: readonly EmbedderHealth[]): EmbedderHealth | undefined {
  const usable = instances.filter(({ state }) => state === 'usable');
  const among = usable.length > 0 ? usable : instances;
  return among.reduce<EmbedderHealth | undefined>(
    (least, instance) => (least && least.inFlight <= instance.inFlight ? least : instance),
    undefined,
  );
}

interface EmbeddersOptions {
  /** All instances, including the built-in one. */
  instances: readonly EmbedderInstance[];
  /** Selector of the embedder of collections that request none; '' selects the built-in embedder. */
  defaultSelector: string;
  pool: EmbedPool;
  log: Log;
}

export class Embedders {
  private readonly watched: readonly EmbedderHealth[];
  private readonly defaultSpace: Space;

  constructor(private readonly options: EmbeddersOptions) {
    const { instances, defaultSelector, pool, log } = options;
    this.watched = instances.map(
      (instance) => new EmbedderHealth(instance, (key) => pool.embedQuery(key, { text: 'ready' }), log),
    );
    this.defaultSpace = selectSpace(defaultSelector || BUILTIN.key, instances);
  }

  /** The vector space of the embedder that a tenant requests. Throws as `chooseSpace` does. */
  spaceFor(tenant: string, choice: EmbedderChoice): Space {
    const instances = visibleTo(tenant, this.options.instances);
    return chooseSpace(choice, instances, defaultFor(tenant, instances, this.defaultSpace));
  }

  /** The space of the embedder that has this key, model or vector key, or of new collections. Throws a 422. */
  spaceOfModel(model: string | undefined, tenant?: string): Space {
    const instances = visibleTo(tenant, this.options.instances);
    if (model === undefined) return defaultFor(tenant, instances, this.defaultSpace);
    const found = instances.find(({ key, space }) => [key, space.embed_model, space.vector_space_key].includes(model));
    if (!found)
      throw invalidField(
        ['body', 'model'],
        'There is no such embedder; GET /v1/embedders/{tenant} lists those that can be used.',
        'value_error',
        model.slice(0, REPORTED_NAME_CHARACTERS_MAX),
      );
    return found.space;
  }

  /** The instances that a tenant may use, or all if no tenant is given. Never includes credentials. */
  inventory(tenant?: string): EmbedderInventory {
    const { instances: all, defaultSelector } = this.options;
    const instances = visibleTo(tenant, all);
    const embedders = instances.map(({ key, space }) => ({
      key,
      vector_key: space.vector_space_key,
      embedder_type: space.embedder_type,
      embed_model: space.embed_model,
    }));
    const { vector_space_key: vectorKey } = defaultFor(tenant, instances, this.defaultSpace);
    const keys = instances.filter(({ space }) => space.vector_space_key === vectorKey).map(({ key }) => key);
    const isConfigured = defaultSelector !== '' && vectorKey === this.defaultSpace.vector_space_key;
    return {
      embedders,
      default: { vector_key: vectorKey, instance_keys: keys, ...(isConfigured && { selector: defaultSelector }) },
      count: embedders.length,
    };
  }

  /** The vector of a query text. Rejects with 503 `embedder_unavailable` or `overloaded`. */
  async embedQuery(space: Space, query: QueryText, tenant?: string, signal?: CancelSignal): Promise<Float32Array> {
    return route(this.poolOf(space, tenant), {
      bytes: query.text.length,
      run: (key) => this.options.pool.embedQuery(key, query, tenant, signal),
      signal,
    });
  }

  /**
   * Vectors of all chunks that have a text and no vector. Rejects as `embedQuery` does if no document could be
   * embedded.
   */
  async embedDocuments(
    space: Space,
    texts: DocumentTexts,
    tenant?: string,
    signal?: AbortSignal,
  ): Promise<EmbeddedDocuments> {
    // The texts are transferred to the worker, so a copy is needed if another instance may have to be tried.
    const run = (key: string, isLast: boolean): Promise<EmbeddedDocuments> =>
      this.options.pool.embedDocuments(key, isLast ? texts : structuredClone(texts), tenant, signal);
    return route(this.poolOf(space, tenant), { bytes: texts.documents.byteLength, run, signal });
  }

  /**
   * Resolves if documents of the vector space could be embedded now. Sends probes only to untried instances, and only
   * if no instance is usable. Rejects with 503 `embedder_unavailable`.
   */
  async preflight(space: Space, tenant: string): Promise<void> {
    if (space.embedder_type === IDENTITY_TYPE) return;
    const pool = this.poolOf(space, tenant);
    if (pool.some(({ state }) => state === 'usable')) return;
    const tried = await Promise.allSettled(
      pool.filter(({ isBroken }) => !isBroken).map((instance) => instance.probe()),
    );
    if (!tried.some(({ status }) => status === 'fulfilled'))
      throw new AppError('embedder_unavailable', undefined, { retryAfterS: 1 });
  }

  /** Whether embedding a text costs more than reading a stored vector from a shard. */
  isCostly({ vector_space_key }: Space): boolean {
    return this.options.instances.some(
      ({ space, spec }) => space.vector_space_key === vector_space_key && spec.type !== 'builtin',
    );
  }

  /** Whether an instance of the default vector space answers. */
  get usable(): boolean {
    return this.watched.some(
      ({ state, instance }) =>
        state === 'usable' && instance.space.vector_space_key === this.defaultSpace.vector_space_key,
    );
  }

  /** The states of all instances, in the order of the configuration. */
  states(): { key: string; state: InstanceState }[] {
    return this.watched.map(({ instance: { key }, state }) => ({ key, state }));
  }

  /** Stops all probes. */
  close(): void {
    for (const instance of this.watched) instance.close();
  }

  private poolOf({ vector_space_key }: Space, tenant: string | undefined): EmbedderHealth[] {
    const pool = this.watched.filter(
      ({ instance }) =>
        instance.space.vector_space_key === vector_space_key && visibleTo(tenant, [instance]).length > 0,
    );
    if (pool.length === 0)
      throw new AppError(
        'embedder_unavailable',
        'No configured embedder serves the vector space of this collection; vectors can still be searched and stored.',
        { retryAfterS: 60 },
      );
    return pool;
  }
}

/** Texts of one request that are embedded at a time. */
const EMBEDDED_AT_ONCE = 8;

type Asked = Pick<Embedders, 'spaceOfModel' | 'embedQuery'>;

async function embeddingsOf(
  embedders: Asked,
  { input, model, encoding_format: format, dimensions }: EmbeddingsBody,
  { actor: { tenants }, signal }: Pick<Caller, 'actor' | 'signal'>,
): Promise<Embeddings> {
  const tenant = tenants?.length === 1 ? tenants[0] : undefined;
  const texts = typeof input === 'string' ? [input] : input;
  for (const [i, text] of texts.entries())
    checkText(typeof input === 'string' ? ['body', 'input'] : ['body', 'input', `${i}`], text, 'text');
  const space = embedders.spaceOfModel(model ?? undefined, tenant);
  if (dimensions != null && dimensions !== space.dim)
    throw invalidField(
      ['body', 'dimensions'],
      `The vectors of this embedder have ${space.dim} dimensions.`,
      'value_error',
      dimensions,
    );
  const embed = (text: string): Promise<Float32Array> => {
    if (signal.aborted) throw abandoned();
    return embedders.embedQuery(space, { text }, tenant, signal);
  };
  const vectors: Float32Array[] = [];
  for await (const vector of inOrder(texts, EMBEDDED_AT_ONCE, embed)) vectors.push(vector);
  const words = texts.reduce((sum, text) => sum + tokensOf(text).length, 0);
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: format === 'base64' ? encodeVector(vector).toString('base64') : Array.from(vector),
    })),
    model: space.embed_model,
    usage: { prompt_tokens: words, total_tokens: words },
  };
}

export const embedderUseCases = (
  embedders: Asked & Pick<Embedders, 'inventory'>,
): UseCases<typeof EMBEDDER_ROUTES> => ({
  createEmbeddings: ({ body }, caller) => embeddingsOf(embedders, body, caller),
  listEmbeddersAsAdmin: () => embedders.inventory(),
  listEmbedders: ({ tenant }) => ({ tenant, ...embedders.inventory(tenant) }),
});
