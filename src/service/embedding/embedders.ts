// Every configured embedder instance: which there are for a tenant, which space a collection gets, which instances
// answer, and which one embeds a text. Front thread.
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
import { AppError, abandoned } from '../../api/errors.js';
import type { EMBEDDER_ROUTES, EmbedderInventory } from '../../api/embedders.js';
import type { Log } from '../../base/log.js';
import type { Leaving } from '../../base/signals.js';
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
import type { UseCases } from '../use-case.js';
import type { EmbedPool } from '../../pool/embed-pool.js';

/** Calls that failed one after the other, each of them tried several times where that helps. */
const FAILURES_MAX = 5;
/** Opens after so many, and lets one call through so long after that. */
export const breakerOf = (isFailure: (error: unknown) => boolean, halfOpenAfter: number): CircuitBreakerPolicy =>
  circuitBreaker(handleWhen(isFailure), { breaker: new ConsecutiveBreaker(FAILURES_MAX), halfOpenAfter });

const PROBE_DELAY_MS = { initialDelay: 100, maxDelay: 30_000 };

type InstanceState = 'untried' | 'usable' | 'broken';

/**
 * One embedder instance: how much it has in flight, and whether it answers. A breaker opens after failures in a row;
 * from then on nothing but probes reaches the instance, ever more rarely, until one is answered. One that has not
 * answered since the start is probed the same way. While it answers nothing is asked for its own sake: a call may cost
 * money.
 */
export class EmbedderHealth {
  /** Bytes of text, more or less. */
  inFlight = 0;
  private hasAnswered = false;
  private lastTold: boolean | undefined;
  private probing: Promise<void> | undefined;
  private isWatched = false;
  private readonly stop = new AbortController();
  // The probes keep the pace: whenever one comes, it is the test of an open breaker.
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

  /** No call but a probe may be made. */
  get isBroken(): boolean {
    return this.breaker.state !== CircuitState.Closed;
  }

  /** Rejects as `work` does. What counts as a failure is below; where nobody waits any more nothing does. */
  async call<T>(bytes: number, work: (key: string) => Promise<T>, signal?: Leaving): Promise<T> {
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
   * Asks whether it answers; those who want to know at the same time share the call. Rejects with
   * `embedder_unavailable`, whatever went wrong.
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

  /** Probes until it is usable. */
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

  /** Logs what has changed. */
  private tell(answers: boolean): void {
    if (answers) this.hasAnswered = true;
    if (this.lastTold === answers) return;
    const { key, space } = this.instance;
    const fields = { embedder: key, space: space.vector_space_key };
    if (answers) this.log[this.lastTold === undefined ? 'debug' : 'info'](fields, 'an embedder answers');
    else this.log.warn(fields, 'an embedder does not answer; it is asked again from time to time');
    this.lastTold = answers;
  }
}

const isUnavailable = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'embedder_unavailable';

/** One that says when to come back is busy, over its budget, or its worker is being replaced: it is not broken. */
const isFailure = (error: unknown): boolean => isUnavailable(error) && error.options.retryAfterS === undefined;

interface Work<T> {
  /** Bytes of text: what the load is counted in. */
  bytes: number;
  /** `isLast`: no other instance will be asked for it. */
  run: (key: string, isLast: boolean) => Promise<T>;
  signal: Leaving | undefined;
}

/**
 * Has a piece of work done by one of the instances of a space: the one with the least in flight of those that answer;
 * where it fails, the next one, each of them once. Rejects with `embedder_unavailable` where no instance could do it;
 * with any other error as it comes.
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

/** One that has not answered yet is asked only where no other is left. The first of equals. */
function leastLoaded(instances: readonly EmbedderHealth[]): EmbedderHealth | undefined {
  const usable = instances.filter(({ state }) => state === 'usable');
  const among = usable.length > 0 ? usable : instances;
  return among.reduce<EmbedderHealth | undefined>(
    (least, instance) => (least && least.inFlight <= instance.inFlight ? least : instance),
    undefined,
  );
}

interface EmbeddersOptions {
  /** The built-in one among them. */
  instances: readonly EmbedderInstance[];
  /** Selector of what a collection gets that asks for nothing; '' for the built-in embedder. */
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

  /** The space of a collection that a tenant asks for. Throws as chooseSpace does. */
  spaceFor(tenant: string, choice: EmbedderChoice): Space {
    const instances = visibleTo(tenant, this.options.instances);
    return chooseSpace(choice, instances, defaultFor(tenant, instances, this.defaultSpace));
  }

  /** What a tenant may use; everything without one. Credentials are never told, nor what it may not use. */
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

  /** The vector of a query text. Rejects with 503 `embedder_unavailable`, `overloaded`. */
  async embedQuery(space: Space, query: QueryText, tenant?: string, signal?: Leaving): Promise<Float32Array> {
    return route(this.poolOf(space, tenant), {
      bytes: query.text.length,
      run: (key) => this.options.pool.embedQuery(key, query, tenant, signal),
      signal,
    });
  }

  /**
   * Vectors for all chunks that have a text and no vector yet. Rejects as embedQuery does where no document could be
   * embedded.
   */
  async embedDocuments(
    space: Space,
    texts: DocumentTexts,
    tenant?: string,
    signal?: AbortSignal,
  ): Promise<EmbeddedDocuments> {
    // The bytes move to the worker: a copy stays behind where another instance may have to do the work instead.
    const run = (key: string, isLast: boolean): Promise<EmbeddedDocuments> =>
      this.options.pool.embedDocuments(key, isLast ? texts : structuredClone(texts), tenant, signal);
    return route(this.poolOf(space, tenant), { bytes: texts.documents.byteLength, run, signal });
  }

  /**
   * Resolves when a collection of the space could be filled and searched now. An instance that answers is not asked;
   * one that is broken neither. Rejects with 503 `embedder_unavailable`.
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

  /** Whether embedding a text costs more than asking a shard for a vector that it has. */
  isCostly({ vector_space_key }: Space): boolean {
    return this.options.instances.some(
      ({ space, spec }) => space.vector_space_key === vector_space_key && spec.type !== 'builtin',
    );
  }

  /** Whether any instance of the default space answers. */
  get usable(): boolean {
    return this.watched.some(
      ({ state, instance }) =>
        state === 'usable' && instance.space.vector_space_key === this.defaultSpace.vector_space_key,
    );
  }

  /** The configured ones, in their order. */
  states(): { key: string; state: InstanceState }[] {
    return this.watched.map(({ instance: { key }, state }) => ({ key, state }));
  }

  /** Nothing is probed any more. */
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
        'No configured embedder serves the space of this collection; its vectors can still be searched and stored.',
        { retryAfterS: 60 },
      );
    return pool;
  }
}

export const embedderUseCases = (embedders: Pick<Embedders, 'inventory'>): UseCases<typeof EMBEDDER_ROUTES> => ({
  listEmbeddersAsAdmin: () => embedders.inventory(),
  listEmbedders: ({ tenant }) => ({ tenant, ...embedders.inventory(tenant) }),
});
