// The JSON text of a hit, joined from what the records hold as JSON already. Pure.
// Called by the shard workers when they hydrate hits, and by the front thread where a reranker gives another score.
import type { HitParts } from '../contract/ranking.js';

export function hitJson({ head, id, text, metaJson, reason }: HitParts, score: number): string {
  const textField = text === undefined ? '' : `"text":${JSON.stringify(text)},`;
  return `${head}"id":${JSON.stringify(id)},"score":${score},${textField}"meta":${metaJson},"match_reason":${JSON.stringify(reason)}}`;
}
