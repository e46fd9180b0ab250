// What an embed worker asks of each kind of embedder. Types only.
// Implemented in builtin/, onnx/ and openai/; called by worker.ts and embed-documents.ts.
import type { AppError } from '../../src/contract/errors.js';

/** Embedders may treat what searches and what is found differently. */
export type Purpose = 'query' | 'passage';

export interface Embedded {
  /** A row for each text; rows of failed texts hold nothing of meaning. */
  vectors: Float32Array;
  /** Texts that could not be embedded, by their place. Absent: none. */
  failures?: ReadonlyMap<number, AppError>;
}

export interface Runner {
  readonly dim: number;
  /** Rejects with AppError `embedder_unavailable` where none of the texts could be embedded. `isCancelled`: nobody waits for the answer any more; it may then be anything. */
  embed(texts: readonly string[], purpose: Purpose, isCancelled: () => boolean): Promise<Embedded>;
  /** Whether a passage is longer than the embedder reads. */
  isTruncated(text: string): boolean;
}

export interface Reranker {
  /** A score for each text, higher is better. Rejects with AppError `embedder_unavailable`. */
  score(query: string, texts: readonly string[]): Promise<Float32Array>;
}
