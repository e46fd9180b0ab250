// The body of a search with its defaults, and the checks that its fields go together. Pure functions.
import { invalidField } from '../../api/errors.js';
import { isWellFormed } from '../../api/ids.js';
import {
  CONTEXT_CHUNKS_MAX,
  K_DEFAULT,
  K_MAX,
  QUERY_TEXT_BYTES_MAX,
  REACH_MAX,
  RERANK_DEPTH_DEFAULT,
} from '../../api/limits.js';
import { vectorOfBase64 } from '../../api/numbers.js';
import type {
  Diversity,
  FusedQuery,
  Fusion,
  HitOptions,
  Like,
  LoggedWords,
  Rerank,
  RerankSettings,
  ResultOptions,
  SearchBody,
  SearchParams,
  Sort,
  WordOptions,
} from '../../api/search.js';
import type { LikeSettings, SortPosition } from '../../engine/search/params.js';
import type { LoggedFusedQuery } from '../../storage/query-log-commands.js';
import { settledBoost } from './boost-by.js';
import { checkHitFields } from './hit-fields.js';

/** The validated body of a search with its defaults. null counts as absent. */
export interface SearchInput
  extends Omit<SearchBody, 'k' | 'v' | 'v_base64' | 'rerank' | 'with_text' | 'sort' | 'like' | 'queries'> {
  k: number;
  v?: ArrayLike<number> | null;
  /** The depth is at least k. */
  rerank?: RerankSettings | null;
  like?: Omit<LikeSettings, 'within'> | null;
  /** Beside them, `fusion` has a depth and no weights. */
  queries?: SettledQuery[] | null;
  sort?: { field: string; order: 'asc' | 'desc' } | null;
  /** The last hit of the page before, for a sorted search with a cursor. */
  after?: SortPosition;
  /** The time that counts as `now`, for a search with a cursor that of its first page. */
  nowMs?: number;
}

/** One of several queries, with exactly one of `q`, `v` and `like`. */
export interface SettledQuery extends Pick<SearchInput, 'v' | 'like'> {
  q?: string;
  mode?: string;
  fusion?: Fusion;
  weight: number;
}

/**
 * Applies the defaults to a body, in place. Throws a 422 for fields that do not go together. `at` is where the fields
 * stand in the request; `vector` is the value of `v` or `v_base64` if it was parsed separately.
 */
export function settledInput(body: SearchBody, at: 'body' | 'query', vector?: Float32Array): SearchInput {
  const { q, v, v_base64: base64, content_filter: content, rerank, fusion, ef, exact } = body;
  const input = body as SearchInput;
  const given = [q, v, base64, vector, body.like, body.queries, body.sort].filter((value) => value != null).length;
  if (given !== 1)
    throw invalidField(
      [at],
      'Provide exactly one of `q`, `v`, `v_base64`, `like`, `queries` and `sort`.',
      'value_error',
    );
  if (base64 != null) input.v = vectorOfBase64(base64, [at, 'v_base64']);
  else if (vector) input.v = vector;
  if (q != null) checkText([at, 'q'], q);
  if (content != null) checkQueryText([at, 'content_filter', 'value'], content.value);
  if (q == null) checkWithoutText(body);
  input.k = body.k ?? K_DEFAULT;
  if (rerank != null) input.rerank = rerankSettings(rerank, input.k, body.offset ?? 0);
  if (body.offset != null || body.cursor != null) checkPage(body, input.k);
  if (body.like != null) input.like = likeOf(body.like, [at, 'like']);
  if (body.queries != null) settleQueries(input, body, body.queries);
  else if (fusion != null) checkFusion(fusion, [at, 'fusion']);
  if (body.diversity != null) input.diversity = diversityOf(body, body.diversity, input.k);
  if (body.boost_by != null) input.boost_by = settledBoost(input, body.boost_by);
  if (body.context) checkContext(body.context, input.k);
  if (body.sort != null) input.sort = sortOf(body, body.sort);
  if (body.group_by != null || body.group_size != null) checkGroups(body, input.k);
  if (body.with_text != null) settleText(body);
  if (body.include) checkHitFields(body.include, [at, 'include']);
  if (body.exclude) checkHitFields(body.exclude, [at, 'exclude']);
  if (ef != null && exact)
    throw invalidField(
      [at, 'ef'],
      'Provide only one of `ef` and `exact`; an exact search does not use the graph.',
      'value_error',
      ef,
    );
  return input;
}

/** Throws a 422 for the field `at` if the text is empty or too long. */
export function checkText(at: string[], text: string, name = 'search text'): void {
  checkQueryText(at, text);
  if (text.trim() === '') throw invalidField(at, `The ${name} must not be empty.`, 'too_short', text);
}

/**
 * Checks the length of a query text, which bounds the cost of embedding, ranking and logging it. Throws a 422 for the
 * field `at`.
 */
export function checkQueryText(at: string[], text: string): void {
  if (text.length * 3 > QUERY_TEXT_BYTES_MAX && Buffer.byteLength(text) > QUERY_TEXT_BYTES_MAX)
    throw invalidField(at, `The text must have at most ${QUERY_TEXT_BYTES_MAX} bytes of UTF-8.`, 'too_long');
}

