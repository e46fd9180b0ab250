// The search planner: translates the body of a request to requests for the search workers. It applies defaults, checks
// that fields go together, chooses the mode, parses filters, obtains the query vector, and builds the search of each
// collection. Runs on front threads and on the main thread.
import type { Language, SearchMode } from '../../api/choices.js';
import type { Collection, Space } from '../../api/collections.js';
import { refOf } from '../../storage/catalog-commands.js';
import { AppError, invalidField } from '../../api/errors.js';
import { isWellFormed } from '../../api/ids.js';
import { type Filter, parseFilter } from '../../api/filter.js';
import {
  CONTEXT_CHUNKS_MAX,
  DIVERSITY_COST_MAX,
  HIT_COMPONENTS_MAX,
  K_DEFAULT,
  K_MAX,
  QUERY_CHARACTERS_MAX,
  QUERY_TEXT_BYTES_MAX,
  QUERY_TOKENS_MAX,
  REACH_MAX,
  RERANK_DEPTH_DEFAULT,
} from '../../api/limits.js';
import { toVector, vectorOfBase64 } from '../../api/numbers.js';
import { shardsOf } from '../../api/placement.js';
import type {
  FilteredBy,
  Diversity,
  Fusion,
  FusionSettings,
  HitOptions,
  Like,
  ResultOptions,
  Rerank,
  RerankSettings,
  SearchBody,
  SearchParams,
  Sort,
} from '../../api/search.js';
import type { CancelSignal } from '../../base/signals.js';
import type { QueryText } from '../../embedding/messages.js';
import { BUILTIN, IDENTITY_TYPE } from '../../embedding/spaces.js';
import {
  type CollectionSearch,
  type LexicalSearch,
  type LikeSettings,
  type ResolvedHitOptions,
  type ResultSettings,
  type SearchFilter,
  type SortPosition,
  depthOf,
} from '../../engine/search/params.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import { fusionSettings } from '../../ranking/scores.js';
import { type QueryTerms, countedTerms } from '../../text/terms.js';
import { distinctTokens } from '../../text/tokenize.js';
import type { Embedders } from '../embedding/embedders.js';
import type { QueryCache } from '../embedding/query-cache.js';
import { boostSettings, settledBoost } from './boost-by.js';
import { checkHitFields, hitFieldsOf } from './hit-fields.js';

/** What planning needs. */
export interface PlanContext {
  readonly textVector: TextVector;
  readonly settings: SearchSettings;
  readonly shards: Pick<ShardPool, 'size'>;
}

/**
 * The vector of a query text in the vector space of a collection. `owner` is the tenant on whose behalf it is embedded.
 * Rejects as `Embedders.embedQuery` does.
 */
export type TextVector = (
  collection: EmbeddedIn,
  query: QueryText,
  owner: string,
  signal?: CancelSignal,
) => Promise<Float32Array>;

/** What embedding a query needs to know of a collection. */
export type EmbeddedIn = Space & Pick<Collection, 'tenant'>;

/** The search settings of the server. */
export interface SearchSettings {
  /** The search modes that the server serves. */
  readonly modes: readonly SearchMode[];
  readonly boostWeight: number;
  readonly stringOperators: boolean;
  /** Default fusion of mode hybrid. */
  readonly fusion: FusionSettings;
  /** Whether the modes boost and hybrid rank by terms alone while the embedder does not answer. */
  readonly degrade: boolean;
}

/** The validated body of a search with its defaults. null counts as absent. */
export interface SearchInput
  extends Omit<SearchBody, 'k' | 'v' | 'v_base64' | 'rerank' | 'with_text' | 'sort' | 'like'> {
  k: number;
  v?: ArrayLike<number> | null;
  /** The depth is at least k. */
  rerank?: RerankSettings | null;
  like?: Omit<LikeSettings, 'within'> | null;
  sort?: { field: string; order: 'asc' | 'desc' } | null;
  /** The last hit of the page before, for a sorted search with a cursor. */
  after?: SortPosition;
  /** The time that counts as `now`, for a search with a cursor that of its first page. */
  nowMs?: number;
}

