// Operations on the reindex jobs of a slot. A job goes on while its writer goes on with other operations; what has
// become of it is seen when the writer looks at it again. Entries of the table in operations.ts.
import type { ReindexBody, ReindexJob, ReindexStatus } from '../../../src/contract/api/reindex.js';
import type { SheafClient } from '../../../src/client/client.js';
import { changeState, unlessRefused, type Lane } from './change.js';
import { findJobs } from './find-jobs.js';
import { contradiction, isLive, isPaused, seen, withJob, type KnownJob, type Reindexing } from './reindexing.js';
import { otherSpace } from './spaces.js';
import { count } from './tally.js';
import type { Slot } from './world.js';

type Control = 'pause' | 'resume' | 'cancel';

const KEPT_SECONDS = 3600;
const STATES: Readonly<Record<Control, ReindexStatus>> = { pause: 'pausing', resume: 'queued', cancel: 'cancelling' };

/** Into the other space, or into memory and graph that are new. Requires that no job is at work. */
export async function reindex(lane: Lane): Promise<void> {
  const { client, slot, prng } = lane;
  const { reindexing } = slot.state;
  const space = reindexing.space as string;
  const isCompact = slot.kind === 'vectors' || prng.int(3) === 0;
  const to = isCompact ? space : otherSpace(space);
  const keeps = prng.int(2) === 0;
  const overlap = [undefined, undefined, 0, 1][prng.int(4)];
  const body: ReindexBody = {
    ...(isCompact ? { compact: true } : { embedder: to }),
    ...(keeps && { keep_previous_seconds: KEPT_SECONDS }),
    ...(overlap !== undefined && { gate: { min_overlap: overlap, last_n: 4 } }),
  };
  const job: KnownJob = {
    id: undefined,
    after: reindexing.job?.id,
    status: 'queued',
    to,
    keeps,
    mayFail: overlap === 1,
    isIdle: false,
  };
  let started: ReindexJob | undefined;
  await changeState(
    lane,
    { reindexing: { ...reindexing, job } },
    async () => (started = await client.reindex.start(slot.tenant, slot.name as string, body)),
  );
  setReindexing(lane, { ...reindexing, job: { ...job, id: (started as ReindexJob).job_id } });
}

/** Pauses what goes, resumes what pauses, cancels either; or only looks. Requires a job. */
export async function steer(lane: Lane): Promise<void> {
  const { client, slot, prng } = lane;
  const { reindexing } = slot.state;
  const wish = [
    isPaused(reindexing) ? 'resume' : 'pause',
    isPaused(reindexing) ? 'resume' : undefined,
    'cancel',
    undefined,
  ][prng.int(4)] as Control | undefined;
  const { id, isIdle } = reindexing.job as KnownJob;
  // It may be in a state by now in which it cannot be.
  if (wish !== undefined && !isIdle)
    await unlessRefused(lane, ['reindex_state_conflict'], () =>
      changeState(lane, { reindexing: withJob(reindexing, STATES[wish]) }, () =>
        control(client, slot, id as string, wish),
      ),
    );
  await look(lane);
}

/** Back to the space before. Requires that no job is at work. */
export async function rollBack(lane: Lane): Promise<void> {
  const { client, slot } = lane;
  const { wayBack, job } = slot.state.reindexing;
  const refusals = wayBack === null || wayBack === undefined ? ['reindex_state_conflict'] : [];
  let space: string | undefined;
  const back = async (): Promise<void> =>
    void (space = (await client.reindex.rollBack(slot.tenant, slot.name as string)).vector_space_key);
  await unlessRefused(lane, refusals, () =>
    changeState(lane, { reindexing: { job, space: wayBack ?? undefined, wayBack: null } }, back),
  );
  if (space === undefined) return;
  if (wayBack === null) throw new Error(`${slot.tenant}/${slot.name} went back to ${space}, and nothing was kept`);
  await look(lane);
}

/** Takes over what has become of the latest job. */
export async function look({ client, slot, tally }: Lane): Promise<void> {
  const { tenant, name, state } = slot;
  const found = await findJobs(client, tenant, name as string);
  const contradicted = contradiction(state.reindexing, found);
  if (contradicted !== undefined) throw new Error(`${tenant}/${name}: ${contradicted}`);
  const reindexing = seen(state.reindexing, found);
  if (isLive(state.reindexing) && !isLive(reindexing)) count(tally.jobs, (reindexing.job as KnownJob).status);
  slot.state = { ...slot.state, reindexing };
}

function control(
  { reindex: jobs }: SheafClient,
  { tenant, name }: Slot,
  id: string,
  wish: Control,
): Promise<ReindexJob> {
  return wish === 'cancel' ? jobs.cancel(tenant, name as string, id) : jobs[wish](id);
}

function setReindexing({ slot }: Lane, reindexing: Reindexing): void {
  slot.state = { ...slot.state, reindexing };
}
