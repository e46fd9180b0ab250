// The embedders that a tenant may choose from, for a form.
// A hook of the forms that make a collection and start a reindex.
import { useLoaded } from '../parts/loaded.js';
import { listEmbedders } from '../server/api.js';

/** Values and words; first what it means to choose none. */
export function useEmbedderChoices(tenant: string, none: string): readonly (readonly [string, string])[] {
  const { value } = useLoaded(`embedders/${tenant}`, (signal) => listEmbedders(tenant, signal));
  return [
    ['', none],
    ...(value?.embedders ?? []).map(({ key, vector_key: space }) => [key, `${key} (${space})`] as const),
  ];
}