/** The caller of a search. */
export interface Caller {
  /** The account whose share of the embedders is used, if it is not the tenant of the collection. */
  account?: string;
  /** The filters of the caller's key, which are combined with all others by AND. */
  embeddedFilters?: RawFilters;
  /** Aborted when the client disconnects. */
  signal?: CancelSignal;
  /** The trace context of the request, if it is traced. */
  traceparent?: string;
}

type RawFilters = Readonly<Record<string, unknown>>;

/**
 * Applies the defaults to a body, in place. Throws a 422 for fields that do not go together. `at` is where the fields
 * stand in the request; `vector` is the value of `v` or `v_base64` if it was parsed separately.
 */
export function settledInput(body: SearchBody, at: 'body' | 'query', vector?: Float32Array): SearchInput {
  const { q, v, v_base64: base64, content_filter: content, rerank, fusion, ef, exact } = body;
  const input = body as SearchInput;
  const given = [q, v, base64, vector, body.like, body.sort].filter((value) => value != null).length;
  if (given !== 1)
    throw invalidField([at], 'Provide exactly one of `q`, `v`, `v_base64`, `like` and `sort`.', 'value_error');
  if (base64 != null) input.v = vectorOfBase64(base64, [at, 'v_base64']);
  else if (vector) input.v = vector;
  if (q != null) checkQueryText([at, 'q'], q);
  if (q?.trim() === '') throw invalidField([at, 'q'], 'The search text must not be empty.', 'too_short', q);
  if (content != null) checkQueryText([at, 'content_filter', 'value'], content.value);
  input.k = body.k ?? K_DEFAULT;
  if (rerank != null) input.rerank = rerankSettings(rerank, input.k, body.offset ?? 0);
  if (body.offset != null || body.cursor != null) checkPage(body, input.k);
  if (body.like != null) input.like = likeOf(body.like);
  if (body.diversity != null) input.diversity = diversityOf(body, body.diversity, input.k);
  if (body.boost_by != null) input.boost_by = settledBoost(input, body.boost_by);
  if (body.context) checkContext(body.context, input.k);
  if (body.sort != null) input.sort = sortOf(body, body.sort);
  if (body.group_by != null || body.group_size != null) checkGroups(body, input.k);
  if (body.with_text != null) settleText(body);
  if (body.include) checkHitFields(body.include, [at, 'include']);
  if (body.exclude) checkHitFields(body.exclude, [at, 'exclude']);
  if (fusion != null) checkFusion(fusion);
  if (ef != null && exact)
    throw invalidField(
      [at, 'ef'],
      'Provide only one of `ef` and `exact`; an exact search does not use the graph.',
      'value_error',
      ef,
    );
  return input;
}

/**
 * Checks the length of a query text, which bounds the cost of embedding, ranking and logging it. Throws a 422 for the
 * field `at`.
 */
export function checkQueryText(at: string[], text: string): void {
  if (text.length * 3 > QUERY_TEXT_BYTES_MAX && Buffer.byteLength(text) > QUERY_TEXT_BYTES_MAX)
    throw invalidField(at, `The text must have at most ${QUERY_TEXT_BYTES_MAX} bytes of UTF-8.`, 'too_long');
}

function checkPage({ offset, cursor }: SearchBody, k: number): void {
  if (cursor != null && offset != null)
    throw invalidField(['body', 'cursor'], 'Provide only one of `cursor` and `offset`.', 'value_error');
  if (offset != null && offset + k > REACH_MAX)
    throw invalidField(
      ['body', 'offset'],
      `\`offset\` and \`k\` together must be at most ${REACH_MAX}; restrict the search by filters to reach other hits.`,
      'less_than_equal',
      offset,
    );
}

function likeOf({ docids, chunks, not }: Like): NonNullable<SearchInput['like']> {
  const like = {
    docids: docids ?? [],
    chunks: chunks ?? [],
    not: { docids: not?.docids ?? [], chunks: not?.chunks ?? [] },
  };
  if (like.docids.length + like.chunks.length === 0)
    throw invalidField(['body', 'like'], 'Provide at least one id in `docids` or `chunks`.', 'too_short');
  return like;
}

