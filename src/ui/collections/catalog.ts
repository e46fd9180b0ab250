// The collections of the tenant that is looked at, shared by the list at the left and the overview, so that they are asked for once.
// State of the page.
import { signal } from '@preact/signals';
import type { CollectionSummary } from '../../contract/api/collections.js';
import { listCollections } from '../server/api.js';

export const catalog = signal<{ tenant: string; collections?: readonly CollectionSummary[]; error?: unknown }>({ tenant: '' });

/** Loads them, again where they are there; an answer about another tenant than the last asked about is dropped. */
export async function loadCatalog(tenant: string): Promise<void> {
  if (catalog.value.tenant !== tenant) catalog.value = { tenant };
  try {
    const { collections } = await listCollections(tenant);
    if (catalog.value.tenant === tenant) catalog.value = { tenant, collections };
  } catch (error) {
    if (catalog.value.tenant === tenant) catalog.value = { tenant, error };
  }
}
