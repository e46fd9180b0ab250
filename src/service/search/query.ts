// The vector of a search: the one that came with it, or that of its text, from the cache or the embedder; none where
// the embedder does not answer and the words may rank alone. Called by the search use case, on the front thread.
import type { Collection } from '../../api/collections.js';
import type { Language, SearchMode } from '../../api/choices.js';
import { AppError, invalidField } from '../../api/errors.js';
import { type Filter, parseFilter } from '../../api/filter.js';
import { QUERY_CHARACTERS_MAX, QUERY_TEXT_BYTES_MAX, QUERY_TOKENS_MAX } from '../../api/limits.js';
import { toVector } from '../../api/numbers.js';
import type { ContentFilter, FusionSettings, Narrowed, Telling } from '../../api/search.js';
import type { Leaving } from '../../base/signals.js';
import type { QueryText } from '../../embedding/messages.js';
import { BUILTIN, IDENTITY_TYPE } from '../../embedding/spaces.js';
import type { DetailsAsked, LexicalSearch } from '../../engine/search/params.js';
import type { Narrowing } from '../../ranking/hits.js';
import { type QueryTerms, countedTerms } from '../../text/terms.js';
import { distinctTokens } from '../../text/tokenize.js';
import type { Context, SearchSettings } from '../context.js';

/** What is searched for: exactly one of `q` and `v`. */
export interface Sought {
  q?: string;
  v?: ArrayLike<number>;
  /** Who asks, where that is not the tenant of the collection. */
  account?: string;
  /** Aborted when nobody waits for the hits any more. */
  signal?: Leaving;
  /** Of the request, where it is traced. */
  traceparent?: string;
}

/** undefined only in modes that look at words, where `search.degrade` allows it. Throws as searchCollection does. */
export async function queryVector(
  context: Context,
  collection: Collection,
  mode: SearchMode,
  { q, v, account, signal, traceparent }: Sought,
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
    const mayDegrade = context.search.degrade && mode !== 'vector';
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
  { embedders, queryCache }: Context,
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

// What a search ranks by: its vector, its words, or both, as the mode and the weights of its halves say. Called by the
// search use case, on the front thread.

interface Rankings {
  /** Absent: the hits are ranked by words alone, as mode hybrid ranks by them. */
  vector?: Float32Array;
  /** Of modes boost and hybrid. */
  lexical?: LexicalSearch;
}

/** `unwanted`: the vectors weigh nothing. `unavailable`: the embedder does not answer, and the words may rank alone. */
export type EmbeddedQuery = Float32Array | 'unwanted' | 'unavailable';

/** Throws as queryVector does. Words that weigh nothing do not rank alone. */
export async function vectorOf(
  context: Context,
  collection: Collection,
  mode: SearchMode,
  { weights }: FusionSettings,
  sought: Sought,
): Promise<EmbeddedQuery> {
  if (mode === 'hybrid' && weights.vector === 0) {
    checkHasText(collection);
    return 'unwanted';
  }
  return (await queryVector(context, collection, weights.lexical === 0 ? 'vector' : mode, sought)) ?? 'unavailable';
}

/** Where there is no vector, the words rank alone, as they do in mode hybrid. */
export function rankingsOf(
  { language }: Collection,
  mode: SearchMode,
  { weights }: FusionSettings,
  { q }: Sought,
  vector: EmbeddedQuery,
): Rankings {
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
const termsOf = (q: string | undefined, language: Language): QueryTerms =>
  countedTerms(wordsOfQuery(q), QUERY_TOKENS_MAX, language);

/** As much of a query as words are looked for in. */
const wordsOfQuery = (q = ''): string => q.slice(0, QUERY_CHARACTERS_MAX);

// Which fields a filter names, for the match_reason of the hits. Pure.
// Called by the search use case on the front thread.

/** The fields a filter names, each once, in their order. */
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

// What a search is narrowed by: the filters of its body, the content filter, and the filters embedded in the caller's
// key, which are ANDed from outside, so that nothing in a body can undo them. Called by the search use case, on the
// front thread.

type RawFilters = Readonly<Record<string, unknown>>;

interface NarrowingInput {
  filters?: RawFilters;
  contentFilter?: ContentFilter;
  /** Of the actor. */
  embeddedFilters?: RawFilters;
}

export interface NarrowedSearch {
  /** undefined where every chunk may be found. */
  narrowing?: Narrowing;
  /** What the hits tell of it: embedded filters are not told. */
  narrowed: Narrowed;
}

/**
 * Throws a 422 for filters that cannot be, and 403 `auth_forbidden` where those of the key cannot: then nothing may be
 * shown.
 */
export function narrowingOf(
  { stringOperators }: SearchSettings,
  { filters, contentFilter: content, embeddedFilters }: NarrowingInput,
): NarrowedSearch {
  const given = isEmpty(filters) ? [] : [parseFilter(filters, { stringOperators })];
  const embedded = isEmpty(embeddedFilters) ? [] : [parseEmbedded(embeddedFilters)];
  const all = [...embedded, ...given];
  return {
    ...((all.length > 0 || content) && { narrowing: { filters: all, ...(content && { content }) } }),
    narrowed: { fields: given.flatMap(fieldsOf), ...(content && { contentOp: content.op }) },
  };
}

const isEmpty = (filters: RawFilters | undefined): filters is undefined =>
  filters === undefined || Object.keys(filters).length === 0;

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

// Which mode a search runs in: what it asks for, else the collection's default, if the instance serves it. Pure.
// Called by the search use case, on the front thread.

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
 * A collection whose default wants a text answers a vector in mode vector; asking for such a mode with a vector is
 * refused.
 */
export function searchMode(
  asked: string | undefined,
  byVector: boolean,
  collection: Collection | undefined,
  served: readonly SearchMode[],
): SearchMode {
  if (byVector && (asked === 'boost' || asked === 'hybrid')) throw new AppError('search_mode_requires_text');
  const unasked = byVector ? 'vector' : (collection?.search_mode ?? defaultMode(served));
  return servedMode(asked ?? unasked, served);
}

// What the hits of a search are asked to tell beside their score: its parts, their relevance, the best passage. Made
// from what the search ranks by, on the front thread; the search workers answer it. Called by search.ts.

/** undefined where nothing is asked for. A relevance looks at words whatever the mode does. */
export function detailsOf(
  { language }: Collection,
  { explain, relevance, highlight }: Telling,
  q: string | undefined,
  { lexical }: Rankings,
): DetailsAsked | undefined {
  if (!explain && !relevance && !highlight) return undefined;
  const ranked = lexical?.mode === 'hybrid' ? { terms: lexical.terms, counts: lexical.counts } : undefined;
  const words = ranked ?? (relevance && q !== undefined ? termsOf(q, language) : undefined);
  return {
    explain,
    relevance,
    ...(words && { words }),
    ...(highlight && q !== undefined && { highlight: { terms: termsOf(q, language).terms, language } }),
  };
}

// The bound of the text of a search: what it costs to embed and to rank, and what the query log keeps of it, goes with
// its length. Asked by the search endpoints, and by a replay, for what was logged before there was a bound. Pure.

/** Throws a 422 about the field `at`. */
export function checkQueryText(at: string[], text: string): void {
  if (text.length * 3 > QUERY_TEXT_BYTES_MAX && Buffer.byteLength(text) > QUERY_TEXT_BYTES_MAX)
    throw invalidField(at, `a text has at most ${QUERY_TEXT_BYTES_MAX} bytes of UTF-8`, 'too_long');
}
