// Fills the collections of a workload, which it makes anew, and says how fast that went.
// The first part of each workload.
import { postItems } from '../kit/filling.js';
import { spending, type Spent } from './spent.js';
import { sourceOf, type Source } from './sources.js';
import { tenantOf, type CollectionName, type Target } from './target.js';
import type { Fill, Workload } from './workload.js';

const BATCHES = { vectors: 200, texts: 50 };

/** A collection of `fill`, or several that are filled alike. */
export interface Filled {
  readonly fill: Fill;
  readonly source: Source;
  readonly collections: readonly CollectionName[];
  readonly seconds: number;
  /** Of one document; undefined where the server does not tell. */
  readonly spent: Spent | undefined;
}

function collectionsOf(workload: string, { name, tenant, collections = 1 }: Fill): CollectionName[] {
  return Array.from({ length: collections }, (_, i) => ({
    tenant: tenantOf(tenant),
    name: `${workload}-${name}${collections > 1 ? i + 1 : ''}`,
  }));
}

/** Replaces what a run before has left. */
export async function fillOne(target: Target, workload: string, fill: Fill): Promise<Filled> {
  const { documents } = fill;
  const source = sourceOf(fill);
  const collections = collectionsOf(workload, fill);
  for (const { tenant, name } of collections) {
    await target.client.deleteCollection(tenant, name).catch(() => undefined);
    await target.client.createCollection(tenant, name, source.options);
  }
  const { url, headers } = target;
  const { seconds, spent } = await spending(target, 'ingest', async () => {
    for (const collection of collections)
      await postItems({ url, headers, ...collection }, documents, BATCHES[fill.of], source.item);
  });
  return { fill, source, collections, seconds, spent };
}

/** All that the workload fills, as far as it is there. Without complaint: what is left is replaced by the next run. */
export async function dropAll(target: Target, { name: workload, fill }: Workload): Promise<void> {
  for (const { tenant, name } of fill.flatMap((one) => collectionsOf(workload, one)))
    await target.client.deleteCollection(tenant, name).catch(() => undefined);
}
