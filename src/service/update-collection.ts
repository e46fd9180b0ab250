// Use cases: change the label of a collection, and rename it. Both are one write to the catalog; documents go by the
// collection's id and stay where they are. Called by the update and move endpoints; front thread.
import { AppError } from '../contract/errors.js';
import type { CollectionName, Tenant } from '../contract/ids.js';
import { logIdOf, type Collection, type CollectionChange } from '../contract/resources.js';
import { displayName } from './collection-settings.js';
import { asOfNow } from './as-of-now.js';
import { changeCatalog } from './change-catalog.js';
import type { Context } from './context.js';

/** The new label, as stored. Throws 400 `invalid_display_name`, 404 `collection_not_found`. */
export async function relabelCollection(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
  label: string,
): Promise<string> {
  const changed = await change(context, context.catalog.get(tenant, name), { display_name: displayName(label) });
  return changed.display_name;
}

/**
 * Throws 404 `collection_not_found`, 400 `move_invalid` for its own name, 409 `collection_conflict` for one that is
 * taken.
 */
export async function renameCollection(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
  newName: CollectionName,
): Promise<void> {
  const collection = context.catalog.get(tenant, name);
  if (newName === name) throw new AppError('move_invalid');
  await change(context, collection, { name: newName });
}

async function change(context: Context, found: Collection, wanted: CollectionChange): Promise<Collection> {
  const { catalog, staged, events } = context;
  const changed = await asOfNow(context, found, (collection) =>
    changeCatalog(context, 'updateCollection', { collection, change: wanted }, (stored) => {
      catalog.remove(collection);
      staged.rename(stored.id, stored);
      return catalog.put(stored);
    }),
  );
  const { tenant, name, display_name } = changed;
  events.publish(logIdOf(changed), 'collection', { change: 'settings', tenant, collection: name, display_name });
  return changed;
}
