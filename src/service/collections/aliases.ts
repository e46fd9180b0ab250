// Use cases of aliases: names that stand for collections, and are switched from one to another in one step. Lookups of
// collections resolve them (catalog.ts). Runs on the main thread.
import type { ALIAS_ROUTES, AliasSummary } from '../../api/aliases.js';
import { AppError } from '../../api/errors.js';
import { asCollectionName } from '../../api/ids.js';
import { type Actor, seesCollection } from '../tenants/actor.js';
import type { UseCases } from '../use-case.js';
import { type CatalogContext, changeCatalog } from './catalog-changes.js';

interface AliasesContext {
  readonly store: CatalogContext;
}

export const aliasUseCases = ({ store }: AliasesContext): UseCases<typeof ALIAS_ROUTES> => ({
  listAliases: ({ tenant }, { actor }) => {
    const seen = store.catalog.aliasesOf(tenant).filter((alias) => seesAlias(actor, alias));
    const aliases = seen.map(({ alias, collection }) => ({ alias, collection }));
    return { tenant, aliases, count: aliases.length };
  },
  putAlias: async ({ tenant, alias, body }, { actor }) => {
    const record = { tenant, alias, collection: asCollectionName(body.collection) };
    if (!seesAlias(actor, record)) throw new AppError('auth_forbidden');
    await changeCatalog(store, 'putAlias', { alias: record }, () => undefined);
    return record;
  },
  deleteAlias: async ({ tenant, alias }, { actor }) => {
    const found = store.catalog.aliasesOf(tenant).find((one) => one.alias === alias);
    if (found && !seesAlias(actor, found)) throw new AppError('auth_forbidden');
    await changeCatalog(store, 'deleteAlias', { tenant, alias }, () => undefined);
    return { tenant, deleted: alias };
  },
});

/** A key that is restricted to some collections sees an alias if it may access both names. */
const seesAlias = (actor: Actor, { alias, collection }: AliasSummary): boolean =>
  seesCollection(actor, alias) && seesCollection(actor, collection);
