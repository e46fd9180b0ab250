// Every configured embedder instance: which there are for a tenant, which space a collection gets, and which instance
// embeds a text. Made by compose-embedders.ts; used by the use cases on the front thread.
import type { Leaving } from '../base/departure.js';
import type { Log } from '../base/log.js';
import type { EmbedderInventory } from '../contract/api/tenants.js';
import type { EmbedderInstance } from '../contract/embedder.js';
import type { DocumentTexts, EmbeddedDocuments, QueryText } from '../contract/embed-messages.js';
import { AppError } from '../contract/errors.js';
import type { Space } from '../contract/resources.js';
import type { EmbedPool } from '../pool/embed-pool.js';
import { route } from './routing.js';
import { chooseSpace, defaultFor, selectSpace, visibleTo, type EmbedderChoice } from './selection.js';
import { BUILTIN, IDENTITY_TYPE } from './spaces.js';
import { WatchedInstance, type InstanceState } from './watched-instance.js';

export interface EmbeddersOptions {
  /** The built-in one among them. */
  instances: readonly EmbedderInstance[];
  /** Selector of what a collection gets that asks for nothing; '' for the built-in embedder. */
  defaultSelector: string;
  pool: EmbedPool;
  log: Log;
}

export class Embedders {
  private readonly watched: readonly WatchedInstance[];
  private readonly defaultSpace: Space;

  constructor(private readonly options: EmbeddersOptions) {
    const { instances, defaultSelector, pool, log } = options;
    this.watched = instances.map(
      (instance) => new WatchedInstance(instance, (key) => pool.embedQuery(key, { text: 'ready' }), log),
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

  private poolOf({ vector_space_key }: Space, tenant: string | undefined): WatchedInstance[] {
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
