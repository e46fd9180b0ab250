// Use case: which embedders there are, and what a collection gets that names none. Credentials are never told.
// Called by the embedder endpoints; front thread.
import type { EmbedderInventory } from '../contract/api/tenants.js';
import { BUILTIN_SPACE } from './embedding-space.js';

/** The built-in embedder is the one instance; its key is its type, which the create body's selector takes. */
export function embedderInventory(): EmbedderInventory {
  const { embedder_type, embed_model, vector_space_key: vector_key } = BUILTIN_SPACE;
  const embedders = [{ key: embedder_type, vector_key, embedder_type, embed_model }];
  return { embedders, default: { vector_key, instance_keys: embedders.map(({ key }) => key) }, count: embedders.length };
}
