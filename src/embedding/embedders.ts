// Every configured embedder instance: which there are for a tenant, which space a collection gets, and which instance embeds a
// text. Made by compose-context.ts; used by the use cases on the front thread.
import type { EmbedderInventory } from '../contract/api/tenants.js';
import type { EmbedderInstance } from '../contract/embedder.js';
import type { DocumentTexts, EmbeddedDocuments } from '../contract/embed-messages.js';
import { AppError } from '../contract/errors.js';
import type { Space } from '../contract/resources.js';
import type { EmbedPool } from '../pool/embed-pool.js';
import { chooseSpace, selectSpace, type EmbedderChoice } from './selection.js';

export interface EmbeddersOptions {
  instances: readonly EmbedderInstance[];
  /** Selector of what a collection gets that asks for nothing. */
  defaultSelector: string;
  pool: EmbedPool;
}

export class Embedders {
  private answered = false;

  constructor(private readonly options: EmbeddersOptions) {}

  /** The space of a collection that a tenant asks for. Throws as chooseSpace does. */
  spaceFor(tenant: string, choice: EmbedderChoice): Space {
    const instances = this.visibleTo(tenant);
    return chooseSpace(choice, instances, selectSpace(this.options.defaultSelector, instances));
  }

  /** What a tenant may use; everything without one. Credentials are never told. */
  inventory(tenant?: string): EmbedderInventory {
    const instances = tenant === undefined ? this.options.instances : this.visibleTo(tenant);
    const embedders = instances.map(({ key, space }) => ({ key, vector_key: space.vector_space_key, embedder_type: space.embedder_type, embed_model: space.embed_model }));
    const { vector_space_key } = selectSpace(this.options.defaultSelector, instances);
    const keys = instances.filter(({ space }) => space.vector_space_key === vector_space_key).map(({ key }) => key);
    return { embedders, default: { vector_key: vector_space_key, instance_keys: keys }, count: embedders.length };
  }

  /** The vector of a query text. Rejects with 503 `embedder_unavailable`, `overloaded`. */
  embedQuery(space: Space, text: string, tenant?: string, signal?: AbortSignal): Promise<Float32Array> {
    return this.options.pool.embedQuery(this.instanceFor(space).key, text, tenant, signal);
  }

  /** Vectors for all chunks that have a text and no vector yet. Rejects as embedQuery does where no document could be embedded. */
  embedDocuments(space: Space, texts: DocumentTexts, tenant?: string, signal?: AbortSignal): Promise<EmbeddedDocuments> {
    return this.options.pool.embedDocuments(this.instanceFor(space).key, texts, tenant, signal);
  }

  /** Whether the default embedder answers. Asked anew until it has once; a worker that dies later is replaced by the pool. */
  async usable(): Promise<boolean> {
    this.answered ||= await this.embedQuery(selectSpace(this.options.defaultSelector, this.options.instances), 'ready').then(
      () => true,
      () => false,
    );
    return this.answered;
  }

  private visibleTo(tenant: string): EmbedderInstance[] {
    return this.options.instances.filter(({ tenants }) => tenants?.includes(tenant) ?? true);
  }

  private instanceFor({ vector_space_key }: Space): EmbedderInstance {
    const instance = this.options.instances.find(({ space }) => space.vector_space_key === vector_space_key);
    if (!instance) throw new AppError('embedder_unavailable', 'No configured embedder serves the space of this collection.');
    return instance;
  }
}
