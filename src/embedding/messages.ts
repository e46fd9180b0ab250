// Messages between the main thread and embed workers: plain data. Types only.
import type { EmbedderSpec, RerankerSpec } from './embedder-spec.js';
import type { WireError } from '../api/errors.js';

/**
 * `queries`: texts of searches. `documents`: texts of ingests, at a lower OS priority. `remote`: calls of endpoints, in
 * one thread, which awaits them and keeps their budgets.
 */
export type EmbedRole = 'queries' | 'documents' | 'remote';

/** Start parameters of an embed worker. */
export interface EmbedWorkerStart {
  role: EmbedRole;
  /** The models of this role. */
  embedders: EmbedderSpec[];
  rerankers: RerankerSpec[];
  /** Threads of one model run. */
  modelThreads: number;
  /** The packed file of the built-in embedder, in shared memory; absent if the thread must read it itself. */
  embedderFile: Uint8Array | undefined;
  /** Memory of the EndpointMeters: embedders in their order, then rerankers. */
  meters: SharedArrayBuffer;
}

/** The text of a search. */
export interface QueryText {
  text: string;
  /** Trace context of the request, if it is traced. */
  traceparent?: string;
}

interface EmbedQueries {
  kind: 'queries';
  /** Key of the embedder. */
  embedder: string;
  texts: string[];
  /** Trace context of the first traced request, for calls of remote endpoints. */
  traceparent?: string;
}

/** One row per text. */
export interface QueryVectors {
  vectors: Float32Array;
}

/**
 * Prepared documents, packed consecutively (src/text/prepared-document.ts). Their bytes are transferred to the worker
 * and back.
 */
export interface DocumentTexts {
  documents: Uint8Array;
  /** End offset of each document in `documents`. */
  ends: number[];
  /** One row per chunk; absent: no chunk has a vector yet. Rows of chunks without text are left unchanged. */
  vectors?: Float32Array;
  /** 1 for each row whose chunk has a text but already has a vector. */
  given?: Uint8Array;
  /** Trace context of the request, if it is traced. */
  traceparent?: string;
}

export interface EmbedDocuments extends DocumentTexts {
  kind: 'documents';
  embedder: string;
  /** One shared word, non-zero once nobody waits for the answer. */
  cancelled: Int32Array;
}

/** The documents with vectors. A chunk whose text was truncated has `"embedding_truncated": true` in its metadata. */
export interface EmbeddedDocuments {
  documents: Uint8Array;
  ends: number[];
  vectors: Float32Array;
  /** Number of embedded texts. */
  texts: number;
  /** Errors of documents that could not be embedded, by index; the others succeeded. Absent: none. */
  failures?: { document: number; error: WireError }[];
}

export interface RerankTexts {
  kind: 'rerank';
  /** Key of the reranker. */
  reranker: string;
  query: string;
  texts: string[];
  /** Trace context of the request, if it is traced. */
  traceparent?: string;
}

/** Relevance of each text to the query; higher is better. */
export interface RerankScores {
  scores: Float32Array;
}

export type EmbedRequest = EmbedQueries | EmbedDocuments | RerankTexts;
export type EmbedAnswer<R extends EmbedRequest> = R extends EmbedQueries
  ? QueryVectors
  : R extends EmbedDocuments
    ? EmbeddedDocuments
    : RerankScores;
