// Bodies of the sample of stored vectors. Types only.
// Read by the handler, the OpenAPI document and the console.
import type { tags } from 'typia';
import type { VECTOR_SAMPLE_MAX } from '../limits.js';

/** The query string. */
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
