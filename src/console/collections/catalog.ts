// The collections of the tenant that is looked at, shared by the list at the left and the overview, so that they are
// asked for once. State of the page; asked for by the list.
import { signal } from '@preact/signals';
import type { CollectionSummary } from '../../api/collections.js';
import { listCollections, listEmbedders } from '../api.js';
import { ownDim } from '../format.js';
import { useLoaded } from '../hooks.js';
import { place } from '../state.js';

export const catalog = signal<{ tenant: string; collections?: readonly CollectionSummary[]; error?: unknown }>({
  tenant: '',
});

/** Whether the tenant has a collection of this name; as long as they are not known, it has. */
export const isListed = (collection: string | undefined): boolean =>
  catalog.value.collections?.some(({ name }) => name === collection) ?? true;

/** How many numbers a vector of it has, where it takes vectors and no texts. */
export const dimOfOwn = (collection: string | undefined): number | undefined =>
  ownDim(catalog.value.collections?.find(({ name }) => name === collection)?.vector_space_key);

/** What stands in an empty field for a query. */
export const queryHint = (): string =>
  dimOfOwn(place.value.collection) === undefined ? 'What do you look for?' : 'A vector, such as [0.1, 0.2]';

let lastAsked = 0;
let lastTaken = 0;

/**
 * Loads them, again where they are there; an answer about another tenant than the last asked about is dropped, and one
 * that a later one has overtaken.
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

// The embedders that a tenant may choose from, for a form.
// A hook of the forms that make a collection and start a reindex.

/** Values and words; first what it means to choose none. */
export function useEmbedderChoices(tenant: string, none: string): readonly (readonly [string, string])[] {
  const { value } = useLoaded(`embedders/${tenant}`, (signal) => listEmbedders(tenant, signal));
  return [
    ['', none],
    ...(value?.embedders ?? []).map(({ key, vector_key: space }) => [key, `${key} (${space})`] as const),
  ];
}
