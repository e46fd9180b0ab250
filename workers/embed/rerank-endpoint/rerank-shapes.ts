// The two shapes of `/rerank`: Cohere's, which Jina, vLLM and LiteLLM speak too, and that of TEI. Answers are read by
// what they hold. Pure. Used by endpoint-reranker.ts.
import { CallError } from '../remote/call-error.js';

export type RerankShape = 'cohere' | 'tei';

export function rerankBody(shape: RerankShape, model: string, query: string, texts: readonly string[]): object {
  if (shape === 'tei') return { query, texts, truncate: true };
  return { model, query, documents: texts, top_n: texts.length };
}

/** A score for each of `count` texts. Throws CallError. */
export function readScores(answer: unknown, count: number): Float32Array {
  const entries = Array.isArray(answer) ? (answer as unknown[]) : (answer as { results?: unknown } | null)?.results;
  if (!Array.isArray(entries)) throw new CallError('broken', 'its answer has no list `results`');
  if (entries.length !== count) throw new CallError('broken', `it gives ${entries.length} scores for ${count} texts`);
  const scores = new Float32Array(count).fill(NaN);
  for (const entry of entries as ({ index?: unknown; relevance_score?: unknown; score?: unknown } | null)[]) {
    const score = entry?.relevance_score ?? entry?.score;
    if (typeof score === 'number' && typeof entry?.index === 'number') scores[entry.index] = score;
  }
  if (!scores.every(Number.isFinite)) throw new CallError('broken', 'it does not give each text a score');
  return scores;
}
