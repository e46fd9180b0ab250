// Makes the demo collection and ingests the corpus, some short texts that were written for it.
// Called by the empty state; the corpus is fetched when it is wanted.
import type { IngestBody } from '../../contract/api/documents.js';
import { loadCatalog } from '../collections/catalog.js';
import { createCollection, ingestBatch } from '../server/api.js';
import { go } from '../state/place.js';
import { DEMO_COLLECTION } from './queries.js';

/** Small chunks, so that there are neighbours to look at. */
const CHUNKING = { strategy: 'fixed', size: 240, overlap: 48 } as const;

/** Rejects as calls do; a collection of that name with other settings is a conflict. */
export async function loadDemo(tenant: string): Promise<void> {
  const at = { tenant, collection: DEMO_COLLECTION };
  const [{ documents }] = await Promise.all([import('./corpus.json') as Promise<{ documents: IngestBody[] }>, createCollection(at, { chunking: CHUNKING })]);
  const { failed, documents: results } = await ingestBatch(at, documents);
  if (failed > 0) throw new Error(results.find(({ ok }) => !ok)?.error ?? 'Some of the documents were not taken.');
  await loadCatalog(tenant);
  go({ tenant, collection: DEMO_COLLECTION, view: 'search' });
}
