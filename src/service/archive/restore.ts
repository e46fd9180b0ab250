// Use cases that restore one collection, as a new one or replacing an existing one, or the whole server, replacing
// everything. The archive is verified before anything changes. Its collections are then built as shadow collections and
// switched in by one transaction of the catalog, so a failure or crash before that leaves everything as it was. Runs on
// the main thread.
import type { ArchiveCounts, ArchivedSettings, CollectionPlace, RestoredDataset } from '../../api/archives.js';
import type { Collection, Space, SynonymRule } from '../../api/collections.js';
import type { JudgementSet } from '../../api/judgements.js';
import { checkSynonyms } from '../../text/synonyms.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import { SCHEMA_VERSION, SERVICE_VERSION } from '../../api/common.js';
import { AppError } from '../../api/errors.js';
import { type CollectionId, type CollectionName, type Tenant, asCollectionName, asTenant } from '../../api/ids.js';
import { TIME_MAX_MS, TTL_MAX_S } from '../../api/limits.js';
import { ArchiveError } from '../../archive/format.js';
import type { ReadTask, VerifiedArchive, VerifiedCollection } from '../../archive/messages.js';
import { IDENTITY_TYPE } from '../../embedding/spaces.js';
import type { OpenedArchive } from '../../pool/archive-pool.js';
import {
  changeCatalog,
  createShadow,
  forgetCollection,
  forgetShadow,
  giveUpShadow,
  switchCollection,
} from '../collections/catalog-changes.js';
import { goesWith } from '../collections/catalog-state.js';
import { type CollectionsContext, ensureCommonCollection } from '../collections/collections.js';
import { judgementSetOf } from '../collections/judgements.js';
import { chunkingOf, displayName, spreadFor } from '../collections/settings.js';
import type { ArchiveContext } from './archive.js';
import { fillShadow, holdQueries, indexShadow, releaseQueries } from './fill.js';

const SHOWN_CHARACTERS_MAX = 200;

/**
 * Builds the record of a restored collection. The settings of the archive are validated like those of a create body,
 * and the embedder must be configured on this server. Throws ArchiveError, and 503 `embedder_unavailable` if the
 * embedder does not answer now.
 */
async function restoredCollection(
  { collections }: ArchiveContext,
  tenant: Tenant,
  name: CollectionName,
  { settings, counts, judgementSets }: VerifiedCollection,
): Promise<Planned> {
  const { name: formerName, display_name: label, created_at: createdAt, chunking } = settings;
  const { priority_key, search_mode, language, precision, synonyms, ttl } = settings;
  const checked = checkedSettings(() => ({
    // A display name that equals the former name follows the new name.
    display_name: label === formerName ? name : displayName(label),
    created_at: timeOf(createdAt),
    chunking: chunkingOf(chunking, collections.defaults.chunking),
    priority_key: nonEmpty(priority_key),
    ...(synonyms && { synonyms: checkedSynonyms(synonyms) }),
  }));
  const collection = {
    ...checked,
    // The vector space is described by this server's configuration, not by the archive.
    ...(await spaceHere(collections, tenant, settings)),
    search_mode,
    language,
    precision,
    ...(ttl && { ttl: Math.min(ttl, TTL_MAX_S) }),
    tenant,
    name,
    service_version: SERVICE_VERSION,
    schema_version: SCHEMA_VERSION,
    generation: 1,
    spread: spreadFor(counts.chunks, collections.defaults),
  };
  return { collection, judgementSets: checkedSettings(() => judgementSets.map(checkedJudgements)) };
}

function checkedSettings<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof AppError)
      throw new ArchiveError('settings_invalid', `The settings of the collection are invalid: ${error.message}`);
    throw error;
  }
}

const checkedJudgements = ({ set, queries, updated_at: updatedAt }: JudgementSet): JudgementSet =>
  judgementSetOf(asCollectionName(set), queries, timeOf(updatedAt));

