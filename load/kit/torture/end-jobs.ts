// At the end of a run every job comes to its own: what is paused goes on, and then all of them end, those of collections that are gone too.
// Used by load/torture.ts and load/operations.ts.
import { setTimeout as sleep } from 'node:timers/promises';
import { JobCalls } from './job-calls.js';
import type { Work } from './lanes.js';
import { isPaused, withJob } from './reindexing.js';

const CHECK_MS = 50;
const CHECKS_MAX = 1200;
const ENDED: readonly string[] = ['cancelled', 'failed', 'succeeded'];

/** Requires that all slots have just been checked. */
export async function endJobs({ url, slots, tally }: Work): Promise<void> {
  const jobs = new JobCalls(url);
  for (const slot of slots.filter(({ state }) => isPaused(state.reindexing))) {
    const { reindexing } = slot.state;
    await jobs.control(reindexing.job?.id as string, 'resume');
    slot.state = { ...slot.state, reindexing: withJob(reindexing, 'queued') };
  }
  for (let checks = 0; ; checks++) {
    const live = (await jobs.listAll()).filter(({ status }) => !ENDED.includes(status));
    if (live.length === 0) return;
    if (checks === CHECKS_MAX) return void tally.violations.push(...live.map(({ job_id: id, tenant, collection, status }) => `job ${id} of ${tenant}/${collection} does not end: it is ${status}`));
    await sleep(CHECK_MS);
  }
}
