// What a search is narrowed by: the filters of its body, the content filter, and the filters embedded in the caller's
// key, which are ANDed from outside, so that nothing in a body can undo them. Called by the search use case, on the
// front thread.
import type { ContentFilter } from '../contract/api/search.js';
import { AppError } from '../contract/errors.js';
import type { Filter } from '../contract/filter.js';
import type { Narrowing } from '../contract/ranking.js';
import type { Narrowed } from '../contract/api/search.js';
import { fieldsOf } from '../rank/filter-fields.js';
import { parseFilter } from '../rank/parse-filter.js';
import type { SearchSettings } from './context.js';

type RawFilters = Readonly<Record<string, unknown>>;

export interface NarrowingInput {
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
