// What is told of each call of an embedder or a reranker, for the metrics: a call is one message to an embed worker and
// its answer. Used by embed-crew.ts, on the front thread.
import type { EmbedAnswer, EmbedRequest } from '../contract/embed-messages.js';

export interface EmbedCall {
  /** Of the embedder, or of the reranker. */
  key: string;
  kind: EmbedRequest['kind'];
  /** How many texts it embedded or scored; 0 where it failed. */
  texts: number;
  /** Until the answer, what it waited for at the worker included. */
  ms: number;
  /** As a whole, or for any of its documents. */
  failed: boolean;
}

export type EmbedObserver = (call: EmbedCall) => void;

/** Tells of a call that begins now, when it is over. */
export function observed<R extends EmbedRequest>(
  request: R,
  answer: Promise<EmbedAnswer<R>>,
  observe: EmbedObserver,
): void {
  const startedAtMs = performance.now();
  const key = request.kind === 'rerank' ? request.reranker : request.embedder;
  const tell = (texts: number, failed: boolean): void =>
    observe({ key, kind: request.kind, texts, ms: performance.now() - startedAtMs, failed });
  void answer.then(
    (made) =>
      tell(
        'documents' in made ? made.texts : (request as Exclude<EmbedRequest, { kind: 'documents' }>).texts.length,
        'failures' in made,
      ),
    () => tell(0, true),
  );
}
