// Specifications of embedders and rerankers as plain data, validated with the configuration and passed to embed workers
// at their start. Types only.
import type { Space } from '../api/collections.js';

/** How the token vectors of a text are combined into one vector. */
export type Pooling = 'mean' | 'cls' | 'max' | 'mean_sqrt_len' | 'last_token';

/** A model folder in the layout of sentence-transformers. Its vectors are normalized to length 1. */
export interface OnnxModel {
  directory: string;
  /** The ONNX graph, relative to the directory. */
  file: string;
  pooling: Pooling;
  /**
   * Whether to use the output `sentence_embedding` of the graph instead of pooling token vectors. `always` requires it.
   */
  ownVector: 'never' | 'preferred' | 'always';
  /** Tokens that the model reads, including special ones; the rest of a text is truncated. */
  tokensMax: number;
  /** Dimensions of the model's output. */
  modelDim: number;
  /** Dimensions of the vectors; fewer than `modelDim` for the first dimensions of a matryoshka model. */
  dim: number;
  queryPrefix: string;
  passagePrefix: string;
}

/** Options that all HTTP endpoints have. */
export interface EndpointSpec {
  /** Without a trailing slash. */
  url: string;
  model: string;
  /** '' if there is none. */
  apiKey: string;
  timeoutMs: number;
  /** Retries per call. */
  retriesMax: number;
  /** 0 is no limit. */
  requestsPerMinute: number;
  tokensPerMinute: number;
  /** Maximum number of concurrent calls. */
  callsMax: number;
}

/** An endpoint with OpenAI's `/embeddings` interface. */
export interface OpenAiEndpoint extends EndpointSpec {
  dim: number;
  /** Whether to send `dimensions`, which some endpoints reject. */
  sendsDimensions: boolean;
  /** Bounds of one call. */
  inputsMax: number;
  tokensMax: number;
  /** Longer texts are truncated; 0 is no bound. */
  charactersMax: number;
  queryPrefix: string;
  passagePrefix: string;
}

export type EmbedderSpec = { key: string } & (
  | { type: 'builtin' }
  | { type: 'onnx'; model: OnnxModel }
  | { type: 'openai'; endpoint: OpenAiEndpoint }
);

/** A configured embedder. Several instances may serve one vector space. */
export interface EmbedderInstance {
  key: string;
  space: Space;
  /** Tenants that may use it; absent: all. */
  tenants?: readonly string[];
  spec: EmbedderSpec;
}

/** A cross-encoder: an ONNX folder whose graph returns one score per pair of texts. */
export interface OnnxReranker {
  directory: string;
  file: string;
  /** Tokens of a pair, including special ones; the passage is truncated. */
  tokensMax: number;
}

export type RerankerSpec = { key: string } & (
  | { type: 'onnx'; model: OnnxReranker }
  | { type: 'endpoint'; endpoint: EndpointSpec }
);

/** A configured reranker. */
export interface RerankerInstance {
  key: string;
  /** Tenants that may use it; absent: all. */
  tenants?: readonly string[];
  spec: RerankerSpec;
}

/** Numbers of embedding threads. */
export interface EmbedThreads {
  queries: number;
  documents: number;
  /** Threads of one model run, for queries and for documents. */
  queryModel: number;
  documentModel: number;
}
