// How good the searches of a collection are, and samples of its vectors: bodies and routes.
import typia, { type tags } from 'typia';
import {
  type RECALL_K_MAX,
  type RECALL_SAMPLE_MAX,
  RECALL_TIME_MAX_MS,
  VECTOR_SAMPLE_DEFAULT,
  VECTOR_SAMPLE_MAX,
} from './limits.js';
import { COLLECTION, jsonRoute, routes } from './route.js';
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

/** The query string of a sample of stored vectors. */
export interface VectorSampleParameters {
  sample?: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof VECTOR_SAMPLE_MAX>;
}

export interface SampledVector {
  /** Chunk id. */
  rid: string;
  /** What one step of a byte is worth. */
  scale: number;
  /** Base64 of `dim` signed bytes. */
  components: string;
}

export interface VectorSample {
  tenant: string;
  collection: string;
  dim: number;
  vectors: SampledVector[];
  count: number;
}

export const RECALL_ROUTES = routes({
  measureRecall: jsonRoute({
    method: 'POST',
    path: `${COLLECTION}/recall`,
    access: 'tenant',
    scope: 'search',
    tag: 'Search',
    summary: 'How much of the true nearest the searches of a collection find',
    description: `Compares up to \`sample\` queries with exact search: those of the query log (their vectors, without filters), or stored vectors, which are then left
out of what they find. A hit that scores as high as the last of the true k nearest counts. It takes ${RECALL_TIME_MAX_MS / 1000} s at most (\`cut\`), and gives way to searches.`,
    body: {
      check: typia.createValidateEquals<RecallBody>(),
      schema: typia.json.schema<RecallBody>(),
      required: false,
      orNothing: true,
      examples: { defaults: {}, stored: { sample: 500, k: 10, ef: 200, source: 'stored' } },
    },
    answer: {
      schema: typia.json.schema<RecallAnswer>(),
      example: {
        tenant: 'acme',
        collection: 'docs',
        recall: 0.991,
        lowest: 0.8,
        k: 10,
        queries: 100,
        source: 'log',
        ef: 64,
        settled: true,
        qps: 3120,
        exact_qps: 95,
      },
    },
    codes: ['collection_not_found', 'embedder_unavailable', 'search_failed'],
  }),
  sampleVectors: jsonRoute({
    method: 'GET',
    path: `${COLLECTION}/vectors`,
    access: 'tenant',
    scope: 'search',
    tag: 'Search',
    summary: 'A sample of the stored vectors, for plots',
    description:
      'Spread evenly over the collection; the same ones as long as it does not change. Components are rounded to a byte: a component is its byte times `scale`.',
    query: [
      {
        name: 'sample',
        description: 'How many vectors at most; fewer where they are long.',
        schema: { type: 'integer', minimum: 1, maximum: VECTOR_SAMPLE_MAX, default: VECTOR_SAMPLE_DEFAULT },
      },
    ],
    checkQuery: typia.createValidate<VectorSampleParameters>(),
    answer: {
      schema: typia.json.schema<VectorSample>(),
      example: {
        tenant: 'acme',
        collection: 'docs',
        dim: 4,
        vectors: [{ rid: 'nemo::chunk_0', scale: 0.0061, components: 'fwDxgQ==' }],
        count: 1,
      },
    },
    codes: ['collection_not_found'],
  }),
});
