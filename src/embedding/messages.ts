// The messages between the front thread and the embed workers: plain data. Types only.
import type { EmbedderSpec, RerankerSpec } from './embedder-spec.js';
import type { WireError } from '../api/errors.js';

/**
 * `queries`: the texts of searches. `documents`: those of ingests, at a lower priority of the operating system.
 * `remote`: calls of other machines, in one thread, which waits for them and keeps their budgets.
 */
export type EmbedRole = 'queries' | 'documents' | 'remote';

/** Given to each embed worker when it starts. */
export interface EmbedWorkerStart {
  role: EmbedRole;
  /** Those that this role runs. */
  embedders: EmbedderSpec[];
  rerankers: RerankerSpec[];
  /** Threads that one run of a model may use. */
  modelThreads: number;
  /** Of EndpointMeter: the embedders in their order, then the rerankers. */
  meters: SharedArrayBuffer;
}

/** The text of a search. */
export interface QueryText {
  text: string;
  /** Of its request, where it is traced. */
  traceparent?: string;
}

interface EmbedQueries {
  kind: 'queries';
  /** Key of the embedder. */
  embedder: string;
  texts: string[];
  /** Of the first of them that is traced: for the call of another machine. */
  traceparent?: string;
}

/** A row for each text. */
export interface QueryVectors {
  vectors: Float32Array;
}

/**
 * Prepared documents packed one behind the other (src/text/prepared-document.ts). Their bytes are moved to the worker,
 * and back.
 */
export interface DocumentTexts {
  documents: Uint8Array;
  /** Where in `documents` each one ends. */
  ends: number[];
  /** A row for each chunk; absent: no chunk has a vector yet. Rows of chunks without a text stay as they are. */
  vectors?: Float32Array;
  /** 1 for each row that has its vector already though its chunk has a text. */
  given?: Uint8Array;
  /** Of the request they came with, where it is traced. */
  traceparent?: string;
}

export interface EmbedDocuments extends DocumentTexts {
  kind: 'documents';
  embedder: string;
  /** One word of shared memory, not 0 once nobody waits for the answer. */
  cancelled: Int32Array;
}

/**
 * The documents again: a chunk whose text is longer than the embedder reads has `"embedding_truncated": true` in its
 * meta.
 */
export interface EmbeddedDocuments {
  documents: Uint8Array;
  ends: number[];
  vectors: Float32Array;
  /** How many texts were embedded for them. */
  texts: number;
  /** Documents that could not be embedded, by their place; the others are. Absent: none. */
  failures?: { document: number; error: WireError }[];
}

export interface RerankTexts {
  kind: 'rerank';
  /** Key of the reranker. */
  reranker: string;
  query: string;
  texts: string[];
  /** Of the request that asks, where it is traced. */
  traceparent?: string;
}

/** How well each text answers the query; higher is better. */
export interface RerankScores {
  scores: Float32Array;
}

export type EmbedRequest = EmbedQueries | EmbedDocuments | RerankTexts;
export type EmbedAnswer<R extends EmbedRequest> = R extends EmbedQueries
  ? QueryVectors
  : R extends EmbedDocuments
    ? EmbeddedDocuments
    : RerankScores;
