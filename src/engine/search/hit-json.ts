// The JSON text of a hit, joined from what the records hold as JSON already, and its `match_reason`: how its score was
// made, in the words that clients of this interface already parse. Pure: of the search workers, and of the front thread
// where a reranker gives a hit another score.
import type { Explanation, FusionSettings, Highlight, Narrowed } from '../../api/search.js';
import type { Basis, Halves } from '../../ranking/scores.js';
import { type MetaLayers, fieldReader } from '../filter/match.js';
import type { ChunkPayload } from './payload-cache.js';

/** What a hit is made of, its score aside. */
export interface HitParts {
  /** JSON of the fields that all hits of a collection begin with, without the brace at the end. */
  head: string;
  id: string;
  /** Absent where the chunk was ingested as a vector. */
  text?: string;
  metaJson: string;
  reason: string;
  /** Of the chunk's document; 0 for none. */
  priority: { key: string; value: number };
  /** Where they were asked for. */
  explain?: Omit<Explanation, 'score'>;
  relevance?: number;
  highlight?: Highlight;
}

interface Priority {
  readonly key: string;
  readonly value: number;
  readonly before: number;
  readonly after: number;
}

/** What a reranker adds to the reason that a hit was found for. `score`: before the priority. */
export function rerankReason(reason: string, instance: string, score: number, priority: Priority): string {
  const scored = `${reason}; rerank: ${instance} ${score.toFixed(3)}`;
  return priority.value === 0 ? scored : `${scored}; ${priorityReason(priority)}`;
}

const STORED_CHARACTERS_MAX = 200;

export function matchReason(basis: Basis, narrowed: Narrowed, meta: () => MetaLayers, priority: Priority): string {
  const parts = [basisReason(basis)];
  if (narrowed.fields.length > 0) parts.push(filtersReason(narrowed.fields, meta()));
  if (narrowed.contentOp) parts.push(`content ${narrowed.contentOp} match`);
  if (priority.value !== 0) parts.push(priorityReason(priority));
  return parts.join('; ');
}

function basisReason(basis: Basis): string {
  if (basis.mode === 'vector') return `vector: cosine ${basis.cosine.toFixed(3)}`;
  if (basis.mode === 'boost')
    return `boost: cosine ${basis.cosine.toFixed(3)} + ${basis.boost.toFixed(3)} for exact tokens ${basis.matched}/${basis.wanted}`;
  return `hybrid: ${basis.fusion.method === 'score' ? scoresReason(basis.fusion, basis) : ranksReason(basis.fusion, basis)}`;
}

function ranksReason(
  { k, weights }: Extract<FusionSettings, { method: 'rank' }>,
  { vectorRank, lexicalRank, cosine }: Halves,
): string {
  const isPlain = weights.vector === 1 && weights.lexical === 1;
  const weight = (of: number): string => (isPlain ? '' : `${of} * `);
  const halves: string[] = [];
  if (vectorRank !== undefined)
    halves.push(`${weight(weights.vector)}vector rank ${vectorRank} (cosine ${(cosine ?? 0).toFixed(3)})`);
  if (lexicalRank !== undefined) halves.push(`${weight(weights.lexical)}lexical rank ${lexicalRank}`);
  return `${halves.join(' + ')}, each ${isPlain ? '1' : 'weight'}/(${k}+rank)`;
}

function scoresReason({ weights }: FusionSettings, { cosine, share }: Halves): string {
  const halves: string[] = [];
  if (cosine !== undefined) halves.push(`${weights.vector} * cosine ${cosine.toFixed(3)}`);
  if (share !== undefined) halves.push(`${weights.lexical} * lexical ${share.toFixed(3)}`);
  return halves.join(' + ');
}

function filtersReason(fields: readonly string[], meta: MetaLayers): string {
  return `filters: ${fields.map((field) => `${field}=${stored(fieldReader(field)(meta))}`).join(', ')}`;
}

/** A string as it is, anything else as JSON, cut where it is long; an absent field is null. */
function stored(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  return text.length > STORED_CHARACTERS_MAX
    ? `${text.slice(0, STORED_CHARACTERS_MAX).replace(/[\ud800-\udbff]$/, '')}…`
    : text;
}

function priorityReason({ key, value, before, after }: Priority): string {
  const sign = value < 0 ? '-' : '+';
  return `priority: ${key} ${sign}${Math.abs(value).toFixed(2)}, ${before.toFixed(3)} -> ${after.toFixed(3)}`;
}

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
  { idJson, textJson, metaJson }: Pick<ChunkPayload, 'idJson' | 'textJson' | 'metaJson'>,
  score: number,
  reason: string,
  more = '',
): string {
  const textField = textJson === undefined ? '' : `"text":${textJson},`;
  return `${head}"id":${idJson},"score":${score},${textField}"meta":${metaJson},"match_reason":${JSON.stringify(reason)}${more}}`;
}