/** Adds the sets to the collection, in place of those of the same names. */
async function storeJudgements(
  { store }: ArchiveContext,
  { tenant, name, id }: Collection,
  sets: readonly JudgementSet[],
): Promise<void> {
  for (const set of sets) await store.shards.request(0, 'putJudgementSet', { collection: { tenant, name, id }, set });
}

function checkedSynonyms(rules: SynonymRule[]): SynonymRule[] {
  checkSynonyms(rules);
  return rules;
}

function timeOf(text: string): string {
  const ms = Date.parse(text);
  if (ms >= 0 && ms <= TIME_MAX_MS) return new Date(ms).toISOString();
  throw new ArchiveError('settings_invalid', 'The collection in the archive has no valid creation time.');
}

function nonEmpty(priorityKey: string): string {
  if (priorityKey !== '') return priorityKey;
  throw new ArchiveError('settings_invalid', 'The collection in the archive has no priority key.');
}

async function spaceHere(
  { embedders }: CollectionsContext,
  tenant: Tenant,
  settings: ArchivedSettings,
): Promise<Space> {
  const { embedder_type: type, embedder_config: config, vector_space_key: key, dim } = settings;
  const wanted = type === IDENTITY_TYPE ? { embedder_type: type, embedder_config: config } : { embedder: key };
  const space = found(() => embedders.spaceFor(tenant, wanted));
  if (space?.vector_space_key !== key)
    throw new ArchiveError(
      'embedder_unknown',
      `No embedder of this server serves the vector space of the collection, ${key.slice(0, SHOWN_CHARACTERS_MAX)}.`,
    );
  if (space.dim !== dim)
    throw new ArchiveError(
      'embedder_unknown',
      `The embedder of this server gives ${space.dim} dimensions, but the archive has ${dim}.`,
    );
  await embedders.preflight(space, tenant);
  return space;
}