function diversityOf(
  { offset, rerank, group_by: by, include_common: common }: SearchBody,
  { lambda, candidates }: Diversity,
  k: number,
): Required<Diversity> {
  const other = rerank ? 'rerank' : by != null ? 'group_by' : common ? 'include_common' : undefined;
  if (other) throw invalidField(['body', other], `Provide only one of \`diversity\` and \`${other}\`.`, 'value_error');
  const picked = candidates ?? Math.min(K_MAX, Math.max(RERANK_DEPTH_DEFAULT, 5 * k));
  if ((offset ?? 0) + k > picked)
    throw invalidField(
      ['body', 'diversity', 'candidates'],
      `Should be at least \`offset + k\`, which is ${(offset ?? 0) + k}.`,
      'greater_than_equal',
      candidates,
    );
  return { lambda, candidates: picked };
}

function checkContext(context: number, k: number): void {
  if (k * (2 * context + 1) > CONTEXT_CHUNKS_MAX)
    throw invalidField(
      ['body', 'context'],
      `With k ${k}, hits have at most ${Math.floor((CONTEXT_CHUNKS_MAX / k - 1) / 2)} neighbours on each side.`,
      'less_than_equal',
      context,
    );
}

/** The fields of a ranking, which a search by filters alone does not have. */
const RANKED = [
  'mode',
  'fusion',
  'rerank',
  'ef',
  'exact',
  'explain',
  'relevance',
  'highlight',
  'min_score',
  'min_relevance',
  'group_by',
  'diversity',
  'boost_by',
  'include_common',
] as const;

function sortOf(body: SearchBody, { field, order }: Sort): NonNullable<SearchInput['sort']> {
  const ranked = RANKED.find((name) => body[name] != null && body[name] !== false);
  if (ranked)
    throw invalidField(
      ['body', ranked],
      `\`${ranked}\` applies to searches by \`q\`, \`v\` or \`v_base64\`; leave it out, or leave out \`sort\`.`,
      'value_error',
    );
  if (!isWellFormed(field ?? ''))
    throw invalidField(['body', 'sort', 'field'], 'Should be a name in valid UTF-16.', 'value_error');
  return { field: field ?? 'docid', order: order ?? 'asc' };
}

function checkGroups({ group_by: by, group_size: size, rerank, include_common: common }: SearchBody, k: number): void {
  const problem =
    by == null
      ? '`group_size` needs `group_by`, the field to group by.'
      : common
        ? 'Hits of the common collection cannot be grouped with others; leave out `include_common`.'
        : rerank != null && (size ?? 1) > 1
          ? 'With `rerank`, groups have one hit; leave out `group_size`.'
          : k * (size ?? 1) > K_MAX
            ? `\`k\` times \`group_size\` must be at most ${K_MAX}.`
            : undefined;
  if (problem) throw invalidField(['body', by == null ? 'group_size' : 'group_by'], problem, 'value_error');
}

/** `with_text: false` is short for an exclusion of the text. */
function settleText(body: SearchBody): void {
  if (body.with_text === false) body.exclude = [...(body.exclude ?? []), 'text'];
  delete body.with_text;
}

function rerankSettings({ instance, depth }: Rerank, k: number, offset: number): RerankSettings {
  if (depth != null && depth < k)
    throw invalidField(
      ['body', 'rerank', 'depth'],
      `The depth must be at least k, which is ${k}.`,
      'greater_than_equal',
      depth,
    );
  const candidates = depth ?? Math.max(RERANK_DEPTH_DEFAULT, k);
  if (offset + k > candidates)
    throw invalidField(
      ['body', 'offset'],
      `Only ${candidates} candidates are reranked; set \`rerank.depth\` to at least \`offset + k\`, which is ${offset + k}.`,
      'less_than_equal',
      offset,
    );
  return { instance, depth: candidates };
}

