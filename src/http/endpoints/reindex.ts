// Reindex jobs: start, look at, pause, resume, cancel; and going back to the space before.
// Handlers on the front thread: body in, use case, reply out. The route table (routes/reindex.ts) names them.
import typia from 'typia';
import type { ReindexBody, ReindexJobList, RolledBack } from '../../contract/api/reindex.js';
import { AppError } from '../../contract/errors.js';
import type { StoredJob } from '../../contract/reindex.js';
import { logIdOf } from '../../contract/resources.js';
import type { Context } from '../../service/context.js';
import { asQueryId } from '../../service/query-ids.js';
import { cancelJob, pauseJob, resumeJob } from '../../service/reindex/control-job.js';
import { toldJob } from '../../service/reindex/jobs.js';
import { rollBack } from '../../service/reindex/rollback.js';
import { startReindex } from '../../service/reindex/start-job.js';
import type { Handler, Reply, Request } from '../route.js';
import { fitting, parseJson } from '../validation.js';
import { collectionOf, param } from './path.js';

const validateBody = typia.createValidateEquals<ReindexBody>();

type Change = (context: Context, job: StoredJob) => Promise<StoredJob>;

export const postReindex =
  (context: Context, status: 200 | 202): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const wish = fitting(validateBody(parseJson(await request.body.bytes(), true) ?? {}), 'body');
    return { status, json: toldJob(await startReindex(context, tenant, name, wish)) };
  };

export const getJobs =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    return listed(context.reindexJobs.ofCollection(logIdOf(context.catalog.get(tenant, name))));
  };

export const getJobsAsAdmin =
  (context: Context): Handler =>
  async () =>
    listed(context.reindexJobs.all());

export const getJob =
  (context: Context): Handler =>
  async (request) => ({ status: 200, json: toldJob(ownJob(context, request)) });

export const getJobAsAdmin =
  (context: Context): Handler =>
  async (request) => ({ status: 200, json: toldJob(anyJob(context, request)) });

export const deleteJob =
  (context: Context): Handler =>
  async (request) => ({ status: 200, json: toldJob(await cancelJob(context, ownJob(context, request))) });

const changed =
  (change: Change) =>
  (context: Context): Handler =>
  async (request) => ({ status: 200, json: toldJob(await change(context, anyJob(context, request))) });

export const deleteJobAsAdmin = changed(cancelJob);
export const postPause = changed(pauseJob);
export const postResume = changed(resumeJob);

export const postRollback =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const { embed_model, embedder_type, embedder_config, vector_space_key } = await rollBack(
      context,
      tenant,
      name,
      request.signal,
    );
    return {
      status: 200,
      json: {
        tenant,
        collection: name,
        embed_model,
        embedder_type,
        embedder_config,
        vector_space_key,
      } satisfies RolledBack,
    };
  };

function listed(jobs: readonly StoredJob[]): Reply {
  return { status: 200, json: { jobs: jobs.map(toldJob), count: jobs.length } satisfies ReindexJobList };
}

/** Throws 404 `reindex_job_not_found`, also for an id that is none. */
function anyJob({ reindexJobs }: Context, request: Request): StoredJob {
  const id = asQueryId(param(request, 'job_id'));
  const job = id === undefined ? undefined : reindexJobs.find(id);
  if (!job) throw new AppError('reindex_job_not_found');
  return job;
}

/** Jobs of other tenants or collections are not found either. */
function ownJob(context: Context, request: Request): StoredJob {
  const [tenant, name] = collectionOf(request);
  const job = anyJob(context, request);
  const collection = context.catalog.find(tenant, name);
  if (!collection || logIdOf(collection) !== job.log_id) throw new AppError('reindex_job_not_found');
  return job;
}
