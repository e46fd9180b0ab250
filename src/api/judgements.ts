// Judgement sets of a collection: queries with the documents that are right for them, by which searches are evaluated.
import typia, { type tags } from 'typia';
import { JUDGED_QUERIES_MAX, JUDGEMENTS_MAX } from './limits.js';
import { COLLECTION, json, jsonRoute, ownRoute, routes } from './route.js';

export interface JudgedQuery {
  /** Id of the query, unique in the set. */
  id: string & tags.MinLength<1> & tags.MaxLength<256>;
  /** The text to search for. */
  text: string & tags.MinLength<1>;
  /** Grades by document id: 0 is not relevant, a higher one is more so. */
  judgements: Record<string, number & tags.Minimum<0> & tags.Maximum<100>>;
}

export interface JudgementSetBody {
  queries: JudgedQuery[];
}

export interface JudgementSetSummary {
  set: string;
  updated_at: string;
  /** Number of queries. */
  query_count: number;
  /** Number of judged documents of all queries. */
  judgement_count: number;
}

export interface StoredJudgementSet extends JudgementSetSummary {
  tenant: string;
  collection: string;
}

export interface JudgementSet extends JudgementSetSummary {
  queries: JudgedQuery[];
}

export interface JudgementSetList {
  tenant: string;
  collection: string;
  sets: JudgementSetSummary[];
  count: number;
}

export interface DeletedJudgementSet {
  tenant: string;
  collection: string;
  /** The set that was deleted. */
  deleted: string;
}

export const checkJudgedQuery = typia.createValidateEquals<JudgedQuery>();

const SETS = `${COLLECTION}/judgements` as const;
const SET = `${SETS}/{set}` as const;

const SUMMARY: JudgementSetSummary = {
  set: 'support',
  updated_at: '2026-01-05T09:30:00.000Z',
  query_count: 1,
  judgement_count: 2,
};
const QUERIES: JudgedQuery[] = [{ id: 'q1', text: 'submarine captain', judgements: { nemo: 2, whale: 0 } }];
const PLACE = { tenant: 'acme', collection: 'docs' };

const tag = 'Search';
const read = { method: 'GET', access: 'tenant', scope: 'search', tag } as const;

export const JUDGEMENT_ROUTES = routes({
  listJudgementSets: jsonRoute({
    ...read,
    path: SETS,
    summary: 'List the judgement sets of a collection',
    description: 'Ordered by name.',
    answer: {
      schema: typia.json.schema<JudgementSetList>(),
      example: { ...PLACE, sets: [SUMMARY], count: 1 },
    },
    codes: ['collection_not_found'],
  }),
  getJudgementSet: jsonRoute({
    ...read,
    path: SET,
    summary: 'Get a judgement set',
    answer: { schema: typia.json.schema<JudgementSet>(), example: { ...SUMMARY, queries: QUERIES } },
    codes: ['collection_not_found', 'judgement_set_not_found'],
  }),
  putJudgementSet: ownRoute({
    path: SET,
    method: 'PUT',
    access: 'tenant',
    scope: 'manage',
    tag,
    summary: 'Store a judgement set',
    description: `Creates the set, or replaces all of it: at most ${JUDGED_QUERIES_MAX} queries and ${JUDGEMENTS_MAX} judgements. It belongs to the collection, whatever its name and vector space, and goes with it. Archives have it.`,
    body: 'batch',
    request: {
      required: true,
      content: json(typia.json.schema<JudgementSetBody>(), { set: { queries: QUERIES } }),
    },
    answer: json(typia.json.schema<StoredJudgementSet>(), { answer: { ...PLACE, ...SUMMARY } }),
    codes: ['collection_not_found', 'invalid_docid', 'judgement_set_limit_reached', 'storage_full'],
  }),
  deleteJudgementSet: jsonRoute({
    path: SET,
    method: 'DELETE',
    access: 'tenant',
    scope: 'manage',
    tag,
    summary: 'Delete a judgement set',
    answer: { schema: typia.json.schema<DeletedJudgementSet>(), example: { ...PLACE, deleted: 'support' } },
    codes: ['collection_not_found', 'judgement_set_not_found', 'storage_full'],
  }),
});