/** Returns undefined instead of throwing an AppError. */
function found(choose: () => Space): Space | undefined {
  try {
    return choose();
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** What is to be restored. */
interface Planned {
  readonly collection: Omit<Collection, 'id'>;
  readonly judgementSets: readonly JudgementSet[];
}

export interface RestoreWish {
  tenant: Tenant;
  name: CollectionName;
  /** `create` requires that the collection does not exist, `replace` that it does. */
  mode: 'create' | 'replace';
  /** The collection in the archive; if undefined, the one with the same tenant and name, or the only one. */
  from: CollectionPlace | undefined;
  /** Verify the archive only; change nothing. */
  isDryRun: boolean;
  /** Upper bound for the unpacked size of the archive. */
  unpackedBytesMax: number;
  signal: AbortSignal;
}

/**
 * Restores a collection from the file at `path` and returns its counts. Throws 409 `collection_exists`, 404
 * `collection_not_found`, 400 `collection_archive_invalid`, 429 if a quota of the tenant is exceeded, and 503
 * `embedder_unavailable`, `storage_full` or `collection_changed`.
 */
export async function restoreCollection(
  context: ArchiveContext,
  path: string,
  wish: RestoreWish,
): Promise<VerifiedCollection['counts']> {
  checkPresence(context, wish);
  const { tenant, name, unpackedBytesMax, signal } = wish;
  const kind = { from: wish.from ?? { tenant, name }, isNamed: wish.from !== undefined };
  return context.archives.open(readTask(context, path, kind, unpackedBytesMax), signal, async (opened) => {
    const [verified] = opened.archive.collections as [VerifiedCollection];
    const live = checkPresence(context, wish);
    const planned = await plan(context, wish, verified, live);
    if (!wish.isDryRun) await restore(context, opened, { ...wish, planned, live });
    return verified.counts;
  });
}

const readTask = (
  { metadataBytesMax }: ArchiveContext,
  path: string,
  kind: ReadTask['kind'],
  unpackedBytesMax: number,
): ReadTask => ({ op: 'read', path, kind, unpackedBytesMax, metadataBytesMax });

/**
 * Returns the collection that has the name now. Throws `collection_exists` or `collection_not_found` if that does not
 * fit the mode.
 */
export function checkPresence(
  { store: { catalog } }: ArchiveContext,
  { tenant, name, mode }: Pick<RestoreWish, 'tenant' | 'name' | 'mode'>,
): Collection | undefined {
  if (mode === 'replace') return catalog.get(tenant, name);
  if (catalog.find(tenant, name)) throw new AppError('collection_exists');
  return undefined;
}

async function plan(
  context: ArchiveContext,
  { tenant, name }: RestoreWish,
  verified: VerifiedCollection,
  live: Collection | undefined,
): Promise<Planned> {
  try {
    const planned = await restoredCollection(context, tenant, name, verified);
    checkQuotas(context, tenant, verified, live);
    return planned;
  } catch (error) {
    throw error instanceof ArchiveError ? error.clientError('collection_archive_invalid') : error;
  }
}

function checkQuotas(
  context: ArchiveContext,
  tenant: Tenant,
  { counts }: VerifiedCollection,
  live: Collection | undefined,
): void {
  if (counts.chunks > context.tenants.limitsOf(tenant).chunksPerCollectionMax)
    throw new AppError('chunk_limit_reached');
  if (!live) checkRoom(context, tenant);
}

function checkRoom({ tenants, store }: ArchiveContext, tenant: Tenant): void {
  if (store.catalog.ofTenant(tenant).length >= tenants.limitsOf(tenant).collectionsMax)
    throw new AppError('collection_limit_reached');
}

interface Restore extends RestoreWish {
  planned: Planned;
  live: Collection | undefined;
}

async function restore(
  context: ArchiveContext,
  opened: OpenedArchive,
  { tenant, planned: { collection: planned, judgementSets }, live, signal }: Restore,
): Promise<void> {
  const { store } = context;
  // The query log of the replaced collection is kept, and the logged searches of the archive are added to it.
  const collection = live ? { ...planned, log_id: logIdOf(live) } : planned;
  const shadow = await stageFrom(context, opened, 0, collection, live?.id ?? null, signal);
  await orGivenUp(context, [shadow], async () => {
    if (live) await indexShadow(context, shadow, signal);
    else checkRoom(context, tenant);
    await switchCollection(store, shadow.id, { expect: live?.id ?? null });
  });
  await storeJudgements(context, shadow, judgementSets);
  if (live) await store.lifecycle.endJobs(logIdOf(live));
  // Held searches are released only now: before the switch, the log still belongs to the replaced collection.
  await releaseQueries(context, shadow.id);
}

/** Creates a shadow collection and fills it with the collection at index `place` of the archive. */
async function stageFrom(
  context: ArchiveContext,
  opened: OpenedArchive,
  place: number,
  planned: Planned['collection'],
  replaces: CollectionId | null,
  signal: AbortSignal,
): Promise<Collection> {
  const { session } = context.commandLog ?? {};
  const wanted = { purpose: 'restore', collection: planned, replaces, ...(session && { session }) } as const;
  const { collection } = await createShadow(context.store, wanted);
  const verified = opened.archive.collections[place] as VerifiedCollection;
  await orGivenUp(context, [collection], async () => {
    await fillShadow(context, collection, { opened, place, verified, signal });
    await holdQueries(context, collection.id, opened, place);
  });
  return collection;
}

/** Runs `work`. If it fails, drops the shadow collections and their held searches, and rethrows. */
async function orGivenUp<T>(
  context: ArchiveContext,
  shadow: readonly Collection[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    for (const { id } of shadow) {
      if (!context.store.shadows.find(id)) continue;
      await giveUpShadow(context.store, id);
      await releaseQueries(context, id);
    }
    throw error;
  }
}

/**
 * Restores the whole server from the file at `path`. Throws 400 `archive_invalid`, and 503 `embedder_unavailable` or
 * `storage_full`.
 */
export async function restoreDataset(
  context: ArchiveContext,
  path: string,
  isDryRun: boolean,
  signal: AbortSignal,
): Promise<VerifiedArchive> {
  const task = readTask(context, path, 'dataset', Number.MAX_SAFE_INTEGER);
  return context.archives.open(task, signal, async (opened) => {
    const planned = await planAll(context, opened.archive);
    if (!isDryRun) await restoreAll(context, opened, planned, signal);
    return opened.archive;
  });
}

/** What is told of a restored archive. */
export const restoredDataset = (archive: VerifiedArchive, isDryRun: boolean): RestoredDataset => ({
  ...(isDryRun && { dry_run: true }),
  counts: summed(archive),
  left_out: archive.leftOut.map(({ tenant, name }) => `${tenant}/${name}`),
});

function summed({
  collections,
}: {
  readonly collections: readonly { readonly counts: ArchiveCounts }[];
}): RestoredDataset['counts'] {
  const sum = (what: keyof ArchiveCounts): number => collections.reduce((total, { counts }) => total + counts[what], 0);
  return {
    collections: collections.length,
    documents: sum('documents'),
    chunks: sum('chunks'),
    queries: sum('queries'),
  };
}

async function planAll(context: ArchiveContext, { collections }: VerifiedArchive): Promise<Planned[]> {
  const planned: Planned[] = [];
  for (const verified of collections) {
    const { tenant, name } = verified.settings;
    try {
      planned.push(await restoredCollection(context, asTenant(tenant), asCollectionName(name), verified));
    } catch (error) {
      throw clientErrorOf(error, `${tenant}/${name}`);
    }
  }
  return planned;
}

function clientErrorOf(error: unknown, name: string): unknown {
  if (error instanceof ArchiveError)
    return new ArchiveError(error.reason, `${name}: ${error.message}`).clientError('archive_invalid');
  const isName =
    error instanceof AppError && (error.code === 'invalid_tenant_name' || error.code === 'invalid_collection_name');
  return isName
    ? new ArchiveError('settings_invalid', `${name} is not a valid collection name.`).clientError('archive_invalid')
    : error;
}

async function restoreAll(
  context: ArchiveContext,
  opened: OpenedArchive,
  planned: readonly Planned[],
  signal: AbortSignal,
): Promise<void> {
  const shadow: Collection[] = [];
  await orGivenUp(context, shadow, async () => {
    for (const [place, { collection }] of planned.entries())
      shadow.push(await stageFrom(context, opened, place, collection, null, signal));
    for (const collection of shadow) await indexShadow(context, collection, signal);
    await replaceAll(
      context,
      shadow.map(({ id }) => id),
      opened.archive,
    );
  });
  for (const [place, { judgementSets }] of planned.entries())
    await storeJudgements(context, shadow[place] as Collection, judgementSets);
  // Held searches are released only now: before the switch, the same ids can belong to searches of the old data.
  for (const { id } of shadow) await releaseQueries(context, id);
}

/** Replaces the whole catalog, and removes from the shards what has left it. */
async function replaceAll(
  context: ArchiveContext,
  ids: CollectionId[],
  { tenants: archived, aliases }: VerifiedArchive,
): Promise<void> {
  const { store } = context;
  const tenants = archived ?? { tenants: [], keys: [] };
  const request = { shadow: ids, tenants, ...(aliases && { aliases }) };
  const forgetting = await changeCatalog(store, 'replaceDataset', request, ({ gone, dropped }, applied) => {
    const alone = dropped.filter((shadow) => !gone.some(({ id }) => goesWith(shadow, id)));
    return [
      ...gone.map((collection) => forgetCollection(store, collection, applied)),
      ...alone.map(({ id }) => forgetShadow(store, id, applied)),
    ];
  });
  await Promise.all(forgetting);
  await ensureCommonCollection(context.collections);
}
