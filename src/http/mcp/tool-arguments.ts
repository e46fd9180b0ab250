// What the tools of /mcp take and give. Types only: the schemas that agents read are made of them, comments included,
// and the checks. Read by tools.ts and read-chunk.ts.
import type { tags } from 'typia';

interface Place {
  /** Name of the collection. */
  collection: string;
  /** Needed only where the key is good for several tenants. */
  tenant?: string;
}

export interface SearchArguments extends Place {
  /** What to look for: a question or words. */
  query: string & tags.MinLength<1>;
  /** How many hits; 5 where it is left out. */
  k?: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<50>;
  /**
   * `vector`: by meaning; `hybrid`: by meaning and by words; `boost`: by meaning, words help. Left out: as the
   * collection is set up.
   */
  mode?: 'vector' | 'boost' | 'hybrid';
  /**
   * Only chunks whose metadata fit: a field to a value, a list of values (any of them), or operators such as {"$gte":
   * 2020}.
   */
  filters?: Record<string, unknown>;
}

export interface ReadArguments extends Place {
  /** As a search gives it, such as guide.md::chunk_3. */
  chunk_id: string & tags.MinLength<1>;
  /** How many chunks before it; 1 where it is left out. */
  before?: number & tags.Type<'uint32'> & tags.Maximum<10>;
  /** How many chunks after it; 1 where it is left out. */
  after?: number & tags.Type<'uint32'> & tags.Maximum<10>;
}

export interface ListArguments {
  /** Needed only where the key is good for several tenants. */
  tenant?: string;
}

export interface IngestArguments extends Place {
  /** The text of the document. */
  text: string & tags.MinLength<1>;
  /** Id of the document; one is made where it is left out. */
  docid?: string;
  /** Fields to filter searches by. */
  metadata?: Record<string, unknown>;
}

export interface ToolAnswer {
  /** For the model. */
  readonly text: string;
  /** The same for programs. */
  readonly structured: Record<string, unknown>;
}
