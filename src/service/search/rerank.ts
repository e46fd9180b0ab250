// The optional last step of a search: a reranker scores the candidates against the query, and its scores order them.
// Candidates without a text cannot be scored and follow the others in their previous order. Runs on front threads and
// on the main thread.
import { AppError } from '../../api/errors.js';
import { withScore } from '../../engine/search/boost.js';
import { type HitPieces, hitJson, rerankReason } from '../../engine/search/hit-json.js';
import { withPriority } from '../../ranking/scores.js';
import type { Rerankers } from '../embedding/rerankers.js';
import type { SearchInput } from './input.js';
import type { Caller } from './query.js';
import type { FoundHit } from './shards.js';

export interface RerankContext {
  readonly rerankers: Pick<Rerankers, 'check' | 'score'>;
}

/** Throws `invalid_rerank` for a reranker that the tenant does not have, and for a search without a text. */
export function checkRerank({ rerankers }: RerankContext, tenant: string, { rerank, q }: SearchInput): void {
  if (!rerank) return;
  rerankers.check(rerank.instance, tenant);
  if (q == null) throw new AppError('invalid_rerank', 'Reranking requires a search text; provide `q`.');
}

/**
 * All candidates by the reranker's scores with the priority of their documents applied; ties keep the order of
 * the candidates. `candidates` must have `parts`. Rejects with AppError `reranker_unavailable` or `overloaded`.
 */
export async function rerankHits(
  { rerankers }: RerankContext,
  tenant: string,
  candidates: readonly FoundHit[],
  { q, rerank }: SearchInput,
  { signal, traceparent }: Caller,
): Promise<FoundHit[]> {
  const { instance } = rerank as NonNullable<typeof rerank>;
  const read = candidates.flatMap(({ pieces }) => (pieces?.text === undefined ? [] : [{ pieces, text: pieces.text }]));
  const unread = candidates.filter(({ pieces }) => pieces?.text === undefined);
  const question = { text: q as string, ...(traceparent !== undefined && { traceparent }) };
  const scores = await rerankers.score(
    instance,
    question,
    read.map(({ text }) => text),
    tenant,
    signal,
  );
  const scored = read.map(({ pieces }, i) => rescored(pieces, instance, scores[i] as number));
  return [...scored.sort((a, b) => b.score - a.score), ...unread];
}

function rescored(pieces: HitPieces, instance: string, score: number): FoundHit {
  const boosted = pieces.boosted && withScore(pieces.boosted, score);
  const before = boosted?.score ?? score;
  const after = withPriority(before, pieces.priority.value);
  const { explain } = pieces.details;
  const told = { ...explain, ...(boosted && { boost_by: boosted }), rerank: { instance, score } };
  const details = explain ? { ...pieces.details, explain: told as typeof explain } : pieces.details;
  const reason = rerankReason(pieces.reason, instance, score, { ...pieces.priority, before, after }, boosted);
  return { id: pieces.id, score: after, json: hitJson({ ...pieces, reason, details }, after) };
}