function checkFusion({ method, k, weights }: Fusion): void {
  const at = (...place: string[]): string[] => ['body', 'fusion', ...place];
  if (method === 'score' && k != null)
    throw invalidField(at('k'), '`k` applies to method `rank` only.', 'value_error', k);
  if (weights && weights.vector + weights.lexical === 0)
    throw invalidField(at('weights'), 'At least one of the weights must be greater than 0.', 'value_error');
}

/** The index search parameters of a body. */
export function searchParams({ ef, exact }: SearchInput): SearchParams {
  const params: SearchParams = {};
  if (ef != null) params.ef = ef;
  if (exact) params.exact = true;
  return params;
}

/** The options of a body that say which of the ranked chunks its answer has. */
export function resultOptions(input: SearchInput): ResultOptions {
  const options: ResultOptions = {};
  if (input.offset) options.offset = input.offset;
  if (input.min_score != null) options.min_score = input.min_score;
  if (input.min_relevance != null) options.min_relevance = input.min_relevance;
  if (input.group_by != null) options.group_by = input.group_by;
  if (input.group_size != null) options.group_size = input.group_size;
  if (input.diversity) options.diversity = input.diversity;
  if (input.boost_by) options.boost_by = input.boost_by;
  return options;
}

/** The hit options of a body. */
export function hitOptions(input: SearchInput): HitOptions {
  const options: HitOptions = {};
  if (input.explain) options.explain = true;
  if (input.relevance) options.relevance = true;
  if (input.highlight) options.highlight = true;
  if (input.context) options.context = input.context;
  if (input.with_vector) options.with_vector = true;
  if (input.include) options.include = input.include;
  if (input.exclude) options.exclude = input.exclude;
  return options;
}

/** A search, as it is made in each of its collections. */
export interface Question {
  readonly input: SearchInput;
  readonly caller: Caller;
  readonly mode: SearchMode;
  readonly filter: FilteredSearch;
  /** Whether more than one collection is searched, so that the hits of all are merged before a page is cut. */
  readonly isMerged?: boolean;
}

/**
 * Plans the search of one collection. Fields are assigned one by one, because a literal with conditional spreads takes
 * many times as long.
 */
export function planSearch(
  context: PlanContext,
  collection: Collection,
  { input, mode, filter: { filter, filteredBy, within }, isMerged = false }: Question,
  fusion: FusionSettings,
  embedded: EmbeddedQuery,
): CollectionSearch {
  const { k, q, rerank } = input;
  const search = plainSearch(context, collection, rerank?.depth ?? k, searchParams(input));
  const { vector, lexical } = input.sort || input.like ? {} : rankingsOf(collection, mode, fusion, q, embedded);
  search.fusion = fusion;
  search.filteredBy = filteredBy;
  if (vector) search.vector = vector;
  if (lexical) {
    search.lexical = lexical;
    search.depth = depthOf(search.k, true);
  }
  if (filter) search.filter = filter;
  if (rerank) search.withPieces = true;
  const details = detailsOf(collection, input, lexical);
  if (details) search.details = details;
  if (input.sort) {
    search.sort = { field: input.sort.field, descending: input.sort.order === 'desc' };
    if (input.after) search.sort.after = input.after;
  }
  if (input.like) search.like = within ? { ...input.like, within } : input.like;
  if (input.boost_by) search.boostBy = boostSettings(input.boost_by, input.nowMs ?? 0);
  if (input.diversity) checkDiversity(input, collection.dim);
  const results = resultSettings(input, isMerged);
  if (results) search.results = results;
  if (isMerged) search.k += input.offset ?? 0;
  return search;
}

/**
 * Returns undefined if the k best hits are wanted. If the hits of several collections are merged, or reranked, the page is
 * cut and low scores are left out after that.
 */
