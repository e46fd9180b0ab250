// The JSON text of a hit, joined from what the records hold as JSON already. Pure.
// Called by the shard workers when they hydrate hits, and by the front thread where a reranker gives another score.
import type { HitParts } from '../contract/hits.js';

export function hitJson({ head, id, text, metaJson, reason, explain, relevance, highlight }: HitParts, score: number): string {
  const textField = text === undefined ? '' : `"text":${JSON.stringify(text)},`;
  const more = `${explain ? `,"explain":${JSON.stringify({ ...explain, score })}` : ''}${relevance === undefined ? '' : `,"relevance":${relevance}`}${highlight ? `,"highlight":${JSON.stringify(highlight)}` : ''}`;
  return `${head}"id":${JSON.stringify(id)},"score":${score},${textField}"meta":${metaJson},"match_reason":${JSON.stringify(reason)}${more}}`;
}
