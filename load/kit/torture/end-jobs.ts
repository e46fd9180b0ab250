// At the end of a run every job comes to its own: what is paused goes on, and then all of them end, those of
// collections that are gone too. Used by load/torture.ts and load/operations.ts.
import { setTimeout as sleep } from 'node:timers/promises';
import { SheafClient } from '../../../src/client/client.js';
import { checkAll, type Work } from './lanes.js';
import { hasEnded, isPaused, withJob } from './reindexing.js';

const CHECK_MS = 50;
const CHECKS_MAX = 1200;

/** Requires that all slots have just been checked, and checks them again once all jobs have ended. */
export async function endJobs(work: Work): Promise<void> {
  const { url, slots, tally } = work;
  const { reindex } = new SheafClient({ url });
  for (const slot of slots.filter(({ state }) => isPaused(state.reindexing))) {
    const { reindexing } = slot.state;
    await reindex.resume(reindexing.job?.id as string);
    slot.state = { ...slot.state, reindexing: withJob(reindexing, 'queued') };
  }
  for (let checks = 0; ; checks++) {
    const live = (await reindex.listAll()).jobs.filter(({ status }) => !hasEnded(status));
    if (live.length === 0) return checkAll(work, 'after all jobs');
    if (checks === CHECKS_MAX)
      return void tally.violations.push(
        ...live.map(
          ({ job_id: id, tenant, collection, status }) =>
            `job ${id} of ${tenant}/${collection} does not end: it is ${status}`,
        ),
      );
    await sleep(CHECK_MS);
  }
}
