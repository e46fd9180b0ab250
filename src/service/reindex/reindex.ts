// Use cases of reindex jobs: start, find, pause, resume and cancel a job, and roll back to the previous vector space.
// Invalid requests are rejected before anything is created. Runs on the main thread.
import type { Collection, Space } from '../../api/collections.js';
import { type StoredJob, logIdOf } from '../../storage/catalog-commands.js';
import { AppError, invalidField } from '../../api/errors.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import { shardsOf, spreadOf } from '../../api/placement.js';
import type { REINDEX_ROUTES, ReindexBody, ReindexJob, ReindexJobList, RolledBack } from '../../api/reindex.js';
import type { InputOf } from '../../api/route.js';
import { asUuid } from '../../base/uuids.js';
import { IDENTITY_TYPE, asksForEmbedder } from '../../embedding/spaces.js';
import { type CatalogContext, nowIso, switchCollection } from '../collections/catalog-changes.js';
import { spreadWithin } from '../collections/settings.js';
import type { Shadow } from '../collections/shadow-collections.js';
import { countCollection } from '../collections/usage.js';
import type { LeaderCalls } from '../cluster/leader-calls.js';
import type { Caller, UseCases } from '../use-case.js';
import { type Copy, copyMissing, writesBefore } from './copy.js';
import {
  type ReindexContext,
  beginFollowing,
  cancelled,
  changes,
  createJob,
  endFollowing,
  jobAnswer,
  saveJob,
} from './jobs.js';
import { beginRun } from './run-job.js';

type OfCollection = Pick<InputOf<typeof REINDEX_ROUTES.rollBack>, 'tenant' | 'name'>;
type WantedJob = OfCollection & { readonly body: ReindexBody };

/** What only the node does that runs the jobs. Inputs and answers are plain data. */
export const jobWorks = (context: ReindexContext) => {
  const change =
    (work: (context: ReindexContext, job: StoredJob) => Promise<StoredJob>) =>
    async ({ id }: { id: string }): Promise<ReindexJob> =>
      jobAnswer(await work(context, jobById(context, id)));
  return {
    start: ({ tenant, name, body }: WantedJob): Promise<ReindexJob> =>
      startReindex(context, tenant, name, body).then(jobAnswer),
    rollBack: ({ tenant, name }: OfCollection): Promise<RolledBack> =>
      goBack(context, tenant, name, new AbortController().signal),
    pause: change(pauseJob),
    resume: change(resumeJob),
    cancel: change(cancelJob),
  };
};

/** The node that runs the jobs, if that is not this one. */
const elsewhere = ({ leader }: ReindexContext): LeaderCalls | undefined =>
  leader?.isHere === false ? leader : undefined;

/** Starts a job on the node that runs the jobs. Throws as `startReindex`, and 503 `not_ready` where no node leads. */
export async function startJob(context: ReindexContext, { tenant, name, body }: WantedJob): Promise<ReindexJob> {
  const wanted = { tenant, name, body };
  return elsewhere(context)?.ask<ReindexJob>('start', wanted) ?? jobWorks(context).start(wanted);
}

export const reindexUseCases = (context: ReindexContext): UseCases<typeof REINDEX_ROUTES> => {
  const own = jobWorks(context);
  const start = (wanted: WantedJob): Promise<ReindexJob> => startJob(context, wanted);
  const change = (name: 'pause' | 'resume' | 'cancel', { job_id: id }: StoredJob): Promise<ReindexJob> =>
    elsewhere(context)?.ask<ReindexJob>(name, { id }) ?? own[name]({ id });
  const rollBackOf = ({ tenant, name }: OfCollection, { signal }: Caller): Promise<RolledBack> =>
    elsewhere(context)?.ask<RolledBack>('rollBack', { tenant, name }) ?? goBack(context, tenant, name, signal);
  return {
    startReindexAsAdmin: start,
    rollBackAsAdmin: rollBackOf,
    listAllReindexJobs: () => listed(allJobs(context)),
    getReindexJobAsAdmin: ({ job_id: id }) => jobAnswer(jobById(context, id)),
    cancelReindexAsAdmin: async ({ job_id: id }) => change('cancel', jobById(context, id)),
    pauseReindex: async ({ job_id: id }) => change('pause', jobById(context, id)),
    resumeReindex: async ({ job_id: id }) => change('resume', jobById(context, id)),
    startReindex: start,
    listReindexJobs: ({ tenant, name }) => listed(jobsOf(context, tenant, name)),
    getReindexJob: ({ tenant, name, job_id: id }) => jobAnswer(jobOf(context, tenant, name, id)),
    cancelReindex: async ({ tenant, name, job_id: id }) => change('cancel', jobOf(context, tenant, name, id)),
    rollBack: rollBackOf,
  };
};

