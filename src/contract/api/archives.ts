// Answers of the archive endpoints: part of the interface.
// Types only; shared by the server, its documentation and the client.
import type { ArchiveCounts } from '../archived.js';

/** `dry_run`, `counts`: beyond the specification. */
export interface RestoredCollection {
  tenant: string;
  collection: string;
  /** The archive was only verified; nothing has changed. */
  dry_run?: true;
  /** What the archive has. */
  counts: ArchiveCounts;
}

export interface RestoredDataset {
  dry_run?: true;
  /** Of the archive: collections, and what they have together. */
  counts: ArchiveCounts & { collections: number };
  /** Collections of the dataset that were left out when the archive was made, as `tenant/name`. */
  left_out: string[];
}
