// The search planner: translates the body of a request, with its defaults (input.ts), to requests for the search workers.
// It chooses the mode, parses filters, obtains the query vector, and builds the search of each collection. Runs on front threads and on the main thread.
import type { Language, SearchMode } from '../../api/choices.js';
import type { Collection, Space, SynonymRule } from '../../api/collections.js';
import { refOf } from '../../storage/catalog-commands.js';
import { AppError, invalidField } from '../../api/errors.js';
import { type Filter, parseFilter } from '../../api/filter.js';
import {
  CLAUSES_MAX,
  CLAUSE_TOKENS_MAX,
  DIVERSITY_COST_MAX,
  HIT_COMPONENTS_MAX,
  QUERY_CHARACTERS_MAX,
  QUERY_TOKENS_MAX,
} from '../../api/limits.js';
import { toVector } from '../../api/numbers.js';
import { shardsOf } from '../../api/placement.js';
import type { Diversity, FilteredBy, FusionSettings, SearchParams } from '../../api/search.js';
import type { CancelSignal } from '../../base/signals.js';
import type { QueryText } from '../../embedding/messages.js';
import { BUILTIN, IDENTITY_TYPE } from '../../embedding/spaces.js';
import {
  type CollectionSearch,
  type LexicalSearch,
  type FusedQueries,
  type ResolvedHitOptions,
  type ResultSettings,
  type FusedQuery,
  type SearchFilter,
  type WordMatching,
  depthOf,
} from '../../engine/search/params.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import { fusionSettings } from '../../ranking/scores.js';
import { type TextClauses, readQuery } from '../../text/query-syntax.js';
import { synonymsIn } from '../../text/synonyms.js';
import { type QueryTerms, countedTerms } from '../../text/terms.js';
import { distinctTokens, tokensOf } from '../../text/tokenize.js';
import type { Embedders } from '../embedding/embedders.js';
import type { QueryCache } from '../embedding/query-cache.js';
import { boostSettings } from './boost-by.js';
import { hitFieldsOf } from './hit-fields.js';
import { type SearchInput, type SettledQuery, hitOptions, searchParams } from './input.js';

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
 * The question as it is searched: with `syntax`, its text without signs, and what they demand of texts. Throws a 422 if
 * no word is left.
 */
export function readQuestion(question: Question): Question {
  const { input, filter } = question;
  if (!input.syntax || input.q == null) return question;
  const { text, clauses } = readSyntax(input.q);
  return { ...question, input: { ...input, q: text }, filter: { ...filter, ...(clauses && { clauses }) } };
}

/** The words of a query without signs, and what these demand of texts. Throws as `readQuestion` does. */
export function readSyntax(q: string): { text: string; clauses?: TextClauses } {
  const { text, all, none } = readQuery(q);
  if (text.trim() === '')
    throw invalidField(
      ['body', 'q'],
      'With `syntax`, the text needs a word that is not excluded; to search by exclusions alone, use `sort` and `filters`.',
      'too_short',
      q,
    );
  checkClauses(all, none);
  return all.length + none.length > 0 ? { text, clauses: { all, none } } : { text };
}

/** A filter with what the syntax of the query demands of texts. */
export const withClauses = (
  filter: SearchFilter | undefined,
  clauses: TextClauses,
  { language }: Pick<Collection, 'language'>,
): SearchFilter => ({ filters: [], ...filter, clauses: { ...clauses, language } });

/** Bounds the number of look-ups. */
function checkClauses(all: TextClauses['all'], none: TextClauses['none']): void {
  const phrases = [...all.flat(), ...none];
  const problem =
    phrases.length > CLAUSES_MAX
      ? `With \`syntax\`, at most ${CLAUSES_MAX} words and phrases may be required or excluded.`
      : phrases.some(({ tokens }) => tokens.length > CLAUSE_TOKENS_MAX)
        ? `With \`syntax\`, a phrase may have at most ${CLAUSE_TOKENS_MAX} words.`
        : undefined;
  if (problem) throw invalidField(['body', 'q'], problem, 'too_long');
}

