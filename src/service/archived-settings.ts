// A collection as the settings of an archive make it on this server: checked as those of a create body are, with an
// embedder that is there. Called by the restore use cases; front thread.
import { ArchiveFault } from '../archive/archive-fault.js';
import type { VerifiedCollection } from '../contract/archive-messages.js';
import type { ArchivedSettings } from '../contract/archived.js';
import { AppError } from '../contract/errors.js';
import type { CollectionName, Tenant } from '../contract/ids.js';
import type { Collection, Space } from '../contract/resources.js';
import { SCHEMA_VERSION, SERVICE_VERSION } from '../contract/version.js';
import { IDENTITY_TYPE } from '../embedding/spaces.js';
import { chunkingOf, displayName } from './collection-settings.js';
import type { Context } from './context.js';

/** Throws ArchiveFault, and 503 `embedder_unavailable` where its embedder does not answer now. */
export async function restoredCollection(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
  { settings }: VerifiedCollection,
): Promise<Omit<Collection, 'id'>> {
  checkSettings(context, settings);
  await checkSpace(context, tenant, settings);
  const { tenant: _from, name: formerName, display_name: label, ...kept } = settings;
  // A label that was nothing but the name goes with the name.
  return {
    ...kept,
    tenant,
    name,
    display_name: label === formerName ? name : label,
    service_version: SERVICE_VERSION,
    schema_version: SCHEMA_VERSION,
    generation: 1,
  };
}

function checkSettings(
  { chunking: instance }: Context,
  { display_name: label, created_at: createdAt, chunking }: ArchivedSettings,
): void {
  if (Number.isNaN(Date.parse(createdAt)))
    throw new ArchiveFault('settings_invalid', 'The collection of the archive has no time of its making.');
  try {
    displayName(label);
    chunkingOf(chunking, instance);
  } catch (error) {
    if (error instanceof AppError)
      throw new ArchiveFault('settings_invalid', `The settings of the collection are invalid: ${error.message}`);
    throw error;
  }
}

async function checkSpace({ embedders }: Context, tenant: Tenant, settings: ArchivedSettings): Promise<void> {
  const { embedder_type: type, embedder_config: config, vector_space_key: key, dim } = settings;
  const wanted = type === IDENTITY_TYPE ? { embedder_type: type, embedder_config: config } : { embedder: key };
  const space = spaceOf(() => embedders.spaceFor(tenant, wanted));
  if (space?.vector_space_key !== key)
    throw new ArchiveFault(
      'embedder_unknown',
      `No embedder of this server serves the space of the collection, ${key}.`,
    );
  if (space.dim !== dim)
    throw new ArchiveFault(
      'embedder_unknown',
      `The embedder of this server gives ${space.dim} dimensions, the archive has ${dim}.`,
    );
  await embedders.preflight(settings, tenant);
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
