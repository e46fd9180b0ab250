// The collections of the current tenant, loaded once and shared by the views.
import { signal } from '@preact/signals';
import type { CollectionSummary } from '../../api/collections.js';
import { listCollections, listEmbedders } from '../api.js';
import { ownDim } from '../format.js';
import { useLoaded } from '../hooks.js';
import { place } from '../state.js';

export const catalog = signal<{ tenant: string; collections?: readonly CollectionSummary[]; error?: unknown }>({
  tenant: '',
});

/** Whether the tenant has a collection of this name; true while the collections are not loaded. */
export const isListed = (collection: string | undefined): boolean =>
  catalog.value.collections?.some(({ name }) => name === collection) ?? true;

/** The dimensions of a collection that stores vectors of the user; undefined for a collection of texts. */
export const dimOfOwn = (collection: string | undefined): number | undefined =>
  ownDim(catalog.value.collections?.find(({ name }) => name === collection)?.vector_space_key);

/** The placeholder of the query field. */
export const queryHint = (): string =>
  dimOfOwn(place.value.collection) === undefined ? 'What do you look for?' : 'A vector, such as [0.1, 0.2]';

let lastAsked = 0;
let lastTaken = 0;

/**
 * Loads or reloads the collections. Drops an answer about a tenant that is no longer shown, and one that a later answer
 * has overtaken.
 */
export async function loadCatalog(tenant: string): Promise<void> {
  const asked = ++lastAsked;
  if (catalog.value.tenant !== tenant) catalog.value = { tenant };
  const found = await listCollections(tenant).then(
    ({ collections }) => ({ collections }),
    (error: unknown) => ({ error }),
  );
  if (catalog.value.tenant !== tenant || asked < lastTaken) return;
  lastTaken = asked;
  catalog.value = { tenant, ...found };
}

// The embedders that a tenant may choose, for forms.

/** Values and labels; the first entry stands for no choice and is labelled `none`. */
export function useEmbedderChoices(tenant: string, none: string): readonly (readonly [string, string])[] {
  const { value } = useLoaded(`embedders/${tenant}`, (signal) => listEmbedders(tenant, signal));
  return [
    ['', none],
    ...(value?.embedders ?? []).map(({ key, vector_key: space }) => [key, `${key} (${space})`] as const),
  ];
}
