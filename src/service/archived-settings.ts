// A collection as the settings of an archive make it on this server: checked as those of a create body are, with an
// embedder that is there. Called by the restore use cases; front thread.
import { ArchiveFault } from '../archive/archive-fault.js';
import type { VerifiedCollection } from '../contract/archive-messages.js';
import type { ArchivedSettings } from '../contract/archived.js';
import { AppError } from '../contract/errors.js';
import type { CollectionName, Tenant } from '../contract/ids.js';
import type { Collection, Space } from '../contract/resources.js';
import { TIME_MAX_MS } from '../contract/limits.js';
import { SCHEMA_VERSION, SERVICE_VERSION } from '../contract/version.js';
import { IDENTITY_TYPE } from '../embedding/spaces.js';
import { chunkingOf, displayName } from './collection-settings.js';
import type { Context } from './context.js';

const TOLD_CHARACTERS_MAX = 200;

/** Throws ArchiveFault, and 503 `embedder_unavailable` where its embedder does not answer now. */
export async function restoredCollection(
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