/** Throws a 422 for word options of a body that has no text. */
export function checkWithoutText(body: { [Name in keyof WordOptions]?: WordOptions[Name] | null }): void {
  const option = (['fuzzy', 'prefix', 'syntax'] as const).find((name) => body[name]);
  if (option)
    throw invalidField(
      ['body', option],
      `\`${option}\` applies to the words of \`q\`; search by \`q\`.`,
      'value_error',
    );
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

function likeOf({ docids, chunks, not }: Like, at: string[]): NonNullable<SearchInput['like']> {
  const like = {
    docids: docids ?? [],
    chunks: chunks ?? [],
    not: { docids: not?.docids ?? [], chunks: not?.chunks ?? [] },
  };
  if (like.docids.length + like.chunks.length === 0)
    throw invalidField(at, 'Provide at least one id in `docids` or `chunks`.', 'too_short');
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

/** The fusion of the halves of mode hybrid. */
function checkFusion({ method, k, weights, depth }: Fusion, place: string[]): void {
  const at = (name: string): string[] => [...place, name];
  checkConstant(method, k, at('k'));
  if (depth != null) throw invalidField(at('depth'), '`depth` applies to `queries` only.', 'value_error', depth);
  if (weights && weights.vector + weights.lexical === 0)
    throw invalidField(at('weights'), 'At least one of the weights must be greater than 0.', 'value_error');
}

function checkConstant(method: Fusion['method'], k: number | null | undefined, at: string[]): void {
  if (method === 'score' && k != null) throw invalidField(at, '`k` applies to method `rank` only.', 'value_error', k);
}

/** The fields that a search by several queries does not have. */
const OF_ONE_QUERY = ['rerank', 'relevance', 'min_relevance', 'include_common'] as const;

function settleQueries(input: SearchInput, body: SearchBody, queries: readonly FusedQuery[]): void {
  const other = OF_ONE_QUERY.find((name) => body[name] != null && body[name] !== false);
  if (other)
    throw invalidField(['body', other], `\`${other}\` applies to a search by one query; leave it out.`, 'value_error');
  input.queries = queries.map((query, i) => settledQuery(query, ['body', 'queries', String(i)]));
  if (input.queries.every(({ weight }) => weight === 0))
    throw invalidField(['body', 'queries'], 'At least one of the weights must be greater than 0.', 'value_error');
  input.fusion = queriesFusion(body.fusion ?? { method: 'rank' }, input);
}

function settledQuery({ q, v, v_base64: base64, like, mode, fusion, weight }: FusedQuery, at: string[]): SettledQuery {
  if ([q, v, base64, like].filter((value) => value != null).length !== 1)
    throw invalidField(at, 'Provide exactly one of `q`, `v`, `v_base64` and `like`.', 'value_error');
  const query: SettledQuery = { weight: weight ?? 1 };
  if (q != null) {
    checkText([...at, 'q'], q);
    query.q = q;
  }
  if (base64 != null) query.v = vectorOfBase64(base64, [...at, 'v_base64']);
  else if (v != null) query.v = v;
  if (like != null) query.like = likeOf(like, [...at, 'like']);
  if (mode != null) query.mode = mode;
  if (fusion != null) {
    checkFusion(fusion, [...at, 'fusion']);
    query.fusion = fusion;
  }
  return query;
}

/** How the queries are fused, with the number of hits of each. */
function queriesFusion({ method, k: constant, weights, depth }: Fusion, { k, offset }: SearchInput): Fusion {
  const at = (name: string): string[] => ['body', 'fusion', name];
  checkConstant(method, constant, at('k'));
  if (weights != null)
    throw invalidField(at('weights'), 'Beside `queries`, give each query its `weight` instead.', 'value_error');
  const fused = depth ?? Math.min(K_MAX, Math.max(RERANK_DEPTH_DEFAULT, 5 * k));
  const least = (offset ?? 0) + k;
  if (fused < least)
    throw invalidField(
      at('depth'),
      `Should be at least \`offset + k\`, which is ${least}.`,
      'greater_than_equal',
      depth,
    );
  return { method, ...(constant != null && { k: constant }), depth: fused };
}

/** The index search parameters of a body. */
export function searchParams({ ef, exact }: SearchInput): SearchParams {
  const params: SearchParams = {};
  if (ef != null) params.ef = ef;
  if (exact) params.exact = true;
  return params;
}

/** The word options of a body, as far as they are not the defaults. */
export function wordOptions({ fuzzy, prefix, synonyms, syntax }: SearchInput): LoggedWords {
  const options: LoggedWords = {};
  if (fuzzy) options.fuzzy = fuzzy;
  if (prefix) options.prefix = true;
  if (synonyms === false) options.synonyms = false;
  if (syntax) options.syntax = true;
  return options;
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

/** A query as plain JSON, with its vector as base64 of float32. */
export function loggedQuery({ v, ...query }: SettledQuery): LoggedFusedQuery {
  const { q, like, mode, fusion, weight } = query;
  const logged: LoggedFusedQuery = { weight };
  if (q !== undefined) logged.q = q;
  if (v) logged.v_base64 = Buffer.from(Float32Array.from(v).buffer).toString('base64');
  if (like) logged.like = like;
  if (mode !== undefined) logged.mode = mode;
  if (fusion) logged.fusion = fusion;
  return logged;
}

/** The query that `loggedQuery` was given. */
export function queryOfLog({ v_base64: base64, ...query }: LoggedFusedQuery): SettledQuery {
  return base64 === undefined ? query : { ...query, v: vectorOfBase64(base64, ['queries', 'v_base64']) };
}
