// What the latest job and the space of a collection are, read while the job goes on: both of one moment.
// Used by check.ts and reindex-operations.ts of the torture program.
import type { SheafClient } from '../../../src/client/client.js';
import type { FoundJobs } from './reindexing.js';

/** Reads again where a job has come on between. */
export async function findJobs(client: SheafClient, tenant: string, name: string): Promise<FoundJobs> {
  for (;;) {
    const { jobs: before } = await client.reindex.list(tenant, name);
    const { vector_space_key: space } = await client.collectionDetail(tenant, name);
    const { jobs } = await client.reindex.list(tenant, name);
    if (before[0]?.status === jobs[0]?.status) return { space: space as string, jobs };
  }
}