function resultSettings(
  { k, offset, cursor, rerank, min_score: minScore, group_by: by, group_size: size, diversity }: SearchInput,
  isMerged: boolean,
): ResultSettings | undefined {
  const isPaged = diversity != null || Boolean(offset) || cursor != null || minScore != null;
  if (by == null && (rerank || !isPaged)) return undefined;
  const settings: ResultSettings = { offset: isMerged || rerank ? 0 : (offset ?? 0), page: rerank?.depth ?? k };
  if (minScore != null && !rerank) settings.minScore = minScore;
  if (cursor != null && !rerank) settings.wantsMore = true;
  if (diversity) settings.diversity = diversity as Required<Diversity> & { candidates: number };
  if (by != null) settings.group = { by, size: size ?? 1 };
  return settings;
}

/** A search for the k best chunks without filter, vector and terms, which the caller adds. */
export function plainSearch(
  { settings: { boostWeight, fusion }, shards: { size } }: Pick<PlanContext, 'settings' | 'shards'>,
  collection: Collection,
  k: number,
  params: SearchParams,
): CollectionSearch {
  const { tenant, name, priority_key: priorityKey } = collection;
  const jsonPrefix = `{"tenant":${JSON.stringify(tenant)},"collection":${JSON.stringify(name)},`;
  return {
    collection: refOf(collection),
    shards: shardsOf(collection, size),
    jsonPrefix,
    priorityKey,
    k,
    depth: k,
    params,
    filteredBy: { fields: [] },
    fusion,
    boostWeight,
  };
}

/** Returns undefined if no details are requested. A relevance needs the terms in every mode. */
function detailsOf(
  { language, dim }: Collection,
  input: SearchInput,
  lexical: LexicalSearch | undefined,
): ResolvedHitOptions | undefined {
  const { explain, relevance, highlight, with_vector: withVector, min_relevance: minRelevance } = input;
  const { include, exclude, context, group_by: groupBy } = input;
  const isPlain = !explain && !relevance && !highlight && !withVector && minRelevance == null && !include && !exclude;
  if (isPlain && groupBy == null && !context) return undefined;
  if (withVector) checkVectors(input.k, dim);
  const q = input.q ?? undefined;
  const ranked = lexical?.mode === 'hybrid' ? { terms: lexical.terms, counts: lexical.counts } : undefined;
  const estimates = relevance || minRelevance != null;
  const terms = ranked ?? (estimates && q !== undefined ? termsOf(q, language) : undefined);
  const fields = hitFieldsOf(hitOptions(input));
  return {
    explain: explain === true,
    relevance: relevance === true,
    ...(minRelevance != null && { minRelevance }),
    ...(fields && { fields }),
    ...(context && { context }),
    ...(withVector && { vector: true }),
    ...(terms && { terms }),
    ...(highlight && q !== undefined && { highlight: { terms: termsOf(q, language).terms, language } }),
  };
}

/** Bounds the time in which hits are compared with each other. */
function checkDiversity({ k, offset, diversity }: SearchInput, dim: number): void {
  const candidates = diversity?.candidates ?? 0;
  if (candidates * (k + (offset ?? 0)) * dim <= DIVERSITY_COST_MAX) return;
  throw invalidField(
    ['body', 'diversity'],
    `\`candidates\` times \`offset + k\` times ${dim} dimensions must be at most ${DIVERSITY_COST_MAX}; take fewer candidates.`,
    'value_error',
  );
}

/** Bounds the bytes of an answer with vectors. */
function checkVectors(k: number, dim: number): void {
  if (k * dim <= HIT_COMPONENTS_MAX) return;
  const most = Math.max(1, Math.floor(HIT_COMPONENTS_MAX / dim));
  throw invalidField(
    ['body', 'k'],
    `With \`with_vector\`, at most ${most} hits of ${dim} dimensions.`,
    'value_error',
    k,
  );
}

/**
 * The query vector. Returns undefined if the embedder does not answer, the mode uses terms and `search.degrade` is on.
 * Throws as `searchCollection` does.
 */
