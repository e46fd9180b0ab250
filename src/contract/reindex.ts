// A reindex job as the catalog has it: what clients see of it, and how far it has come. Types only.
// Shared by the store and the front thread.
import type { ReindexJob } from './api/reindex.js';
import type { CollectionId } from './ids.js';

export interface StoredJob extends ReindexJob {
  /** The id that the query log of the collection is kept under: it stays when another space takes over. */
  log_id: CollectionId;
  /** The space that it fills; null once that is given up. */
  staged_id: CollectionId | null;
  /** Of each shard the document that the copy has come to: '' before the first, null behind the last. */
  cursors: (string | null)[];
}
