// Embedders and rerankers as the server runs them: plain data, checked when the configuration is read, given to the
// workers at their start. Types only.
import type { Space } from '../api/collections.js';

/** How the vectors of a text's tokens become one. */
export type Pooling = 'mean' | 'cls' | 'max' | 'mean_sqrt_len' | 'last_token';

/** A model folder in the layout of sentence-transformers. Its vectors are brought to length 1, as cosine wants them. */
export interface OnnxModel {
  directory: string;
  /** The graph, relative to the directory. */
  file: string;
  pooling: Pooling;
  /**
   * Whether the output `sentence_embedding` of a graph that has one is taken instead of pooling its tokens; `always`:
   * it has to be there.
   */
  ownVector: 'never' | 'preferred' | 'always';
  /** Tokens of a text that the model reads, special ones included; the rest is cut off. */
  tokensMax: number;
  /** Length of what the model gives. */
  modelDim: number;
  /** Length of the vectors: less than `modelDim` for the first dimensions of a matryoshka model. */
  dim: number;
  queryPrefix: string;
  passagePrefix: string;
}

/** Bounds and ways of every HTTP endpoint. */
export interface EndpointSpec {
  /** Without a slash at the end. */
  url: string;
  model: string;
  /** '' for none. */
  apiKey: string;
  timeoutMs: number;
  /** How often a call is tried again. */
  retriesMax: number;
  /** 0 is no bound. */
  requestsPerMinute: number;
  tokensPerMinute: number;
  /** Calls under way at a time. */
  callsMax: number;
}

/** An endpoint that speaks OpenAI's `/embeddings`. */
export interface OpenAiEndpoint extends EndpointSpec {
  dim: number;
  /** Whether `dimensions` is sent along: endpoints that do not know it refuse it. */
  sendsDimensions: boolean;
  /** Of one call. */
  inputsMax: number;
  tokensMax: number;
  /** A longer text is cut off; 0 is no bound. */
  charactersMax: number;
  queryPrefix: string;
  passagePrefix: string;
}

export type EmbedderSpec = { key: string } & (
  | { type: 'builtin' }
  | { type: 'onnx'; model: OnnxModel }
  | { type: 'openai'; endpoint: OpenAiEndpoint }
);

/** What takes texts and gives vectors of its space. Several may serve one space. */
export interface EmbedderInstance {
  key: string;
  space: Space;
  /** Tenants that may use it; absent: all. */
  tenants?: readonly string[];
  spec: EmbedderSpec;
}

/** A cross-encoder: an ONNX folder whose graph gives one score for a pair of texts. */
export interface OnnxReranker {
  directory: string;
  file: string;
  /** Tokens of a pair, special ones included; the passage is cut off. */
  tokensMax: number;
}

export type RerankerSpec = { key: string } & (
  | { type: 'onnx'; model: OnnxReranker }
  | { type: 'endpoint'; endpoint: EndpointSpec }
);

/** What scores how well texts answer a query. */
export interface RerankerInstance {
  key: string;
  /** Tenants that may use it; absent: all. */
  tenants?: readonly string[];
  spec: RerankerSpec;
}

/** How the machine is shared out among the threads that embed. */
export interface EmbedThreads {
  queries: number;
  documents: number;
  /** Threads that one run of a model may use, for a query and for documents. */
  queryModel: number;
  documentModel: number;
}