async function goBack(
  context: ReindexContext,
  tenant: Tenant,
  name: CollectionName,
  signal: AbortSignal,
): Promise<RolledBack> {
  const collection = await rollBack(context, tenant, name, signal);
  const { embed_model, embedder_type, embedder_config, vector_space_key } = collection;
  return { tenant, collection: name, embed_model, embedder_type, embedder_config, vector_space_key };
}

function listed(jobs: readonly StoredJob[]): ReindexJobList {
  return { jobs: jobs.map(jobAnswer), count: jobs.length };
}

/**
 * Throws 404 `collection_not_found`, 400 `reindex_invalid`, 409 `reindex_conflict`, 422 for fields that do not go
 * together, and 503 `embedder_unavailable`.
 */
async function startReindex(
  context: ReindexContext,
  tenant: Tenant,
  name: CollectionName,
  wish: ReindexBody,
): Promise<StoredJob> {
  const { store, jobs } = context;
  const live = store.catalog.get(tenant, name);
  const space = targetOf(context, live, wish);
  return jobs.acquire(logIdOf(live), async () => {
    if (space !== live) await checkCopyable(context, live, space);
    const { chunks } = await countCollection(store, live);
    const job = plannedJob(context, live, space, wish, chunks);
    const created = await createJob(context, live, space, job);
    beginRun(context, created);
    return jobs.find(created.job_id) as StoredJob;
  });
}

/** The target vector space; the collection itself if it is only built anew, in the same shards or in others. */
function targetOf({ embedders, store }: ReindexContext, live: Collection, wish: ReindexBody): Space {
  const isAsked = asksForEmbedder(wish);
  if (wish.partitions != null) {
    checkSpread(live, wish, isAsked, store.shards.size);
    return live;
  }
  if (wish.compact && isAsked) throw new AppError('reindex_invalid', 'A compaction cannot change the embedder.');
  if (wish.compact) return live;
  if (!isAsked) throw invalidField(['body'], 'Provide an embedder, `compact` or `partitions`.', 'value_error');
  if (live.embedder_type === IDENTITY_TYPE)
    throw new AppError('reindex_invalid', 'The collection holds vectors only; there are no texts to embed.');
  const space = spaceFor(() => embedders.spaceFor(live.tenant, wish));
  if (space.embedder_type === IDENTITY_TYPE)
    throw new AppError('reindex_invalid', 'The target has no embedder, so no vectors can be computed for it.');
  if (space.vector_space_key === live.vector_space_key)
    throw new AppError('reindex_invalid', 'The collection already has this vector space.');
  return space;
}

/** Throws a 422 for a number of shards that is not there or for fields that it does not go with. */
function checkSpread(
  live: Collection,
  { partitions, compact, keep_previous_seconds: kept }: ReindexBody,
  isAsked: boolean,
  shards: number,
): void {
  const spread = spreadWithin(partitions as number, shards);
  const at = ['body', 'partitions'];
  if (isAsked || compact)
    throw invalidField(
      at,
      '`partitions` keeps the embedder and builds the graph anew: provide it alone.',
      'value_error',
    );
  if (kept)
    throw invalidField(
      ['body', 'keep_previous_seconds'],
      'Nothing is kept when a collection is spread: to go back, start a job with the former `partitions`.',
      'value_error',
    );
  if (spreadOf(live, shards) === spread)
    throw new AppError('reindex_invalid', `The collection already has that number of partitions: ${spread}.`);
}

