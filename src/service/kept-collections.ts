// The shape in which the front thread keeps a collection. A record comes from the store as an object with its
// properties in a table of its own, and with texts of its own: here all have one layout, and one copy of what many have
// in common. Used by catalog.ts.
import type { Language } from '../contract/language.js';
import { PRECISION_DEFAULT } from '../contract/precision.js';
import type { Collection, StoredCollection } from '../contract/resources.js';

/** What collections have in common is few things; more than this are not common. */
const SHARED_MAX = 1024;

export class KeptCollections {
  /** By their JSON. What is in here is never changed. */
  private readonly shared = new Map<string, unknown>();

  /** `language`: of collections whose record names none. */
  constructor(private readonly language: Language) {}

  keep(stored: StoredCollection): Collection {
    const kept: Required<Omit<Collection, 'log_id'>> = {
      id: stored.id,
      tenant: this.one(stored.tenant),
      name: stored.name,
      display_name: stored.display_name === stored.name ? stored.name : stored.display_name,
      embedder_type: this.one(stored.embedder_type),
      embed_model: this.one(stored.embed_model),
      embedder_config: this.one(stored.embedder_config),
      vector_space_key: this.one(stored.vector_space_key),
      dim: stored.dim,
      created_at: stored.created_at,
      chunking: this.one(stored.chunking),
      priority_key: this.one(stored.priority_key),
      search_mode: this.one(stored.search_mode),
      language: stored.language ?? this.language,
      precision: stored.precision ?? PRECISION_DEFAULT,
      service_version: this.one(stored.service_version),
      schema_version: stored.schema_version,
      generation: stored.generation,
    };
    return stored.log_id === undefined ? kept : { ...kept, log_id: stored.log_id };
  }

  private one<T extends string | object>(value: T): T {
    const key = typeof value === 'string' ? value : JSON.stringify(value);
    const known = this.shared.get(key);
    if (known !== undefined && typeof known === typeof value) return known as T;
    if (this.shared.size >= SHARED_MAX) this.shared.clear();
    this.shared.set(key, value);
    return value;
  }
}
