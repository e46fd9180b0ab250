// The JSON text of a hit, joined from what the records hold as JSON already. Pure.
// Called by the search workers when they hydrate hits, and by the front thread where a reranker gives another score.
import type { HitParts, ToldChunk } from '../contract/hits.js';

export function hitJson(
  { head, id, text, metaJson, reason, explain, relevance, highlight }: HitParts,
  score: number,
): string {
  const chunk = { idJson: JSON.stringify(id), ...(text !== undefined && { textJson: JSON.stringify(text) }), metaJson };
  const more = `${explain ? `,"explain":${JSON.stringify({ ...explain, score })}` : ''}${relevance === undefined ? '' : `,"relevance":${relevance}`}${highlight ? `,"highlight":${JSON.stringify(highlight)}` : ''}`;
  return joinHit(head, chunk, score, reason, more);
}

/** `head`: as in HitParts. `more`: fields at the end, each behind a comma. */
export function joinHit(
  head: string,
  { idJson, textJson, metaJson }: Pick<ToldChunk, 'idJson' | 'textJson' | 'metaJson'>,
  score: number,
  reason: string,
  more = '',
): string {
  const textField = textJson === undefined ? '' : `"text":${textJson},`;
  return `${head}"id":${idJson},"score":${score},${textField}"meta":${metaJson},"match_reason":${JSON.stringify(reason)}${more}}`;
}
