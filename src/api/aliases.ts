// Aliases: further names of collections, and their routes.
import typia from 'typia';
import type { CollectionName, Tenant } from './ids.js';
import { SLUG_TEXT } from './parameters.js';
import { jsonRoute, routes } from './route.js';

/** A stored alias: `alias` stands for the collection of this name. */
export interface AliasRecord {
  tenant: Tenant;
  alias: CollectionName;
  collection: CollectionName;
}

export interface AliasBody {
  /** Slug of the collection that the alias stands for from now on. */
  collection: string;
}

export interface AliasSummary {
  alias: string;
  /** Slug of the collection that the alias stands for. */
  collection: string;
}

export interface Alias extends AliasSummary {
  tenant: string;
}

export interface DeletedAlias {
  tenant: string;
  /** The alias that was deleted. */
  deleted: string;
}

export interface AliasList {
  tenant: string;
  aliases: AliasSummary[];
  count: number;
}

const ALIASES = '/v1/aliases/{tenant}' as const;
const ALIAS = `${ALIASES}/{alias}` as const;
const EXAMPLE: AliasSummary = { alias: 'current', collection: 'docs' };

const tag = 'Collections';
const change = { access: 'tenant', scope: 'manage', tag } as const;

export const ALIAS_ROUTES = routes({
  listAliases: jsonRoute({
    method: 'GET',
    path: ALIASES,
    access: 'tenant',
    scope: 'search',
    tag,
    summary: 'List the aliases of a tenant',
    description: 'Ordered by alias.',
    answer: { schema: typia.json.schema<AliasList>(), example: { tenant: 'acme', aliases: [EXAMPLE], count: 1 } },
  }),
  putAlias: jsonRoute({
    ...change,
    method: 'PUT',
    path: ALIAS,
    summary: 'Let an alias stand for a collection',
    description:
      'Creates the alias, or switches it in one step: every request that arrives after the answer finds the new collection. All routes take an alias in place of a collection.',
    body: {
      check: typia.createValidateEquals<AliasBody>(),
      schema: typia.json.schema<AliasBody>(),
      required: true,
      refinements: { 'AliasBody.collection': SLUG_TEXT },
      examples: { switch: { collection: 'docs' } },
    },
    answer: { schema: typia.json.schema<Alias>(), example: { tenant: 'acme', ...EXAMPLE } },
    codes: ['collection_not_found', 'alias_conflict', 'alias_limit_reached', 'storage_full'],
  }),
  deleteAlias: jsonRoute({
    ...change,
    method: 'DELETE',
    path: ALIAS,
    summary: 'Delete an alias; its collection stays',
    answer: { schema: typia.json.schema<DeletedAlias>(), example: { tenant: 'acme', deleted: 'current' } },
    codes: ['alias_not_found', 'storage_full'],
  }),
});
