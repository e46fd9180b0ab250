// The lines of the route table for reindex jobs, for going back, and for the events of a collection.
// Called by ../routes.ts.
import type { Context } from '../../service/context.js';
import { getEvents } from '../endpoints/events.js';
import {
  deleteJob,
  deleteJobAsAdmin,
  getJob,
  getJobAsAdmin,
  getJobs,
  getJobsAsAdmin,
  postPause,
  postReindex,
  postResume,
  postRollback,
} from '../endpoints/reindex.js';
import type { Route } from '../route.js';
import { admin, COLLECTION, get, post, READ_ONE, remove } from './kit.js';

const REINDEX = `${COLLECTION}/reindex`;
const ADMIN_COLLECTION = '/v1/admin/collections/{tenant}/{name}';
const ADMIN_JOBS = '/v1/admin/reindex';
const ADMIN_JOB = `${ADMIN_JOBS}/{job_id}`;
const CHANGE_JOB = [200, 401, 403, 404, 409, 422, 500];
const ROLL_BACK = [200, 401, 403, 404, 409, 422, 500, 503];

export function reindexRoutes(context: Context): Route[] {
  return [
    admin(
      post(
        'startReindexAsAdmin',
        `${ADMIN_COLLECTION}/reindex`,
        [202, 400, 401, 403, 404, 409, 422, 500, 503],
        postReindex(context, 202),
      ),
    ),
    admin({
      ...post('rollBackAsAdmin', `${ADMIN_COLLECTION}/rollback`, ROLL_BACK, postRollback(context)),
      body: 'none',
    }),
    admin(get('listAllReindexJobs', ADMIN_JOBS, [200, 401, 403, 422, 500], getJobsAsAdmin(context))),
    admin(get('getReindexJobAsAdmin', ADMIN_JOB, [200, 401, 403, 404, 422, 500], getJobAsAdmin(context))),
    admin(remove('cancelReindexAsAdmin', ADMIN_JOB, CHANGE_JOB, deleteJobAsAdmin(context))),
    admin({ ...post('pauseReindex', `${ADMIN_JOB}/pause`, CHANGE_JOB, postPause(context)), body: 'none' }),
    admin({ ...post('resumeReindex', `${ADMIN_JOB}/resume`, CHANGE_JOB, postResume(context)), body: 'none' }),
    {
      ...post('startReindex', REINDEX, [200, 400, 401, 403, 404, 409, 422, 429, 500, 503], postReindex(context, 200)),
      scope: 'manage',
    },
    get('listReindexJobs', REINDEX, READ_ONE, getJobs(context)),
    get('getReindexJob', `${REINDEX}/{job_id}`, READ_ONE, getJob(context)),
    {
      ...remove(
        'cancelReindex',
        `${REINDEX}/{job_id}`,
        [200, 400, 401, 403, 404, 409, 422, 429, 500],
        deleteJob(context),
      ),
      scope: 'manage',
    },
    {
      ...post('rollBack', `${COLLECTION}/rollback`, [...ROLL_BACK, 429], postRollback(context)),
      body: 'none',
      scope: 'manage',
    },
    get('collectionEvents', `${COLLECTION}/events`, READ_ONE, getEvents(context)),
  ];
}
