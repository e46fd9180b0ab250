// Bodies of the tenant, key and embedder endpoints. Types only.
// Read by the handlers, the OpenAPI document and the client.

export interface TenantList {
  tenants: string[];
  count: number;
}

/** One embedder instance; credentials are never told. */
export interface EmbedderInstance {
  key: string;
  vector_key: string;
  embedder_type: string;
  embed_model: string;
}

/** What a collection gets that names no embedder. */
export interface EmbedderDefault {
  vector_key: string;
  instance_keys: string[];
  /** The configured default selector. */
  selector?: string;
}

/** GET /v1/admin/embedders. */
export interface EmbedderInventory {
  embedders: EmbedderInstance[];
  default: EmbedderDefault;
  count: number;
}

/** GET /v1/embedders/{tenant}. */
export interface TenantEmbedderInventory extends EmbedderInventory {
  tenant: string;
}
