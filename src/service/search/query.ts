// The planner of searches, between the body of a request and what the search workers are asked: the rules between the
// fields of a body and their defaults, the mode, the filters, the vector of a text, and the search of each collection.
// Front thread.
import type { Language, SearchMode } from '../../api/choices.js';
import type { Collection } from '../../api/collections.js';
import { refOf } from '../../storage/catalog-commands.js';
import { AppError, invalidField } from '../../api/errors.js';
import { type Filter, parseFilter } from '../../api/filter.js';
import {
  K_DEFAULT,
  QUERY_CHARACTERS_MAX,
  QUERY_TEXT_BYTES_MAX,
  QUERY_TOKENS_MAX,
  RERANK_DEPTH_DEFAULT,
} from '../../api/limits.js';
import { toVector } from '../../api/numbers.js';
import type {
  Fusion,
  FusionSettings,
  HitOptions,
  Narrowed,
  Rerank,
  RerankSettings,
  SearchBody,
  SearchParams,
} from '../../api/search.js';
import type { Leaving } from '../../base/signals.js';
import type { QueryText } from '../../embedding/messages.js';
import { BUILTIN, IDENTITY_TYPE } from '../../embedding/spaces.js';
import type { CollectionSearch, DetailsAsked, LexicalSearch, Narrowing } from '../../engine/search/params.js';
import { fusionSettings } from '../../ranking/scores.js';
import { type QueryTerms, countedTerms } from '../../text/terms.js';
import { distinctTokens } from '../../text/tokenize.js';
import type { Embedders } from '../embedding/embedders.js';
import type { QueryCache } from '../embedding/query-cache.js';

/** What a search is planned with. */
export interface PlanContext {
  readonly embedders: Pick<Embedders, 'embedQuery'>;
  readonly queryCache: Pick<QueryCache, 'vectorOf'>;
  readonly settings: SearchSettings;
}

/** What the server says of searches. */
export interface SearchSettings {
  /** Those that are served. */
  readonly modes: readonly SearchMode[];
  readonly boostWeight: number;
  readonly stringOperators: boolean;
  /** Of mode hybrid, where a search does not say. */
  readonly fusion: FusionSettings;
  /** Whether modes boost and hybrid answer by words alone while the embedder does not answer. */
  readonly degrade: boolean;
}

/** The body of a search with its defaults, whose fields go together. `null` counts as absent. */
export interface SearchInput extends Omit<SearchBody, 'k' | 'v' | 'rerank'> {
  k: number;
  v?: ArrayLike<number> | null;
  /** The depth is at least k. */
  rerank?: RerankSettings | null;
}

/** Who searches. */
export interface Caller {
  /** Whose share of the embedders is used, where that is not the tenant of the collection. */
  account?: string;
  /** Of the caller's key: ANDed to everything. */
  embeddedFilters?: RawFilters;
  /** Aborted when nobody waits for the hits any more. */
  signal?: Leaving;
  /** Of the request, where it is traced. */
  traceparent?: string;
}

type RawFilters = Readonly<Record<string, unknown>>;

/**
 * Gives a body, which it takes as its own, its defaults. Throws a 422 for fields that do not go together. `at`: where
 * they stand in the request. `vector`: what was read of `v` aside.
 */
export function settledInput(body: SearchBody, at: 'body' | 'query', vector?: Float32Array): SearchInput {
  const { q, content_filter: content, rerank, fusion, ef, exact } = body;
  const input = body as SearchInput;
  if (vector) input.v = vector;
  if ((q == null) === (input.v == null)) throw invalidField([at], 'exactly one of q and v is wanted', 'value_error');
  if (q != null) checkQueryText([at, 'q'], q);
  if (q?.trim() === '') throw invalidField([at, 'q'], 'the search text is empty', 'too_short', q);
  if (content != null) checkQueryText([at, 'content_filter', 'value'], content.value);
  input.k = body.k ?? K_DEFAULT;
  if (rerank != null) input.rerank = rerankSettings(rerank, input.k);
  if (fusion != null) checkFusion(fusion);
  if (ef != null && exact)
    throw invalidField([at, 'ef'], 'an exact search walks no graph: one of ef and exact is wanted', 'value_error', ef);
  return input;
}

/**
 * The bound of the text of a search: what it costs to embed and to rank, and what the query log keeps of it, goes with
 * its length. Throws a 422 about the field `at`.
 */
export function checkQueryText(at: string[], text: string): void {
  if (text.length * 3 > QUERY_TEXT_BYTES_MAX && Buffer.byteLength(text) > QUERY_TEXT_BYTES_MAX)
    throw invalidField(at, `a text has at most ${QUERY_TEXT_BYTES_MAX} bytes of UTF-8`, 'too_long');
}

