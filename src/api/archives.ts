// What an archive tells of a collection, whatever server it comes from. Types only; shared by the archive process,
// which checks them, and the front thread, which makes a collection of them.
import type { tags } from 'typia';
import type { Collection } from './collections.js';
import type { Tenant } from './ids.js';

type Count = number & tags.Type<'uint64'>;

/** What a collection is, but for what the server that it is restored on gives it. */
export type ArchivedSettings = Pick<
  Collection,
  | 'display_name'
  | 'created_at'
  | 'embedder_type'
  | 'embed_model'
  | 'embedder_config'
  | 'vector_space_key'
  | 'chunking'
  | 'priority_key'
  | 'search_mode'
  | 'language'
  | 'precision'
> & {
  /** Where it comes from. */
  tenant: string;
  name: string;
  dim: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<65536>;
};

export interface ArchiveCounts {
  documents: Count;
  chunks: Count;
  queries: Count;
}

export interface LeftOut {
  tenant: Tenant;
  name: string;
  reason: string;
}

/** A collection by its names. */
export interface CollectionPlace {
  tenant: string;
  name: string;
}

// Answers of the archive endpoints: part of the interface.
// Types only; shared by the server, its documentation and the client.

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
