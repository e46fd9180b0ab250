// Search by GET and by POST. The hits come from the shards as ready JSON and are joined, never parsed again.
// Handlers on the front thread. The route table (routes.ts) names them.
import typia from 'typia';
import type { SearchBody, SearchQuery } from '../../contract/api/search.js';
import { invalidField } from '../../contract/errors.js';
import type { CollectionName, Tenant } from '../../contract/ids.js';
import { K_DEFAULT } from '../../contract/limits.js';
import type { Context } from '../../service/context.js';
import { withFaultCode } from '../../service/fault-code.js';
import { searchCollection, type SearchInput } from '../../service/search.js';
import type { Handler, Reply } from '../route.js';
import { fitting, parseJson } from '../validation.js';
import { collectionOf } from './path.js';

const validateBody = typia.createValidateEquals<SearchBody>();
const validateQuery = typia.createValidate<SearchQuery>();

export const postSearch =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const body = fitting(validateBody(parseJson(await request.body.bytes())), 'body');
    return answer(context, tenant, name, inputOf(body, 'body'));
  };

export const getSearch =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const query = fitting(validateQuery(queryOf(request.query)), 'query');
    return answer(context, tenant, name, inputOf(query, 'query'));
  };

function inputOf({ q, v, k, mode, filters, content_filter: contentFilter }: SearchBody, where: string): SearchInput {
  if ((q == null) === (v == null)) throw invalidField([where], 'exactly one of q and v is wanted', 'value_error');
  if (q?.trim() === '') throw invalidField([where, 'q'], 'the search text is empty', 'too_short', q);
  // Refused, not ignored: an answer that disregards a filter is a wrong answer.
  if (filters != null && Object.keys(filters).length > 0) throw invalidField([where, 'filters'], 'this build does not serve metadata filters yet', 'not_served');
  if (contentFilter != null) throw invalidField([where, 'content_filter'], 'this build does not serve content filters yet', 'not_served');
  return { ...(q == null ? {} : { q }), ...(v == null ? {} : { v }), k: k ?? K_DEFAULT, ...(mode == null ? {} : { mode }) };
}

/** Numbers and booleans of a query string; what is neither is left as text for the validation to refuse. */
function queryOf(query: URLSearchParams): Record<string, unknown> {
  const values: Record<string, unknown> = Object.fromEntries(query);
  if (/^-?\d{1,15}$/.test(query.get('k') ?? '')) values.k = Number(values.k);
  const common = query.get('include_common')?.toLowerCase() ?? '';
  if (['true', '1', 'yes', 'on'].includes(common)) values.include_common = true;
  if (['false', '0', 'no', 'off'].includes(common)) values.include_common = false;
  return values;
}

async function answer(context: Context, tenant: Tenant, name: CollectionName, input: SearchInput): Promise<Reply> {
  const { hits, mode, timing } = await withFaultCode('search_failed', () => searchCollection(context, tenant, name, input));
  const rounded = JSON.stringify(timing, (_, value: unknown) => (typeof value === 'number' ? Math.round(value * 1000) / 1000 : value));
  return { status: 200, jsonParts: [`{"matches":[${hits.join(',')}],"mode":"${mode}","timing":${rounded}`] };
}