function spaceFor(choose: () => Space): Space {
  try {
    return choose();
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_embedder_config')
      throw new AppError('reindex_invalid', error.message);
    throw error;
  }
}

async function checkCopyable(context: ReindexContext, live: Collection, space: Space): Promise<void> {
  await context.embedders.preflight(space, live.tenant);
  const { shards } = context.store;
  await Promise.all(
    shardsOf(live, shards.size).map(async (shard) => {
      for (let after: string | null | undefined; after !== null; ) {
        const found: { after: string | null; docid: string | null } = await shards.request(shard, 'findTextless', {
          collection: live.id,
          after,
        });
        if (found.docid !== null)
          throw new AppError('reindex_invalid', 'The collection has chunks without a text, which cannot be embedded.', {
            details: { docid: found.docid },
          });
        ({ after } = found);
      }
    }),
  );
}

function plannedJob(
  { store, jobs }: ReindexContext,
  live: Collection,
  space: Space,
  { compact, partitions, gate, keep_previous_seconds: kept }: ReindexBody,
  chunks: number,
): StoredJob {
  const now = nowIso(store);
  const { embed_model, embedder_type, embedder_config } = space;
  return {
    job_id: jobs.nextId(store.nowMs()),
    tenant: live.tenant,
    collection: live.name,
    status: 'queued',
    target: { embed_model, embedder_type, embedder_config },
    total_chunks: chunks,
    completed_chunks: 0,
    created_at: now,
    updated_at: now,
    started_at: null,
    finished_at: null,
    ...(compact && { compact: true as const }),
    ...(partitions != null && { partitions }),
    ...(gate && { gate }),
    keep_previous_seconds: kept ?? 0,
    log_id: logIdOf(live),
    staged_id: null,
    cursors: Array.from({ length: store.shards.size }, () => ''),
  };
}

/** All jobs, newest first. */
const allJobs = ({ jobs }: ReindexContext): StoredJob[] => jobs.all();

/** The jobs of a collection, newest first. Throws 404 `collection_not_found`. */
const jobsOf = ({ store, jobs }: ReindexContext, tenant: Tenant, name: CollectionName): StoredJob[] =>
  jobs.ofCollection(logIdOf(store.catalog.get(tenant, name)));

/** Throws 404 `reindex_job_not_found`, also for an invalid id. */
function jobById({ jobs }: ReindexContext, id: string): StoredJob {
  const known = asUuid(id);
  const job = known === undefined ? undefined : jobs.find(known);
  if (!job) throw new AppError('reindex_job_not_found');
  return job;
}

/** Like `jobById`; a job of another tenant or collection counts as not found. */
function jobOf(context: ReindexContext, tenant: Tenant, name: CollectionName, id: string): StoredJob {
  const job = jobById(context, id);
  const collection = context.store.catalog.find(tenant, name);
  if (!collection || logIdOf(collection) !== job.log_id) throw new AppError('reindex_job_not_found');
  return job;
}

/**
 * Pauses a job once its current page is on disk. If the job is already in a state that the request leads to, returns
 * the record unchanged; the same holds for resume and cancel. Throws 409 `reindex_state_conflict`.
 */
async function pauseJob(context: ReindexContext, job: StoredJob): Promise<StoredJob> {
  if (!changes('pause', job.status)) return job;
  const run = context.jobs.runs.get(job.job_id);
  if (!run) return saveJob(context, job.job_id, { status: 'paused' });
  const pausing = saveJob(context, job.job_id, { status: 'pausing' });
  void run.stop('pause');
  await pausing;
  return latest(context, job);
}

/**
 * Continues from the last stored page. Throws 409 `reindex_state_conflict`, and `reindex_conflict` if another job was
 * started since this one failed.
 */
