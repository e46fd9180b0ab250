// Applies the commands of the catalog: what each of them does to the store, and whether it changes anything. A change is
// written to the journal in its own transaction. Owner of shard 0 only.
import type { CatalogCommands } from './catalog-commands.js';
import { unpackChange } from './catalog-records.js';
import type { CatalogStore } from './catalog.js';

type Op = keyof CatalogCommands;
type Handler<O extends Op> = (
  store: CatalogStore,
  request: CatalogCommands[O]['request'],
) => CatalogCommands[O]['answer'];

const READS = {
  loadCatalog: (store) => store.packed(),
  loadShadows: (store) => store.shadow.all(),
  loadJobs: (store) => store.jobs.all(),
  loadAliases: (store) => store.aliases.all(),
  loadTenants: (store) => store.tenants.all(),
  loadJudgementSets: (store, { logs }) => store.judgements.all(logs),
  listJudgementSets: (store, { log }) => store.judgements.list(log),
  getJudgementSet: (store, { log, set }) => store.judgements.get(log, set),
} as const satisfies { [O in Op]?: Handler<O> };

const CHANGES: { [O in Exclude<Op, keyof typeof READS>]: Handler<O> } = {
  createCollection: (store, { collection, collectionsMax }) => store.create(collection, collectionsMax),
  updateCollection: (store, { collection, change }) => store.update(collection, change),
  deleteCollection: (store, { collection }) => (store.delete(collection), null),
  createShadow: (store, { shadow }) => store.shadow.stage(shadow),
  dropShadow: (store, { shadow }) => (store.shadow.dropShadow(shadow), null),
  switchCollection: (store, request) => store.shadow.switchTo(request),
  replaceDataset: (store, { shadow, tenants, aliases }) => store.dataset.replace(shadow, tenants, aliases),
  createJob: (store, { shadow, ...change }) => store.jobs.create(change, shadow),
  saveJob: (store, change) => (store.jobs.save(change), null),
  putJudgementSet: (store, { collection, set }) => (store.judgements.put(collection, set), null),
  deleteJudgementSet: (store, { log, set }) => (store.judgements.delete(log, set), null),
  putAlias: (store, { alias }) => (store.aliases.put(alias), null),
  deleteAlias: (store, { tenant, alias }) => (store.aliases.delete(tenant, alias), null),
  createTenant: (store, { tenant, key }) => (store.tenants.create(tenant, key), null),
  updateTenant: (store, { tenant, change }) => store.tenants.update(tenant, change),
  deleteTenant: (store, { tenant, force }) => store.tenants.delete(tenant, force),
  createKey: (store, { tenant, key }) => store.tenants.createKey(tenant, key),
  revokeKey: (store, { tenant, keyId, revokedAt }) => store.tenants.revokeKey(tenant, keyId, revokedAt),
};

/** A command that changes the catalog, as the journal has it. */
export type CatalogChange = {
  [O in keyof typeof CHANGES]: { op: O } & CatalogCommands[O]['request'];
}[keyof typeof CHANGES];

/** Applies a change to the catalog, and writes it to the journal. Throws AppError if it is refused. */
const applyChange = (store: CatalogStore, change: CatalogChange): unknown =>
  store.journaled(change, () => (CHANGES[change.op] as Handler<Op>)(store, change as never));

/** Applies a change from the journal. */
export const applyJournaled = (store: CatalogStore, packed: Uint8Array): unknown =>
  applyChange(store, unpackChange(packed) as CatalogChange);

type Handlers = { [O in Op]: (request: { op: O } & CatalogCommands[O]['request']) => CatalogCommands[O]['answer'] };

/** Handlers of all commands of the catalog; `catalog` opens the store on first use. */
export function catalogHandlers(catalog: () => CatalogStore): Handlers {
  const reads = Object.entries(READS).map(([op, handler]) => [
    op,
    (request: never) => (handler as Handler<Op>)(catalog(), request),
  ]);
  const changes = Object.keys(CHANGES).map((op) => [op, (change: CatalogChange) => applyChange(catalog(), change)]);
  return Object.fromEntries([...reads, ...changes]) as Handlers;
}
