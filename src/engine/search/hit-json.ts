// The JSON text of a hit, joined from fields that the records already hold as JSON, and its `match_reason`, which
// explains the score in a fixed wording that clients parse. Pure functions: they run on searching threads, and on the
// main thread when a reranker changes a score.
import type { Scalar } from '../../api/filter.js';
import type {
  Explanation,
  FilteredBy,
  FusionSettings,
  Highlight,
  HitContext,
  QueriesFusion,
} from '../../api/search.js';
import { type Basis, type Boosted, type FoundByQuery, type Halves, scoreOf } from '../../ranking/scores.js';
import { type MetaLayers, fieldReader } from '../filter/match.js';
import type { ChunkPayload } from './payload-cache.js';

/** The optional parts of a hit, each present only if the request asked for it. */
export interface HitDetails {
  explain?: Omit<Explanation, 'score'>;
  relevance?: number;
  highlight?: Highlight;
  vector?: number[];
  context?: HitContext;
  group?: Scalar;
}

/** Everything a hit consists of except its score. */
export interface HitPieces {
  /** JSON prefix: the opening brace and the fields that all hits of a collection share. */
  jsonPrefix: string;
  id: string;
  /** For the reranker. Absent if the chunk was ingested as a vector without text. */
  text?: string;
  /** The fields of the chunk that the hit shows. */
  shown: ShownChunk;
  reason: string;
  isReasonHidden?: true;
  /** The priority of the chunk's document; value 0 means none. */
  priority: { key: string; value: number };
  /** How the score was boosted by metadata. */
  boosted?: Boosted;
  details: HitDetails;
}

/** Which optional fields hits have. */
export interface HitFields {
  text: boolean;
  reason: boolean;
  /** The metadata keys that hits have; all if absent. */
  only?: string[];
  /** Metadata keys that hits do not have. */
  without: string[];
}

type ShownChunk = Pick<ChunkPayload, 'idJson' | 'textJson' | 'metaJson'>;

/** The part of a chunk that hits with these fields show. */
export function shownOf({ idJson, textJson, metaJson }: ChunkPayload, { text, only, without }: HitFields): ShownChunk {
  return {
    idJson,
    ...(text && textJson !== undefined && { textJson }),
    metaJson: only || without.length > 0 ? selectedMeta(metaJson, only, without) : metaJson,
  };
}

/** The metadata with only some of its keys. Without any if it is nested too deeply to be serialized. */
function selectedMeta(metaJson: string, only: readonly string[] | undefined, without: readonly string[]): string {
  if (only?.length === 0) return '{}';
  const entries = Object.entries(JSON.parse(metaJson) as Record<string, unknown>);
  const isShown = (key: string): boolean => (only?.includes(key) ?? true) && !without.includes(key);
  try {
    return JSON.stringify(Object.fromEntries(entries.filter(([key]) => isShown(key))));
  } catch (error) {
    if (error instanceof RangeError) return '{}';
    throw error;
  }
}

interface Priority {
  readonly key: string;
  readonly value: number;
  readonly before: number;
  readonly after: number;
}

/**
 * Appends the reranker's score to the reason of a hit. `score` is the reranker's score before the priority is added.
 */
export function rerankReason(
  reason: string,
  instance: string,
  score: number,
  priority: Priority,
  boosted?: Boosted,
): string {
  const reasons = [reason, `rerank: ${instance} ${score.toFixed(3)}`];
  if (boosted) reasons.push(boostReason(boosted, score));
  if (priority.value !== 0) reasons.push(priorityReason(priority));
  return reasons.join('; ');
}

const STORED_CHARACTERS_MAX = 200;

/** The `match_reason` of a hit. `meta` is called only if the search has metadata filters. */
export function matchReason(
  basis: Basis,
  filteredBy: FilteredBy,
  meta: () => MetaLayers,
  priority: Priority,
  boosted?: Boosted,
): string {
  const reasons = [basisReason(basis)];
  if (filteredBy.fields.length > 0) reasons.push(filtersReason(filteredBy.fields, meta()));
  if (filteredBy.contentOp) reasons.push(`content ${filteredBy.contentOp} match`);
  if (boosted) reasons.push(boostReason(boosted, scoreOf(basis)));
  if (priority.value !== 0) reasons.push(priorityReason(priority));
  return reasons.join('; ');
}

function basisReason(basis: Basis): string {
  if (basis.mode === 'vector') return `vector: cosine ${basis.cosine.toFixed(3)}`;
  if (basis.mode === 'sorted') return `sorted by ${basis.field}`;
  if (basis.mode === 'queries') return `queries: ${queriesReason(basis.fusion, basis.found)}`;
  if (basis.mode === 'boost')
    return `boost: cosine ${basis.cosine.toFixed(3)} + ${basis.boost.toFixed(3)} for ${basis.isWidened ? '' : 'exact '}tokens ${basis.matched}/${basis.wanted}`;
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

function queriesReason(fusion: QueriesFusion, found: readonly FoundByQuery[]): string {
  const isPlain = found.every(({ weight }) => weight === 1);
  const terms = found.map(({ query, rank, score, weight }) => {
    const weighed = isPlain ? '' : `${weight} * `;
    return `${weighed}query ${query} ${fusion.method === 'rank' ? `rank ${rank}` : score.toFixed(3)}`;
  });
  const sum = terms.join(' + ');
  return fusion.method === 'score' ? sum : `${sum}, each ${isPlain ? '1' : 'weight'}/(${fusion.k}+rank)`;
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

/**
 * Formats a stored metadata value: a string as it is, anything else as JSON, cut after 200 characters. An absent field
 * gives `null`.
 */
function stored(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  return text.length > STORED_CHARACTERS_MAX
    ? `${text.slice(0, STORED_CHARACTERS_MAX).replace(/[\ud800-\udbff]$/, '')}…`
    : text;
}

function boostReason({ fields, score }: Boosted, before: number): string {
  return `boost_by: ${fields.map(({ field }) => field).join(', ')}, ${before.toFixed(3)} -> ${score.toFixed(3)}`;
}

function priorityReason({ key, value, before, after }: Priority): string {
  const sign = value < 0 ? '-' : '+';
  return `priority: ${key} ${sign}${Math.abs(value).toFixed(2)}, ${before.toFixed(3)} -> ${after.toFixed(3)}`;
}

/** The JSON text of a hit with the optional parts that `HitPieces` holds. */
export function hitJson({ jsonPrefix, shown, reason, isReasonHidden, details }: HitPieces, score: number): string {
  return joinHit(jsonPrefix, shown, score, isReasonHidden ? '' : reason, detailsJson(details, score));
}

/** The optional parts of a hit as JSON fields, each with a leading comma. */
export function detailsJson({ explain, ...others }: HitDetails, score: number): string {
  let json = explain ? `,"explain":${JSON.stringify({ ...explain, score })}` : '';
  for (const [name, value] of Object.entries(others)) json += `,"${name}":${JSON.stringify(value)}`;
  return json;
}

/**
 * Joins a hit from JSON fragments. `jsonPrefix` is as in `HitPieces`; `more` holds further fields, each with a leading
 * comma.
 */
export function joinHit(
  jsonPrefix: string,
  { idJson, textJson, metaJson }: ShownChunk,
  score: number,
  reason: string,
  more = '',
): string {
  const textField = textJson === undefined ? '' : `"text":${textJson},`;
  return `${jsonPrefix}"id":${idJson},"score":${score},${textField}"meta":${metaJson},"match_reason":${JSON.stringify(reason)}${more}}`;
}
