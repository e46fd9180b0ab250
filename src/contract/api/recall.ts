// Bodies of the recall endpoint. Types only.
// Read by the handler, the OpenAPI document and the client.
import type { tags } from 'typia';
import type { RECALL_K_MAX, RECALL_SAMPLE_MAX } from '../limits.js';
import type { Ef } from './search.js';

/** All optional; the body itself may be absent. */
export interface RecallBody {
  /** How many queries are compared at most; 100 where it is left out. */
  sample?: (number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof RECALL_SAMPLE_MAX>) | null;
  /** How many of the nearest; 10 where it is left out. */
  k?: (number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof RECALL_K_MAX>) | null;
  /** Breadth of the walk through the graph; omitted: as the index chooses for a search that names none. */
  ef?: Ef | null;
  /**
   * `log`: searches that the query log has. `stored`: vectors of the collection. Omitted: the log, or stored vectors
   * where it has too few.
   */
  source?: 'log' | 'stored' | null;
}

export interface RecallAnswer {
  tenant: string;
  collection: string;
  /** Share of the true k nearest that searches find, from 0 to 1; null where nothing could be compared. */
  recall: number | null;
  /** That of the worst query. */
  lowest: number | null;
  k: number;
  /** How many queries were compared. */
  queries: number;
  source: 'log' | 'stored';
  /** As asked for, or as the index chooses, the largest of the shards'; 0: everything is scanned. */
  ef: number;
  /**
   * False while vectors wait for their place in the graph, or it is being checked: searches find as much, but take
   * longer, and `ef` may change.
   */
  settled: boolean;
  /** Searches a second, one after the other, in the time that ranking takes; null where nothing could be compared. */
  qps: number | null;
  /** The same of exact ones. */
  exact_qps: number | null;
  /** There was no time for the whole sample. Absent otherwise. */
  cut?: true;
}