export async function queryVector(
  context: PlanContext,
  collection: Collection,
  mode: SearchMode,
  { q, v }: Pick<SearchInput, 'q' | 'v'>,
  { account, signal, traceparent }: Caller,
): Promise<Float32Array | undefined> {
  if (v) return toVector(v, collection.dim, ['body', 'v']);
  checkHasText(collection);
  try {
    return await context.textVector(
      collection,
      { text: q as string, ...(traceparent !== undefined && { traceparent }) },
      account ?? collection.tenant,
      signal,
    );
  } catch (error) {
    const mayDegrade = context.settings.degrade && mode !== 'vector';
    if (mayDegrade && error instanceof AppError && error.code === 'embedder_unavailable') return undefined;
    throw error;
  }
}

/** Throws `vectors_only` for a collection that cannot be searched by text. */
function checkHasText({ embedder_type: type }: Collection): void {
  if (type === IDENTITY_TYPE)
    throw new AppError('vectors_only', 'The collection holds vectors only; search it with `v`.');
}

/** The query cache is not used for the built-in embedder, because a lookup would cost as much as embedding. */
export const textVectors =
  (embedders: Pick<Embedders, 'embedQuery'>, queryCache: Pick<QueryCache, 'vectorOf'>): TextVector =>
  (collection, query, owner, signal) => {
    const embed = (until?: CancelSignal): Promise<Float32Array> =>
      embedders.embedQuery(collection, query, collection.tenant, until);
    if (collection.embedder_type === BUILTIN.space.embedder_type) return embed(signal);
    return queryCache.vectorOf({ owner, space: collection.vector_space_key, text: query.text }, embed, signal);
  };

/**
 * `unwanted`: the vector ranking has weight 0. `unavailable`: the embedder does not answer, and the search may rank by
 * terms alone.
 */
export type EmbeddedQuery = Float32Array | 'unwanted' | 'unavailable';

/** Throws as `queryVector` does. If the terms have weight 0, the search does not degrade to ranking by terms. */
export async function vectorOf(
  context: PlanContext,
  collection: Collection,
  { input, caller, mode }: Question,
  { weights }: FusionSettings,
): Promise<EmbeddedQuery> {
  if (mode === 'hybrid' && weights.vector === 0) {
    checkHasText(collection);
    return 'unwanted';
  }
  const wordsRank = weights.lexical !== 0;
  return (await queryVector(context, collection, wordsRank ? mode : 'vector', input, caller)) ?? 'unavailable';
}

/**
 * The rankings of a search: by vector, by terms or both, according to the mode and the weights. Without a vector, the
 * terms rank as in mode hybrid.
 */
function rankingsOf(
  { language }: Collection,
  mode: SearchMode,
  { weights }: FusionSettings,
  q: string | null | undefined,
  vector: EmbeddedQuery,
): Pick<CollectionSearch, 'vector' | 'lexical'> {
  const hybrid = (): LexicalSearch => ({
    mode: 'hybrid',
    ...(weights.lexical === 0 ? { terms: [], counts: [] } : termsOf(q, language)),
  });
  if (typeof vector === 'string') return mode === 'vector' ? {} : { lexical: hybrid() };
  if (mode === 'vector') return { vector };
  return {
    vector,
    lexical: mode === 'boost' ? { mode, terms: distinctTokens(wordsOfQuery(q), QUERY_TOKENS_MAX) } : hybrid(),
  };
}

/** The terms of a query that mode hybrid ranks by. */
export const termsOf = (q: string | null | undefined, language: Language): QueryTerms =>
  countedTerms(wordsOfQuery(q), QUERY_TOKENS_MAX, language);

/** The prefix of a query that is searched for terms. */
const wordsOfQuery = (q: string | null | undefined): string => (q ?? '').slice(0, QUERY_CHARACTERS_MAX);

/** The distinct field names of a filter, in order, for the match reason of hits. */
export function fieldsOf(filter: Filter): string[] {
  const fields = new Set<string>();
  const visit = (part: Filter): void => {
    if ('field' in part) fields.add(part.field);
    else if ('not' in part) visit(part.not);
    else ('all' in part ? part.all : part.any).forEach(visit);
  };
  visit(filter);
  return [...fields];
}