/** Which other words those of the query match; undefined if none. */
export function matchingOf(
  { language, synonyms: rules = [] }: Collection,
  { q, fuzzy, prefix, synonyms }: Pick<SearchInput, 'q' | 'fuzzy' | 'prefix' | 'synonyms'>,
): WordMatching | undefined {
  const usesRules = rules.length > 0 && synonyms !== false;
  if (!fuzzy && !prefix && !usesRules) return undefined;
  const text = wordsOfQuery(q);
  const words = distinctTokens(text, QUERY_TOKENS_MAX);
  const matching: WordMatching = {
    words,
    edits: fuzzy ? (fuzzy === true ? EDITS_MAX : fuzzy.edits) : 0,
    synonyms: usesRules ? synonymsOf(text, words, rules, language) : [],
    language,
  };
  if (prefix && OPEN_END.test(text)) matching.open = words.indexOf(tokensOf(text).at(-1) ?? '');
  return matching;
}

/** Each word of a text with synonyms gets all tokens of each; those of a synonym share its weight. */
function synonymsOf(
  text: string,
  words: readonly string[],
  rules: readonly SynonymRule[],
  language: Language,
): WordMatching['synonyms'] {
  const all = tokensOf(text);
  return synonymsIn(all, rules, language).flatMap(({ at, length, tokens }) =>
    all
      .slice(at, at + length)
      .flatMap((own) =>
        tokens.map((token) => ({ word: words.indexOf(own), token, weight: SYNONYM_WEIGHT / tokens.length })),
      ),
  );
}

/** The weight of a synonym beside the word itself. */
const SYNONYM_WEIGHT = 0.8;

/** The most edits from a word to those that it matches. */
const EDITS_MAX = 2;
/** The last word of such a text may be the beginning of one. */
const OPEN_END = /[\p{L}\p{N}\p{M}]$/u;

