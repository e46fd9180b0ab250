// Use cases of judgement sets, which the catalog stores for evaluations of searches. Runs on the main thread.
import type { JUDGEMENT_ROUTES, JudgedQuery, JudgementSet, StoredJudgementSet } from '../../api/judgements.js';
import { invalidField } from '../../api/errors.js';
import { type CollectionName, type Tenant, asDocId } from '../../api/ids.js';
import { JUDGEMENTS_MAX } from '../../api/limits.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import type { UseCases } from '../use-case.js';
import type { CatalogContext } from './catalog-changes.js';

export interface JudgementsContext {
  readonly store: Pick<CatalogContext, 'catalog' | 'shards' | 'nowMs'>;
}

export const judgementUseCases = ({ store }: JudgementsContext): UseCases<typeof JUDGEMENT_ROUTES> => {
  const logOf = (tenant: Tenant, name: CollectionName) => logIdOf(store.catalog.get(tenant, name));
  return {
    listJudgementSets: async ({ tenant, name }) => {
      const sets = await store.shards.request(0, 'listJudgementSets', { log: logOf(tenant, name) });
      return { tenant, collection: name, sets, count: sets.length };
    },
    getJudgementSet: ({ tenant, name, set }) =>
      store.shards.request(0, 'getJudgementSet', { log: logOf(tenant, name), set }),
    deleteJudgementSet: async ({ tenant, name, set }) => {
      await store.shards.request(0, 'deleteJudgementSet', { log: logOf(tenant, name), set });
      return { tenant, collection: name, deleted: set };
    },
  };
};

/** Stores a set in place of the one of its name. Throws as `judgementSetOf` does. */
export async function putJudgementSet(
  { store }: JudgementsContext,
  tenant: Tenant,
  name: CollectionName,
  set: string,
  queries: JudgedQuery[],
): Promise<StoredJudgementSet> {
  const { id } = store.catalog.get(tenant, name);
  const stored = judgementSetOf(set, queries, new Date(store.nowMs()).toISOString());
  const collection = { tenant, name: store.catalog.nameOf(tenant, name), id };
  await store.shards.request(0, 'putJudgementSet', { collection, set: stored });
  const { queries: _, ...summary } = stored;
  return { tenant, collection: name, ...summary };
}

/** A set as it is stored. Throws 422 for queries with the same id and for too many judgements. */
export function judgementSetOf(set: string, queries: JudgedQuery[], updatedAt: string): JudgementSet {
  const ids = new Set<string>();
  let judged = 0;
  for (const [n, query] of queries.entries()) {
    if (ids.has(query.id))
      throw invalidField(['body', 'queries', n, 'id'], 'Another query has this id.', 'value_error');
    ids.add(query.id);
    for (const docid of Object.keys(query.judgements)) asDocId(docid);
    judged += Object.keys(query.judgements).length;
  }
  if (judged > JUDGEMENTS_MAX)
    throw invalidField(['body', 'queries'], `A set has at most ${JUDGEMENTS_MAX} judgements.`, 'too_long');
  return { set, updated_at: updatedAt, query_count: queries.length, judgement_count: judged, queries };
}
