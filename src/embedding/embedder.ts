// What an embed worker asks of each kind of embedder and reranker. Types only.
import type { AppError } from '../api/errors.js';

/** Embedders may treat what searches and what is found differently. */
export type Purpose = 'query' | 'passage';

/** Logs on the front thread what no client is told: never a key, never a whole text. */
export type Tell = (level: 'warn' | 'error', fields: Record<string, unknown>, message: string) => void;
export type Warn = (fields: Record<string, unknown>, message: string) => void;

export interface Embedded {
  /** A row for each text; rows of failed texts hold nothing of meaning. */
  vectors: Float32Array;
  /** Texts that could not be embedded, by their place. Absent: none. */
  failures?: ReadonlyMap<number, AppError>;
  /** 1 for each text that is longer than the embedder reads. Absent: `isTruncated` has the answer. */
  truncated?: Uint8Array;
}

export interface Embedder {
  readonly dim: number;
  /**
   * Rejects with AppError `embedder_unavailable` where none of the texts could be embedded. `isCancelled`: nobody waits
   * for the answer any more; it may then be anything. `traceparent`: goes along to another machine that is called.
   */
  embed(
    texts: readonly string[],
    purpose: Purpose,
    isCancelled: () => boolean,
    traceparent?: string,
  ): Promise<Embedded>;
  /** Whether a passage is longer than the embedder reads. */
  isTruncated(text: string): boolean;
}

export interface Reranker {
  /** A score for each text, higher is better. Rejects with AppError `embedder_unavailable`. */
  score(query: string, texts: readonly string[], traceparent?: string): Promise<Float32Array>;
}