/** Throws a 422 for word options in a mode that ranks by vector only. */
export function checkWordMode({ input, mode }: Question, exists: boolean): void {
  const { fuzzy, prefix, mode: asked } = input;
  if (mode !== 'vector' || !(exists || asked != null)) return;
  const option = fuzzy ? 'fuzzy' : prefix ? 'prefix' : undefined;
  if (option)
    throw invalidField(
      ['body', option],
      `\`${option}\` applies to the modes boost and hybrid; this search has mode ${mode}.`,
      'word_mode',
    );
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
  { input, mode, filter: { filter, clauses, filteredBy, within }, isMerged = false }: Question,
  fusion: FusionSettings,
  embedded: Embedded,
): CollectionSearch {
  const { k, q, rerank } = input;
  const search = plainSearch(context, collection, rerank?.depth ?? k, searchParams(input));
  const isEmbedded = !(input.sort || input.like || embedded instanceof Array);
  const { vector, lexical } = isEmbedded ? rankingsOf(collection, mode, fusion, q, embedded) : {};
  search.fusion = fusion;
  search.filteredBy = filteredBy;
  if (vector) search.vector = vector;
  if (lexical) {
    search.lexical = lexical;
    const matching = matchingOf(collection, input);
    if (matching) search.matching = matching;
    search.depth = depthOf(search.k, true);
  }
  if (filter) search.filter = filter;
  if (clauses) search.filter = withClauses(filter, clauses, collection);
  if (rerank) search.withPieces = true;
  const details = detailsOf(collection, input, lexical);
  if (details) search.details = details;
  if (input.sort) {
    search.sort = { field: input.sort.field, descending: input.sort.order === 'desc' };
    if (input.after) search.sort.after = input.after;
  }
  if (input.like) search.like = within ? { ...input.like, within } : input.like;
  if (embedded instanceof Array) search.fused = fusedQueries(context, collection, input, embedded, within);
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
  if (withVector) checkVectors(input, dim);
  const q = input.q ?? undefined;
  const texts = input.queries ? input.queries.flatMap((query) => query.q ?? []) : q === undefined ? [] : [q];
  const marked = (text: string): string[] => termsOf(text, language).terms;
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
    ...(highlight && texts.length > 0 && { highlight: { terms: [...new Set(texts.flatMap(marked))], language } }),
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
function checkVectors({ k, group_by: groupBy, group_size: groupSize }: SearchInput, dim: number): void {
  const hits = groupBy == null ? k : k * (groupSize ?? 1);
  if (hits * dim <= HIT_COMPONENTS_MAX) return;
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
  at = ['body', 'v'],
): Promise<Float32Array | undefined> {
  if (v) return toVector(v, collection.dim, at);
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

/** The vector of a query, or those of several. */
export type Embedded = EmbeddedQuery | EmbeddedPart[];

/** One of several queries, with its mode, its fusion and its vector. */
export interface EmbeddedPart {
  readonly query: SettledQuery;
  readonly mode: SearchMode;
  readonly fusion: FusionSettings;
  readonly vector: EmbeddedQuery;
}

/** Throws as `vectorOf` does for each query, and a 422 for a mode or a fusion that does not fit its query. */
export function embedQueries(
  context: PlanContext,
  collection: Collection,
  { input, caller, filter, mode: ofSearch }: Question,
  queries: readonly SettledQuery[],
): Promise<EmbeddedPart[]> {
  return Promise.all(
    queries.map(async (query, i): Promise<EmbeddedPart> => {
      const at = ['body', 'queries', String(i)];
      const own = { ...query, k: input.k } as SearchInput;
      const mode =
        query.q === undefined || query.mode !== undefined ? searchMode(context.settings, own, undefined) : ofSearch;
      const question = { input: own, caller, filter, mode };
      const fusion = fusionOf(context.settings, question, true, [...at, 'fusion']);
      const vector = query.like ? 'unwanted' : await vectorOf(context, collection, question, fusion, [...at, 'v']);
      return { query, mode, fusion, vector };
    }),
  );
}

/** The rankings of several queries. `within`: the filters of the caller's key, for examples. */
function fusedQueries(
  { settings }: PlanContext,
  collection: Collection,
  { fusion: asked, synonyms }: SearchInput,
  parts: readonly EmbeddedPart[],
  within: Filter[] | undefined,
): FusedQueries {
  const { method, k } = fusionSettings({ method: asked?.method ?? 'rank', k: asked?.k }, settings.fusion) as {
    method: 'rank' | 'score';
    k: number;
  };
  return {
    fusion: method === 'score' ? { method } : { method, k },
    depth: asked?.depth as number,
    queries: parts.map(({ query: { q, like, weight }, mode, fusion, vector }): FusedQuery => {
      if (like) return { fusion, weight, like: within ? { ...like, within } : like };
      const rankings = rankingsOf(collection, mode, fusion, q, vector);
      const matching = rankings.lexical && matchingOf(collection, { q, synonyms });
      return { fusion, weight, ...rankings, ...(matching && { matching }) };
    }),
  };
}

/** Throws as `queryVector` does. If the terms have weight 0, the search does not degrade to ranking by terms. */
export async function vectorOf(
  context: PlanContext,
  collection: Collection,
  { input, caller, mode }: Question,
  { weights }: FusionSettings,
  at?: string[],
): Promise<EmbeddedQuery> {
  if (mode === 'hybrid' && weights.vector === 0) {
    checkHasText(collection);
    return 'unwanted';
  }
  const wordsRank = weights.lexical !== 0;
  return (await queryVector(context, collection, wordsRank ? mode : 'vector', input, caller, at)) ?? 'unavailable';
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
  /** What the syntax of the query demands of texts, if anything. */
  clauses?: TextClauses;
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
  { input: { fusion, queries, mode: asked }, mode }: Question,
  exists: boolean,
  at = ['body', 'fusion'],
): FusionSettings {
  if (!fusion || queries) return settings.fusion;
  if (mode !== 'hybrid' && (exists || asked != null))
    throw invalidField(at, `\`fusion\` applies to mode hybrid only; this search has mode ${mode}.`, 'fusion_mode');
  return fusionSettings(fusion, settings.fusion);
}