async function resumeJob(context: ReindexContext, job: StoredJob): Promise<StoredJob> {
  const { jobs, store } = context;
  if (!changes('resume', job.status)) return job;
  if (job.staged_id === null || !store.shadows.find(job.staged_id))
    throw new AppError('reindex_state_conflict', 'The shadow collection of the job is gone; start another job.');
  const resume = async (): Promise<void> => {
    // A run that is just failing or pausing writes its final state first.
    await jobs.runs.get(job.job_id)?.stop('pause');
    await saveJob(context, job.job_id, { status: 'queued' });
    beginRun(context, job);
  };
  await (job.status === 'failed' ? jobs.acquire(job.log_id, resume) : resume());
  return latest(context, job);
}

/** Resolves when only the record of the job is left. Throws 409 `reindex_state_conflict`. */
async function cancelJob(context: ReindexContext, job: StoredJob): Promise<StoredJob> {
  const run = context.jobs.runs.get(job.job_id);
  // A cancellation that could not be written is completed when it is requested again.
  if (!changes('cancel', job.status) && job.status !== 'cancelling') return job;
  if (run?.isSwitching)
    throw new AppError(
      'reindex_state_conflict',
      'The job is switching to the new vector space and cannot be cancelled.',
    );
  const cancelling = saveJob(context, job.job_id, { status: 'cancelling' });
  const ended = run?.stop('cancel');
  await cancelling;
  await ended;
  // A run that was just pausing or failing has overwritten the state.
  if (latest(context, job).status === 'cancelling') await cancelled(context, job.job_id);
  return latest(context, job);
}

const latest = ({ jobs }: ReindexContext, { job_id: id }: StoredJob): StoredJob => jobs.find(id) as StoredJob;

/**
 * Switches a collection back to the vector space it had before its last reindex, while that is kept. Documents written
 * since are in both collections or are copied now. Returns the collection after the switch. Throws 404
 * `collection_not_found`, 409 `reindex_conflict` while a job works on the collection, and 409 `reindex_state_conflict`
 * if nothing is kept or the kept collection cannot be completed.
 */
function rollBack(
  context: ReindexContext,
  tenant: Tenant,
  name: CollectionName,
  signal: AbortSignal,
): Promise<Collection> {
  const { store, embedders, shardsCopied, jobs } = context;
  const live = store.catalog.get(tenant, name);
  return jobs.acquire(logIdOf(live), async () => {
    const previous = keptOf(store, live);
    const { shadows } = store;
    shadows.setMode(previous.id, 'require');
    try {
      const check = (): void => signal.throwIfAborted();
      await beginFollowing(context, live, previous.id);
      await copyRest({ store, embedders, shardsCopied, source: live, shadow: previous.collection, signal, check });
      await endFollowing(context, previous.id);
      return await switchCollection(store, previous.id, { expect: live.id });
    } catch (error) {
      await endFollowing(context, live.id, previous.id);
      throw error;
    } finally {
      if (shadows.find(previous.id)) shadows.setMode(previous.id, 'embed');
    }
  });
}

function keptOf({ shadows, nowMs }: CatalogContext, live: Collection): Shadow {
  const [previous] = shadows.beside(live.id, 'previous');
  if (!previous || (previous.kept_until_ms ?? 0) <= nowMs())
    throw new AppError('reindex_state_conflict', 'No previous vector space of the collection is kept.');
  return previous;
}

async function copyRest(copy: Copy): Promise<void> {
  try {
    await writesBefore(copy);
    while ((await copyMissing(copy)) > 0);
  } catch (error) {
    const isStale =
      error instanceof AppError && (error.code === 'embedder_unavailable' || error.code === 'reindex_invalid');
    if (isStale)
      throw new AppError(
        'reindex_state_conflict',
        'The previous vector space lacks documents that were written since, and they cannot be embedded for it.',
        { details: { reason: 'stale' } },
      );
    throw error;
  }
}
