// Use case that counts the chunks of a collection that match, and the values of their metadata. Runs on the main thread.
import type { CountAnswer, CountBody, COUNT_ROUTES, Facet, FacetBody, RangeBody } from '../../api/count.js';
import { invalidField } from '../../api/errors.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import { FACET_SIZE_DEFAULT } from '../../api/limits.js';
import { timeOf } from '../../api/numbers.js';
import { shardsOf } from '../../api/placement.js';
import type { FacetWish, RangeWish } from '../../engine/search/facets.js';
import { refOf } from '../../storage/catalog-commands.js';
import type { Catalog } from '../collections/catalog.js';
import { type Caller as UseCaseCaller, type UseCases, withErrorCode } from '../use-case.js';
import { checkQueryText, checkWithoutText } from './input.js';
import { type SearchSettings, matchingOf, readSyntax, searchFilterOf, termsOf, withClauses } from './query.js';
import { type CountContext, countShards } from './shards.js';

export interface CountsContext extends CountContext {
  readonly catalog: Pick<Catalog, 'get'>;
  readonly settings: Pick<SearchSettings, 'stringOperators'>;
}

export const countUseCases = (context: CountsContext): UseCases<typeof COUNT_ROUTES> => ({
  countChunks: ({ tenant, name, body }, caller) =>
    withErrorCode('search_failed', () => countChunks(context, tenant, name, body, caller)),
});

/** Throws 404 `collection_not_found`, 422 for an invalid filter or range. */
async function countChunks(
  context: CountsContext,
  tenant: Tenant,
  name: CollectionName,
  { q, filters, content_filter: content, facets, fuzzy, prefix, synonyms, syntax }: CountBody,
  { actor, cancelSource }: Pick<UseCaseCaller, 'actor' | 'cancelSource'>,
): Promise<CountAnswer> {
  const collection = context.catalog.get(tenant, name);
  if (q == null) checkWithoutText({ fuzzy, prefix, synonyms, syntax });
  else checkQueryText(['body', 'q'], q);
  const { text, clauses } = q != null && syntax ? readSyntax(q) : { text: q };
  if (content != null) checkQueryText(['body', 'content_filter', 'value'], content.value);
  const { filter } = searchFilterOf(
    context.settings,
    { filters: filters ?? null, content_filter: content ?? null },
    actor.filters ? { embeddedFilters: actor.filters } : {},
  );
  const wishes = (facets ?? []).map(facetOf);
  const count = {
    collection: refOf(collection),
    shards: shardsOf(collection, context.shards.size),
    filter: clauses ? withClauses(filter, clauses, collection) : filter,
    terms: text == null ? undefined : termsOf(text, collection.language).terms,
    matching: text == null ? undefined : matchingOf(collection, { q: text, fuzzy, prefix, synonyms }),
    facets: wishes.map(({ wish }) => wish),
  };
  const counted = await countShards(context, count, collection.tenant, cancelSource);
  return {
    tenant,
    collection: name,
    count: counted.chunks,
    facets: counted.facets.map(({ ranges, ...facet }, i): Facet => {
      const { wish, bounds } = wishes[i] as AskedFacet;
      const inRanges = bounds.map((range, n) => ({ ...range, count: ranges[n] as number }));
      return { field: wish.field, ...facet, ...(bounds.length > 0 && { ranges: inRanges }) };
    }),
  };
}

/** A facet with the bounds of its ranges as the request has them. */
interface AskedFacet {
  readonly wish: FacetWish;
  readonly bounds: { from?: number | string; to?: number | string }[];
}

function facetOf(asked: string | FacetBody, i: number): AskedFacet {
  const { field, size, ranges } = typeof asked === 'string' ? { field: asked } : asked;
  const bounds = (ranges ?? []).map(({ from, to }) => ({ ...(from != null && { from }), ...(to != null && { to }) }));
  return {
    wish: {
      field,
      size: size ?? FACET_SIZE_DEFAULT,
      ranges: (ranges ?? []).map((range, n) => rangeOf(range, ['body', 'facets', i, 'ranges', n])),
    },
    bounds,
  };
}

function rangeOf({ from, to }: RangeBody, at: (string | number)[]): RangeWish {
  const bounds = [from, to].filter((bound) => bound != null);
  if (bounds.length === 0) throw invalidField(at, 'Give `from`, `to` or both.', 'value_error');
  if (bounds.every((bound) => typeof bound === 'number'))
    return { by: 'number', ...(from != null && { from: from as number }), ...(to != null && { to: to as number }) };
  const [fromMs, toMs] = [from, to].map((bound) => (typeof bound === 'string' ? timeOf(bound) : undefined));
  if ((from != null && fromMs === undefined) || (to != null && toMs === undefined))
    throw invalidField(at, 'Bounds should be numbers, or both ISO 8601 dates or times.', 'value_error');
  return { by: 'time', ...(fromMs !== undefined && { from: fromMs }), ...(toMs !== undefined && { to: toMs }) };
}