export interface FilteredSearch {
  /** undefined if every chunk matches. */
  filter?: SearchFilter;
  /** The filters embedded in the caller's key, if it has any. */
  within?: Filter[];
  /** What hits report of the filter; embedded filters are not reported. */
  filteredBy: FilteredBy;
}

/**
 * The filter of a search: the filters of the body, the content filter, and those embedded in the caller's key, combined
 * by AND so that a body cannot weaken them. Throws a 422 for invalid filters, and 403 `auth_forbidden` if those of the
 * key are invalid, because then nothing may be shown.
 */
export function searchFilterOf(
  { stringOperators }: Pick<SearchSettings, 'stringOperators'>,
  { filters, content_filter: content }: Pick<SearchInput, 'filters' | 'content_filter'>,
  { embeddedFilters }: Caller,
): FilteredSearch {
  const given = isEmpty(filters) ? [] : [parseFilter(filters, { stringOperators })];
  const embedded = isEmpty(embeddedFilters) ? [] : [parseEmbedded(embeddedFilters)];
  const all = [...embedded, ...given];
  return {
    ...((all.length > 0 || content) && { filter: { filters: all, ...(content && { content }) } }),
    ...(embedded.length > 0 && { within: embedded }),
    filteredBy: { fields: given.flatMap(fieldsOf), ...(content && { contentOp: content.op }) },
  };
}

const isEmpty = (filters: RawFilters | null | undefined): filters is null | undefined =>
  filters == null || Object.keys(filters).length === 0;

/**
 * Strings are literal here whatever the setting, because applications put user names into them. Numbers that exceed the
 * safe integer range are rejected, because rounding would make neighbouring user ids equal.
 */
function parseEmbedded(filters: RawFilters): Filter {
  try {
    return parseFilter(filters, { stringOperators: false, safeNumbers: true });
  } catch (error) {
    throw error instanceof AppError ? new AppError('auth_forbidden', 'The filters of the key are not valid.') : error;
  }
}

const MODES: readonly SearchMode[] = ['vector', 'boost', 'hybrid'];

/** Throws `invalid_search_mode` or `search_mode_disabled`. */
export function servedMode(mode: string, served: readonly SearchMode[]): SearchMode {
  if (!(MODES as readonly string[]).includes(mode))
    throw new AppError('invalid_search_mode', `Search modes are ${MODES.join(', ')}.`);
  if (!served.includes(mode as SearchMode))
    throw new AppError('search_mode_disabled', `This server serves the search modes ${served.join(', ')}.`);
  return mode as SearchMode;
}

/** The mode of a collection that sets none: `vector` if it is served. */
export const defaultMode = (served: readonly SearchMode[]): SearchMode =>
  served.includes('vector') ? 'vector' : (served[0] as SearchMode);

/**
 * The mode of a search: the requested one, else the default of the collection, if the server serves it. A vector is
 * searched in mode vector if the default needs a text; requesting such a mode with a vector is an error.
 */
export function searchMode(
  { modes: served }: SearchSettings,
  { v, like, mode: asked }: SearchInput,
  collection: Collection | undefined,
): SearchMode {
  const byVector = v != null || like != null;
  if (byVector && (asked === 'boost' || asked === 'hybrid')) throw new AppError('search_mode_requires_text');
  const unasked = byVector ? 'vector' : (collection?.search_mode ?? defaultMode(served));
  return servedMode(asked ?? unasked, served);
}

/**
 * The fusion settings of a search. Throws a 422 if fusion is requested in another mode than hybrid; for a missing
 * collection only if a mode was requested too, because its default is unknown.
 */
export function fusionOf(
  settings: SearchSettings,
  { input: { fusion, mode: asked }, mode }: Question,
  exists: boolean,
): FusionSettings {
  if (!fusion) return settings.fusion;
  if (mode !== 'hybrid' && (exists || asked != null))
    throw invalidField(
      ['body', 'fusion'],
      `\`fusion\` applies to mode hybrid only; this search has mode ${mode}.`,
      'fusion_mode',
    );
  return fusionSettings(fusion, settings.fusion);
}
