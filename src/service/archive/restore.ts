// Use case: a collection out of an archive, as a new one or in place of one that is there. The archive is verified
// before anything is changed; then its documents are staged beside what is searched, and the name goes to them in one
// transaction. Whatever happens before that leaves everything as it was. Called by the archive endpoints and the
// restore of a dataset; front thread.
import type { ArchivedSettings, CollectionPlace } from '../../api/archives.js';
import type { Collection, Space } from '../../api/collections.js';
import { logIdOf } from '../../storage/catalog-commands.js';
import { SCHEMA_VERSION, SERVICE_VERSION } from '../../api/common.js';
import { AppError } from '../../api/errors.js';
import { type CollectionId, type CollectionName, type Tenant, asCollectionName, asTenant } from '../../api/ids.js';
import { TIME_MAX_MS } from '../../api/limits.js';
import { ArchiveFault } from '../../archive/format.js';
import type { VerifiedArchive, VerifiedCollection } from '../../archive/messages.js';
import { IDENTITY_TYPE } from '../../embedding/spaces.js';
import type { OpenedArchive } from '../../pool/archive-pool.js';
import {
  changeCatalog,
  forgetStaged,
  giveUpStaged,
  stageCollection,
  switchCollection,
} from '../collections/catalog-changes.js';
import { ensureCommonCollection, forgetCollection } from '../collections/collections.js';
import { chunkingOf, displayName } from '../collections/settings.js';
import type { Context } from '../context.js';
import { endJobsOf } from '../reindex/job-record.js';
import { type Filling, fillStaged, holdQueries, linkStaged, releaseQueries } from './fill.js';

// A collection as the settings of an archive make it on this server: checked as those of a create body are, with an
// embedder that is there. Called by the restore use cases; front thread.

const TOLD_CHARACTERS_MAX = 200;

/** Throws ArchiveFault, and 503 `embedder_unavailable` where its embedder does not answer now. */
async function restoredCollection(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
  { settings }: VerifiedCollection,
): Promise<Omit<Collection, 'id'>> {
  const { name: formerName, display_name: label, created_at: createdAt, chunking } = settings;
  const { priority_key, search_mode, language, precision } = settings;
  const checked = checkedSettings(() => ({
    // A label that was nothing but the name goes with the name.
    display_name: label === formerName ? name : displayName(label),
    created_at: timeOf(createdAt),
    chunking: chunkingOf(chunking, context.chunking),
    priority_key: nonEmpty(priority_key),
  }));
  return {
    ...checked,
    // What this server says of the space, and nothing that the archive says of it.
    ...(await spaceHere(context, tenant, settings)),
    search_mode,
    language,
    precision,
    tenant,
    name,
    service_version: SERVICE_VERSION,
    schema_version: SCHEMA_VERSION,
    generation: 1,
  };
}

function checkedSettings<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof AppError)
      throw new ArchiveFault('settings_invalid', `The settings of the collection are invalid: ${error.message}`);
    throw error;
  }
}

function timeOf(text: string): string {
  const ms = Date.parse(text);
  if (ms >= 0 && ms <= TIME_MAX_MS) return new Date(ms).toISOString();
  throw new ArchiveFault('settings_invalid', 'The collection of the archive has no time of its making.');
}

function nonEmpty(priorityKey: string): string {
  if (priorityKey !== '') return priorityKey;
  throw new ArchiveFault('settings_invalid', 'The collection of the archive has no priority key.');
}

async function spaceHere({ embedders }: Context, tenant: Tenant, settings: ArchivedSettings): Promise<Space> {
  const { embedder_type: type, embedder_config: config, vector_space_key: key, dim } = settings;
  const wanted = type === IDENTITY_TYPE ? { embedder_type: type, embedder_config: config } : { embedder: key };
  const space = spaceOf(() => embedders.spaceFor(tenant, wanted));
  if (space?.vector_space_key !== key)
    throw new ArchiveFault(
      'embedder_unknown',
      `No embedder of this server serves the space of the collection, ${key.slice(0, TOLD_CHARACTERS_MAX)}.`,
    );
  if (space.dim !== dim)
    throw new ArchiveFault(
      'embedder_unknown',
      `The embedder of this server gives ${space.dim} dimensions, the archive has ${dim}.`,
    );
  await embedders.preflight(space, tenant);
  return space;
}

