// What an archive tells of a collection, whatever server it comes from. Types only; shared by the archive process,
// which checks them, and the front thread, which makes a collection of them.
import type { tags } from 'typia';
import type { Collection } from './resources.js';
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
