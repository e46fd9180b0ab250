// The interfaces of embedders and rerankers. Types only.
import type { AppError } from '../api/errors.js';

/** Embedders may treat queries and passages differently. */
export type Purpose = 'query' | 'passage';

/** Logs on the main thread what clients do not see. Must not contain a key or a whole text. */
export type Tell = (level: 'warn' | 'error', fields: Record<string, unknown>, message: string) => void;
export type Warn = (fields: Record<string, unknown>, message: string) => void;

export interface Embedded {
  /** One row per text; the rows of failed texts are undefined. */
  vectors: Float32Array;
  /** Errors of texts that could not be embedded, by index. Absent: none. */
  failures?: ReadonlyMap<number, AppError>;
  /** 1 for each text that the embedder truncates. Absent: use `isTruncated`. */
  truncated?: Uint8Array;
}

export interface Embedder {
  readonly dim: number;
  /**
   * Rejects with AppError `embedder_unavailable` if none of the texts could be embedded. `isCancelled` is true once
   * nobody waits for the answer, which may then be anything. `traceparent` is passed on to remote endpoints.
   */
  embed(
    texts: readonly string[],
    purpose: Purpose,
    isCancelled: () => boolean,
    traceparent?: string,
  ): Promise<Embedded>;
  /** Whether the embedder truncates a passage. */
  isTruncated(text: string): boolean;
}

export interface Reranker {
  /** One score per text; higher is better. Rejects with AppError `embedder_unavailable`. */
  score(query: string, texts: readonly string[], traceparent?: string): Promise<Float32Array>;
}