/** undefined where there is none. */
function spaceOf(find: () => Space): Space | undefined {
  try {
    return find();
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

export interface RestoreWish {
  tenant: Tenant;
  name: CollectionName;
  /** `create`: there must be no such collection; `replace`: there must be one. */
  mode: 'create' | 'replace';
  /** The collection in the archive; undefined: the one of these names, or the only one. */
  from: CollectionPlace | undefined;
  /** Only verifies. */
  isDryRun: boolean;
  /** Of all that the archive unpacks to. */
  unpackedBytesMax: number;
  signal: AbortSignal;
}

/**
 * Restores from the file at `path`. Throws 409 `collection_exists` or 404 `collection_not_found`, 400
 * `collection_archive_invalid`, 429 where a quota of the tenant does not allow it, 503 `embedder_unavailable`,
 * `storage_full`, `collection_changed`.
 */
export async function restoreCollection(
  context: Context,
  path: string,
  wish: RestoreWish,
): Promise<VerifiedCollection['counts']> {
  checkPresence(context, wish);
  const { tenant, name, unpackedBytesMax, signal } = wish;
  const kind = { from: wish.from ?? { tenant, name }, isNamed: wish.from !== undefined };
  return context.archives.open(
    {
      op: 'read',
      path,
      kind,
      shards: context.shards.size,
      unpackedBytesMax,
      metadataBytesMax: context.metadataBytesMax,
    },
    signal,
    async (opened) => {
      const [verified] = opened.archive.collections as [VerifiedCollection];
      const live = checkPresence(context, wish);
      const planned = await plan(context, wish, verified, live);
      if (!wish.isDryRun) await restore(context, opened, { ...wish, planned, verified, live });
      return verified.counts;
    },
  );
}

/** The collection that has the name. */
export function checkPresence(
  { catalog }: Context,
  { tenant, name, mode }: Pick<RestoreWish, 'tenant' | 'name' | 'mode'>,
): Collection | undefined {
  if (mode === 'replace') return catalog.get(tenant, name);
  if (catalog.find(tenant, name)) throw new AppError('collection_exists');
  return undefined;
}

async function plan(
  context: Context,
  { tenant, name }: RestoreWish,
  verified: VerifiedCollection,
  live: Collection | undefined,
): Promise<Omit<Collection, 'id'>> {
  try {
    const planned = await restoredCollection(context, tenant, name, verified);
    checkQuotas(context, tenant, verified, live);
    return planned;
  } catch (error) {
    throw error instanceof ArchiveFault ? error.refusal('collection_archive_invalid') : error;
  }
}

function checkQuotas(
  { tenants, catalog }: Context,
  tenant: Tenant,
  { counts }: VerifiedCollection,
  live: Collection | undefined,
): void {
  const { collectionsMax, chunksPerCollectionMax } = tenants.limitsOf(tenant);
  if (counts.chunks > chunksPerCollectionMax) throw new AppError('chunk_limit_reached');
  if (!live && catalog.ofTenant(tenant).length >= collectionsMax) throw new AppError('collection_limit_reached');
}

interface Restore extends RestoreWish, Pick<Filling, 'verified'> {
  planned: Omit<Collection, 'id'>;
  live: Collection | undefined;
}

async function restore(
  context: Context,
  opened: OpenedArchive,
  { tenant, planned, verified, live, signal }: Restore,
): Promise<void> {
  // What was searched in the one that is replaced stays known, and what the archive knows comes to it.
  const collection = live ? { ...planned, log_id: logIdOf(live) } : planned;
  const { id, collection: staged } = await stageCollection(context, {
    purpose: 'restore',
    collection,
    replaces: live?.id ?? null,
    created_at: new Date(context.nowMs()).toISOString(),
  });
  try {
    await fillStaged(context, staged, { opened, place: 0, verified, signal });
    await holdQueries(context, id, opened, 0);
    if (live) await linkStaged(context, staged, signal);
    const { collectionsMax } = context.tenants.limitsOf(tenant);
    if (!live && context.catalog.ofTenant(tenant).length >= collectionsMax)
      throw new AppError('collection_limit_reached');
    await switchCollection(context, id, { expect: live?.id ?? null });
  } catch (error) {
    if (context.staged.find(id)) await giveUpRestored(context, id);
    throw error;
  }
  if (live) await endJobsOf(context, logIdOf(live));
  // Not before: until then it is the log of the collection that is still there.
  await releaseQueries(context, id);
}

/** With the logged searches that wait for it. */
async function giveUpRestored(context: Context, id: CollectionId): Promise<void> {
  await giveUpStaged(context, id);
  await releaseQueries(context, id);
}

// Use case: everything out of an archive, in place of all that is there. Verified whole, staged collection by
// collection beside what is searched, and put in its place in one transaction of the catalog: a crash leaves the old
// dataset or the new one. Called by the archive endpoints; front thread.

type Planned = Omit<Collection, 'id'>;

/** Throws 400 `archive_invalid`, 503 `embedder_unavailable`, `storage_full`. */
export async function restoreDataset(
  context: Context,
  path: string,
  isDryRun: boolean,
  signal: AbortSignal,
): Promise<VerifiedArchive> {
  return context.archives.open(
    {
      op: 'read',
      path,
      kind: 'dataset',
      shards: context.shards.size,
      unpackedBytesMax: Number.MAX_SAFE_INTEGER,
      metadataBytesMax: context.metadataBytesMax,
    },
    signal,
    async (opened) => {
      const planned = await planAll(context, opened.archive);
      if (!isDryRun) await restoreAll(context, opened, planned, signal);
      return opened.archive;
    },
  );
}

async function planAll(context: Context, { collections }: VerifiedArchive): Promise<Planned[]> {
  const planned: Planned[] = [];
  for (const verified of collections) {
    const { tenant, name } = verified.settings;
    try {
      planned.push(await restoredCollection(context, asTenant(tenant), asCollectionName(name), verified));
    } catch (error) {
      throw refusalOf(error, `${tenant}/${name}`);
    }
  }
  return planned;
}

function refusalOf(error: unknown, name: string): unknown {
  if (error instanceof ArchiveFault)
    return new ArchiveFault(error.reason, `${name}: ${error.message}`).refusal('archive_invalid');
  const isName =
    error instanceof AppError && (error.code === 'invalid_tenant_name' || error.code === 'invalid_collection_name');
  return isName
    ? new ArchiveFault('settings_invalid', `${name} is the name of no collection.`).refusal('archive_invalid')
    : error;
}

async function restoreAll(
  context: Context,
  opened: OpenedArchive,
  planned: readonly Planned[],
  signal: AbortSignal,
): Promise<void> {
  const staged: Collection[] = [];
  try {
    for (const [place, collection] of planned.entries()) {
      const { collection: made } = await stageCollection(context, {
        purpose: 'restore',
        collection,
        replaces: null,
        created_at: new Date(context.nowMs()).toISOString(),
      });
      staged.push(made);
      const verified = opened.archive.collections[place] as VerifiedArchive['collections'][number];
      await fillStaged(context, made, { opened, place, verified, signal });
      await holdQueries(context, made.id, opened, place);
    }
    for (const collection of staged) await linkStaged(context, collection, signal);
    await replaceAll(
      context,
      staged.map(({ id }) => id),
      opened.archive,
    );
  } catch (error) {
    for (const { id } of staged) if (context.staged.find(id)) await giveUpRestored(context, id);
    throw error;
  }
  // Not before: an id of a logged search belongs to the old dataset until then.
  for (const { id } of staged) await releaseQueries(context, id);
}

/** The store first; then, in one turn, what this thread has of it. */
async function replaceAll(
  context: Context,
  ids: CollectionId[],
  { tenants: archived }: VerifiedArchive,
): Promise<void> {
  const { catalog, staged, tenants } = context;
  const stored = archived ?? { tenants: [], keys: [] };
  const forgetting = await changeCatalog(
    context,
    'replaceDataset',
    { staged: ids, tenants: stored },
    ({ collections, gone, dropped }) => {
      const forgotten = [
        ...gone.map((collection) => forgetCollection(context, collection)),
        ...dropped.map(({ id }) => forgetStaged(context, id)),
      ];
      for (const collection of collections) {
        staged.remove(collection.id);
        catalog.put(collection);
      }
      tenants.load(stored);
      return forgotten;
    },
  );
  await Promise.all(forgetting);
  await ensureCommonCollection(context);
}
