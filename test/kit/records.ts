// Records as the stores hold them, with defaults for the fields that a test does not care about.
import type { Collection } from '../../src/api/collections.js';
import type { CollectionName, Tenant } from '../../src/api/ids.js';
import type { LoggedQuery } from '../../src/storage/query-log-commands.js';

/** A collection whose clients provide the vectors themselves. */
export const collectionOf = (
  tenant: string,
  name: string,
  settings: Partial<Collection> = {},
): Omit<Collection, 'id'> => ({
  tenant: tenant as Tenant,
  name: name as CollectionName,
  display_name: name,
  created_at: '',
  chunking: { strategy: 'none' },
  priority_key: 'p',
  search_mode: 'vector',
  language: 'none',
  precision: 'int16',
  service_version: '',
  schema_version: 1,
  generation: 1,
  embedder_type: 'identity',
  embed_model: '',
  embedder_config: {},
  vector_space_key: '',
  dim: 1,
  ...settings,
});

/** A logged search that found nothing. */
export const loggedQuery = (text: string, executedAtMs: number, query: Partial<LoggedQuery> = {}): LoggedQuery => ({
  text,
  k: 1,
  executedAtMs,
  latencyMs: 1,
  replayOf: '',
  requestId: 'r',
  actor: 'a',
  mode: 'vector',
  resultIds: [],
  rest: { timing: { embed_ms: 0, filter_ms: 0, hydrate_ms: 0, search_ms: 0 } },
  ...query,
});