function rerankSettings({ instance, depth }: Rerank, k: number): RerankSettings {
  if (depth != null && depth < k)
    throw invalidField(
      ['body', 'rerank', 'depth'],
      `the depth should be at least k, which is ${k}`,
      'greater_than_equal',
      depth,
    );
  return { instance, depth: depth ?? Math.max(RERANK_DEPTH_DEFAULT, k) };
}

function checkFusion({ method, k, weights }: Fusion): void {
  const at = (...place: string[]): string[] => ['body', 'fusion', ...place];
  if (method === 'score' && k != null) throw invalidField(at('k'), 'k is of method rank', 'value_error', k);
  if (weights && weights.vector + weights.lexical === 0)
    throw invalidField(at('weights'), 'one of the weights should be more than 0', 'value_error');
}

/** What a body says of how the index is searched. */
export function searchParams({ ef, exact }: SearchInput): SearchParams {
  const params: SearchParams = {};
  if (ef != null) params.ef = ef;
  if (exact) params.exact = true;
  return params;
}

/** What a body wants its hits to tell. */
export function hitOptions({ explain, relevance, highlight }: SearchInput): HitOptions {
  const options: HitOptions = {};
  if (explain) options.explain = true;
  if (relevance) options.relevance = true;
  if (highlight) options.highlight = true;
  return options;
}

/** A search as it is made in each of its collections. */
export interface Question {
  readonly input: SearchInput;
  readonly caller: Caller;
  readonly mode: SearchMode;
  readonly filter: NarrowedSearch;
}

/** How deep each ranking is taken in modes boost and hybrid: this many times k, and at least the minimum. */
const CANDIDATES_PER_K = 5;
const CANDIDATES_MIN = 50;

/**
 * A search of one collection as the workers are asked for it. Field by field: a literal that spreads what is there takes
 * many times as long.
 */
export function planSearch(
  context: PlanContext,
  collection: Collection,
  { input, mode, filter: { narrowing, narrowed } }: Question,
  fusion: FusionSettings,
  embedded: EmbeddedQuery,
): CollectionSearch {
  const { k, q, rerank } = input;
  const search = plainSearch(context, collection, rerank?.depth ?? k, searchParams(input));
  const { vector, lexical } = rankingsOf(collection, mode, fusion, q, embedded);
  search.fusion = fusion;
  search.narrowed = narrowed;
  if (vector) search.vector = vector;
  if (lexical) {
    search.lexical = lexical;
    search.depth = Math.max(CANDIDATES_MIN, CANDIDATES_PER_K * search.k);
  }
  if (narrowing) search.narrowing = narrowing;
  if (rerank) search.withParts = true;
  const details = detailsOf(collection, input, lexical);
  if (details) search.details = details;
  return search;
}

/** A search for the k best that is neither narrowed nor ranked by anything yet: whoever makes it sets what it wants. */
export function plainSearch(
  { settings: { boostWeight, fusion } }: Pick<PlanContext, 'settings'>,
  collection: Collection,
  k: number,
  params: SearchParams,
): CollectionSearch {
  const { tenant, name, priority_key: priorityKey } = collection;
  const head = `{"tenant":${JSON.stringify(tenant)},"collection":${JSON.stringify(name)},`;
  return {
    collection: refOf(collection),
    head,
    priorityKey,
    k,
    depth: k,
    params,
    narrowed: { fields: [] },
    fusion,
    boostWeight,
  };
}

/** undefined where nothing is asked for. A relevance looks at words whatever the mode does. */
function detailsOf(
  { language }: Collection,
  input: SearchInput,
  lexical: LexicalSearch | undefined,
): DetailsAsked | undefined {
  const { explain, relevance, highlight } = input;
  if (!explain && !relevance && !highlight) return undefined;
  const q = input.q ?? undefined;
  const ranked = lexical?.mode === 'hybrid' ? { terms: lexical.terms, counts: lexical.counts } : undefined;
  const words = ranked ?? (relevance && q !== undefined ? termsOf(q, language) : undefined);
  return {
    explain: explain === true,
    relevance: relevance === true,
    ...(words && { words }),
    ...(highlight && q !== undefined && { highlight: { terms: termsOf(q, language).terms, language } }),
  };
}

