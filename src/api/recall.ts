// Recall of the searches of a collection, and samples of its vectors: bodies and routes.
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

/** Settings of the measurement. All fields are optional, and so is the body. */
export interface RecallBody {
  /** Maximum number of queries to compare. Default: 100. */
  sample?: (number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof RECALL_SAMPLE_MAX>) | null;
  /** Number of nearest neighbours to compare. Default: 10. */
  k?: (number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof RECALL_K_MAX>) | null;
  /**
   * Number of candidates that a graph search keeps. Default: the value that the index chooses for searches without
   * `ef`.
   */
  ef?: Ef | null;
  /**
   * Queries to compare. `log`: searches in the query log. `stored`: vectors of the collection. Default: `log`, or
   * `stored` if the log has too few searches.
   */
  source?: 'log' | 'stored' | null;
}

export interface RecallAnswer {
  tenant: string;
  collection: string;
  /** Share of the true k nearest neighbours that searches find, from 0 to 1; null if nothing could be compared. */
  recall: number | null;
  /** Recall of the worst query; null if nothing could be compared. */
  lowest: number | null;
  k: number;
  /** Number of queries compared. */
  queries: number;
  source: 'log' | 'stored';
  /** The requested `ef`, or the one that the index chooses, the largest of all shards. 0: everything is scanned. */
  ef: number;
  /**
   * False while vectors are not in the graph yet or the index checks its recall. Searches then find as much but take
   * longer, and `ef` may change.
   */
  graph_complete: boolean;
  /**
   * The same as `graph_complete`. Removed in release 0.11.0.
   *
   * @deprecated
   */
  settled: boolean;
  /** Sequential searches per second, counting only the time of ranking; null if nothing could be compared. */
  qps: number | null;
  /** The same for exact searches. */
  exact_qps: number | null;
  /** True if time ran out before the whole sample was compared. Absent otherwise. */
  cut?: true;
}

/** Query parameters of a sample of stored vectors. */
export interface VectorSampleParameters {
  sample?: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof VECTOR_SAMPLE_MAX>;
  metadata?: boolean;
}

export interface SampledVector {
  /** Chunk id. */
  rid: string;
  /** A component is its byte times `scale`. */
  scale: number;
  /** Base64 of `dim` signed bytes. */
  components: string;
  /** Only with `metadata=true`. */
  meta?: Record<string, unknown>;
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
    summary: 'Measure the recall of the searches of a collection',
    description: `Compares up to \`sample\` queries with exact search. Queries come from the query log (their vectors, without filters) or are stored vectors, which are then left
out of their own hits. A hit that scores as high as the last of the true k nearest counts. The measurement takes ${RECALL_TIME_MAX_MS / 1000} s at most (\`cut\`), and gives way to searches.`,
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
        graph_complete: true,
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
    summary: 'Get a sample of the stored vectors, for plots',
    description:
      'The sample is spread evenly over the collection, and the same as long as the collection does not change. Components are rounded to a byte: a component is its byte times `scale`.',
    query: [
      {
        name: 'sample',
        description: 'Maximum number of vectors; fewer if they are long.',
        schema: { type: 'integer', minimum: 1, maximum: VECTOR_SAMPLE_MAX, default: VECTOR_SAMPLE_DEFAULT },
      },
      {
        name: 'metadata',
        description: '`true` adds the metadata of each chunk.',
        schema: { type: 'boolean', default: false },
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
