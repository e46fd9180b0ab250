// Changes of a job's record: shown here at once, then committed by the worker of shard 0, the latest state where
// several come together; and told to whoever follows the events of the collection. Used by the other files of this
// folder; front thread.
import type { JobChange } from '../../contract/catalog-commands.js';
import type { StoredJob } from '../../contract/reindex.js';
import type { Context } from '../context.js';
import { toldJob } from './jobs.js';
import { retrying } from './retrying.js';

/** Resolves when it is on disk. Rejects where shard 0 stays away. */
export async function saveJob(
  context: Context,
  id: string,
  patch: Partial<StoredJob>,
  others: Omit<JobChange, 'job'> = {},
): Promise<StoredJob> {
  const job = showJob(context, id, patch);
  // Sent as it is then: of two that are on their way neither brings back what the other has changed.
  await retrying(async () => context.shards.ask(0, 'saveJob', { job: context.reindexJobs.find(id) ?? job, ...others }));
  return job;
}

/** As `saveJob`, without the commit: for what another transaction commits. */
export function showJob(
  { reindexJobs, catalog, events, nowMs }: Context,
  id: string,
  patch: Partial<StoredJob>,
): StoredJob {
  const before = reindexJobs.find(id) as StoredJob;
  const { tenant, name } = catalog.findByLog(before.log_id) ?? { tenant: before.tenant, name: before.collection };
  const job = reindexJobs.put({
    ...before,
    ...patch,
    tenant,
    collection: name,
    updated_at: new Date(nowMs()).toISOString(),
  });
  events.publish(job.log_id, 'job', toldJob(job));
  return job;
}