/** undefined only in modes that look at words, where `search.degrade` allows it. Throws as searchCollection does. */
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
    return await vectorOfText(
      context,
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

/** Throws `vectors_only` for a collection that no text can be sought in. */
function checkHasText({ embedder_type: type }: Collection): void {
  if (type === IDENTITY_TYPE)
    throw new AppError('vectors_only', 'The collection holds vectors only: search it with `v`.');
}

/**
 * The built-in embedder is not worth a cache: its share of a search is no greater than what looking up and keeping
 * take.
 */
async function vectorOfText(
  { embedders, queryCache }: PlanContext,
  collection: Collection,
  query: QueryText,
  owner: string,
  signal?: Leaving,
): Promise<Float32Array> {
  const embed = (until?: Leaving): Promise<Float32Array> =>
    embedders.embedQuery(collection, query, collection.tenant, until);
  if (collection.embedder_type === BUILTIN.space.embedder_type) return embed(signal);
  return queryCache.vectorOf({ owner, space: collection.vector_space_key, text: query.text }, embed, signal);
}

/** `unwanted`: the vectors weigh nothing. `unavailable`: the embedder does not answer, and the words may rank alone. */
export type EmbeddedQuery = Float32Array | 'unwanted' | 'unavailable';

/** Throws as queryVector does. Words that weigh nothing do not rank alone. */
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
 * What a search ranks by: its vector, its words, or both, as the mode and the weights of its halves say. Where there is
 * no vector, the words rank alone, as they do in mode hybrid.
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
const termsOf = (q: string | null | undefined, language: Language): QueryTerms =>
  countedTerms(wordsOfQuery(q), QUERY_TOKENS_MAX, language);

/** As much of a query as words are looked for in. */
const wordsOfQuery = (q: string | null | undefined): string => (q ?? '').slice(0, QUERY_CHARACTERS_MAX);

/** The fields a filter names, each once, in their order: for the match_reason of the hits. */
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

export interface NarrowedSearch {
  /** undefined where every chunk may be found. */
  narrowing?: Narrowing;
  /** What the hits tell of it: embedded filters are not told. */
  narrowed: Narrowed;
}

/**
 * What a search is narrowed by: the filters of its body, the content filter, and the filters embedded in the caller's
 * key, which are ANDed from outside, so that nothing in a body can undo them. Throws a 422 for filters that cannot be,
 * and 403 `auth_forbidden` where those of the key cannot: then nothing may be shown.
 */
export function narrowingOf(
  { stringOperators }: SearchSettings,
  { filters, content_filter: content }: SearchInput,
  { embeddedFilters }: Caller,
): NarrowedSearch {
  const given = isEmpty(filters) ? [] : [parseFilter(filters, { stringOperators })];
  const embedded = isEmpty(embeddedFilters) ? [] : [parseEmbedded(embeddedFilters)];
  const all = [...embedded, ...given];
  return {
    ...((all.length > 0 || content) && { narrowing: { filters: all, ...(content && { content }) } }),
    narrowed: { fields: given.flatMap(fieldsOf), ...(content && { contentOp: content.op }) },
  };
}

const isEmpty = (filters: RawFilters | null | undefined): filters is null | undefined =>
  filters == null || Object.keys(filters).length === 0;

/**
 * Strings are literal here whatever the setting: an application puts the names of its users into them. Ids of users
 * that are numbers too long for one were read by others, who do not tell neighbours apart.
 */
function parseEmbedded(filters: RawFilters): Filter {
  try {
    return parseFilter(filters, { stringOperators: false, safeNumbers: true });
  } catch (error) {
    throw error instanceof AppError ? new AppError('auth_forbidden', 'The filters of the key are not valid.') : error;
  }
}

const MODES: readonly SearchMode[] = ['vector', 'boost', 'hybrid'];

/** A mode this instance serves. Throws `invalid_search_mode` or `search_mode_disabled`. */
export function servedMode(mode: string, served: readonly SearchMode[]): SearchMode {
  if (!(MODES as readonly string[]).includes(mode))
    throw new AppError('invalid_search_mode', `Search modes are ${MODES.join(', ')}.`);
  if (!served.includes(mode as SearchMode))
    throw new AppError('search_mode_disabled', `This instance serves: ${served.join(', ')}.`);
  return mode as SearchMode;
}

/** The mode of what names none: `vector` where it is served. */
export const defaultMode = (served: readonly SearchMode[]): SearchMode =>
  served.includes('vector') ? 'vector' : (served[0] as SearchMode);

/**
 * The mode a search runs in: the one it asks for, else the collection's default, if the instance serves it. A collection
 * whose default wants a text answers a vector in mode vector; asking for such a mode with a vector is refused.
 */
export function searchMode(
  { modes: served }: SearchSettings,
  { v, mode: asked }: SearchInput,
  collection: Collection | undefined,
): SearchMode {
  const byVector = v != null;
  if (byVector && (asked === 'boost' || asked === 'hybrid')) throw new AppError('search_mode_requires_text');
  const unasked = byVector ? 'vector' : (collection?.search_mode ?? defaultMode(served));
  return servedMode(asked ?? unasked, served);
}

/**
 * How the halves of a search are fused. Throws a 422 for a fusion that is asked of another mode, unless nothing is known
 * of the mode: a missing collection may have any.
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
      `fusion is of mode hybrid, and this search is of mode ${mode}`,
      'fusion_mode',
    );
  return fusionSettings(fusion, settings.fusion);
}
