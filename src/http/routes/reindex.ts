// Reindex jobs: start, look at, pause, resume, cancel; and going back to the space before.
// Handlers on the front thread: body in, use case, reply out. The route table (routes/reindex.ts) names them.
import typia from 'typia';
import type { ErrorCode } from '../../api/errors.js';
import type { ReindexBody, ReindexJob, ReindexJobList, RolledBack } from '../../api/reindex.js';
import type { EventType } from '../../service/events/event-hub.js';
import { toldJob } from '../../service/reindex/jobs.js';
import {
  allJobs,
  cancelJob,
  jobById,
  jobOf,
  jobsOf,
  pauseJob,
  resumeJob,
  rollBack,
  startReindex,
} from '../../service/reindex/reindex.js';
import type { Services } from '../../service/services.js';
import { fitting, parseJson } from '../json-body.js';
import { type Operation, jsonAnswer, jsonRequest } from '../openapi/operation.js';
import type { Schema } from '../../api/route.js';
import { COLLECTION } from '../../api/route.js';
import {
  type Handler,
  READ_ONE,
  type Reply,
  type Request,
  type ListedRoute,
  admin,
  collectionOf,
  get,
  param,
  post,
  remove,
} from '../route.js';
import { getEvents } from './events.js';

const validateBody = typia.createValidateEquals<ReindexBody>();

type Job = ReturnType<typeof jobById>;

const postReindex =
  (context: Services['reindex'], status: 200 | 202): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const wish = fitting(validateBody(parseJson(await request.body.bytes(), true) ?? {}), 'body');
    return { status, json: toldJob(await startReindex(context, tenant, name, wish)) };
  };

const getJobs =
  (context: Services['reindex']): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    return listed(jobsOf(context, tenant, name));
  };

const getJobsAsAdmin =
  (context: Services['reindex']): Handler =>
  async () =>
    listed(allJobs(context));

const getJob =
  (context: Services['reindex']): Handler =>
  async (request) => ({ status: 200, json: toldJob(ownJob(context, request)) });

const getJobAsAdmin =
  (context: Services['reindex']): Handler =>
  async (request) => ({ status: 200, json: toldJob(anyJob(context, request)) });

const deleteJob =
  (context: Services['reindex']): Handler =>
  async (request) => ({ status: 200, json: toldJob(await cancelJob(context, ownJob(context, request))) });

const changed =
  (change: typeof pauseJob) =>
  (context: Services['reindex']): Handler =>
  async (request) => ({ status: 200, json: toldJob(await change(context, anyJob(context, request))) });

const deleteJobAsAdmin = changed(cancelJob);
const postPause = changed(pauseJob);
const postResume = changed(resumeJob);

const postRollback =
  (context: Services['reindex']): Handler =>
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

function listed(jobs: readonly Job[]): Reply {
  return { status: 200, json: { jobs: jobs.map(toldJob), count: jobs.length } satisfies ReindexJobList };
}

const anyJob = (context: Services['reindex'], request: Request): Job => jobById(context, param(request, 'job_id'));

const ownJob = (context: Services['reindex'], request: Request): Job =>
  jobOf(context, ...collectionOf(request), param(request, 'job_id'));

// The lines of the route table for reindex jobs, for going back, and for the events of a collection.
// Called by ../routes.ts.

const REINDEX = `${COLLECTION}/reindex`;
const ADMIN_COLLECTION = '/v1/admin/collections/{tenant}/{name}';
const ADMIN_JOBS = '/v1/admin/reindex';
const ADMIN_JOB = `${ADMIN_JOBS}/{job_id}`;
const CHANGE_JOB = [200, 401, 403, 404, 409, 422, 500];
const ROLL_BACK = [200, 401, 403, 404, 409, 422, 500, 503];

export function reindexRoutes({ reindex: context, events }: Pick<Services, 'reindex' | 'events'>): ListedRoute[] {
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
    get('collectionEvents', `${COLLECTION}/events`, READ_ONE, getEvents(events)),
  ];
}

// Entries of the reindex operations, of going back, and of the events of a collection.
// Read by ../operations.ts. Constants.

const tag = 'Reindex jobs' as const;

const JOB: ReindexJob = {
  job_id: '0198c2f5-3b1c-7c44-b0a1-5e2f7d9c8a10',
  tenant: 'acme',
  collection: 'docs',
  status: 'running',
  target: { embed_model: 'all-MiniLM-L6-v2', embedder_type: 'onnx', embedder_config: { dim: 384 } },
  total_chunks: 468,
  completed_chunks: 128,
  created_at: '2026-01-05T10:02:11.902Z',
  updated_at: '2026-01-05T10:02:13.480Z',
  started_at: '2026-01-05T10:02:11.910Z',
  finished_at: null,
  gate: { min_overlap: 0.8, last_n: 100 },
  keep_previous_seconds: 3600,
  rate: 81.3,
  eta_seconds: 4,
};
const PAUSED: ReindexJob = { ...JOB, status: 'paused' };
const CANCELLED: ReindexJob = { ...JOB, status: 'cancelled', finished_at: '2026-01-05T10:02:14.001Z' };
const ROLLED_BACK: RolledBack = {
  tenant: 'acme',
  collection: 'docs',
  embed_model: 'static-minilm-512',
  embedder_type: 'builtin',
  embedder_config: {},
  vector_space_key: 'builtin:static-minilm-512:dim=512',
};

const START_CODES: readonly ErrorCode[] = [
  'collection_not_found',
  'reindex_invalid',
  'reindex_conflict',
  'embedder_unavailable',
  'storage_full',
];
const CHANGE_CODES: readonly ErrorCode[] = ['reindex_job_not_found', 'reindex_state_conflict', 'storage_full'];

const start = {
  tag,
  description:
    'Texts are embedded anew into a space beside the one that is searched, which takes over in one step when it has all; or, with `compact`, memory and graph are made anew. Documents written meanwhile are in both. Progress is durable: a job goes on after a restart.',
  request: {
    required: true,
    content: jsonRequest('ReindexBody', {
      model: {
        embedder_type: 'onnx',
        embed_model: 'all-MiniLM-L6-v2',
        gate: { min_overlap: 0.8, last_n: 100 },
        keep_previous_seconds: 3600,
      },
      compact: { compact: true },
    }),
  },
  answer: jsonAnswer('ReindexJob', { ...JOB, status: 'queued', completed_chunks: 0, started_at: null }),
  codes: START_CODES,
};
const list = { tag, answer: jsonAnswer('ReindexJobList', { jobs: [JOB], count: 1 }) };
const cancel = {
  tag,
  description: 'What was built goes; the collection stays as it is.',
  answer: jsonAnswer('ReindexJob', CANCELLED),
  codes: CHANGE_CODES,
};
const ROLL_BACK_DOCS = {
  tag,
  description:
    'While the space before the last reindex is kept (`keep_previous_seconds`). What was written since is in both.',
  answer: jsonAnswer('RolledBack', ROLLED_BACK),
  codes: ['collection_not_found', 'reindex_conflict', 'reindex_state_conflict', 'storage_full'] as readonly ErrorCode[],
};
/** One event, as the format of the HTML standard has it: `data` is JSON in a string. */
const event = (type: EventType, contentSchema: Schema): Schema => ({
  type: 'object',
  required: ['id', 'event', 'data'],
  properties: {
    id: { type: 'string', pattern: '^\\d+$' },
    event: { const: type },
    data: { type: 'string', contentMediaType: 'application/json', contentSchema },
  },
});

const COUNT: Schema = { type: 'integer', minimum: 0 };

/** Events come one after the other; OpenAPI 3.1 has no words for that, so the schema is that of each. */
const EVENT: Schema = {
  description: 'Each event of the stream.',
  oneOf: [
    event('job', {
      type: 'object',
      required: ['job_id', 'tenant', 'collection', 'status', 'total_chunks', 'completed_chunks'],
    }),
    event('ingest', {
      type: 'object',
      required: ['documents', 'chunks', 'docids'],
      properties: { documents: COUNT, chunks: COUNT, docids: { type: 'array', items: { type: 'string' } } },
    }),
    event('delete', {
      type: 'object',
      required: ['docid', 'chunks'],
      properties: { docid: { type: 'string' }, chunks: COUNT },
    }),
    event('collection', {
      type: 'object',
      required: ['change', 'tenant', 'collection'],
      properties: { change: { enum: ['settings', 'switched', 'deleted'] } },
    }),
    event('reset', { type: 'object' }),
  ],
};
const INGESTED = { id: '1767606131902001', event: 'ingest', data: '{"documents":1,"chunks":4,"docids":["nemo"]}' };

export const REINDEX_OPERATIONS = {
  startReindex: { ...start, summary: 'Rebuild the vectors of a collection' },
  startReindexAsAdmin: { ...start, summary: 'Rebuild the vectors of a collection of any tenant' },
  listReindexJobs: {
    ...list,
    summary: 'The reindex jobs of a collection',
    description: 'Newest first.',
    codes: ['collection_not_found'],
  },
  listAllReindexJobs: { ...list, summary: 'The reindex jobs of all tenants', description: 'Newest first.' },
  getReindexJob: {
    tag,
    summary: 'A reindex job of a collection',
    answer: jsonAnswer('ReindexJob', JOB),
    codes: ['reindex_job_not_found'],
  },
  getReindexJobAsAdmin: {
    tag,
    summary: 'A reindex job of any tenant',
    answer: jsonAnswer('ReindexJob', JOB),
    codes: ['reindex_job_not_found'],
  },
  cancelReindex: { ...cancel, summary: 'Cancel a reindex job' },
  cancelReindexAsAdmin: { ...cancel, summary: 'Cancel a reindex job of any tenant' },
  pauseReindex: {
    tag,
    summary: 'Pause a reindex job',
    description: 'When the batch that is under way is on disk.',
    answer: jsonAnswer('ReindexJob', PAUSED),
    codes: CHANGE_CODES,
  },
  resumeReindex: {
    tag,
    summary: 'Resume a paused or failed reindex job',
    description: 'From the batches that are on disk.',
    answer: jsonAnswer('ReindexJob', { ...JOB, status: 'queued' }),
    codes: [...CHANGE_CODES, 'reindex_conflict'],
  },
  rollBack: { ...ROLL_BACK_DOCS, summary: 'Go back to the space before the last reindex' },
  rollBackAsAdmin: { ...ROLL_BACK_DOCS, summary: 'Go back to the space before the last reindex, in any tenant' },
  collectionEvents: {
    tag: 'Collections',
    summary: 'Follow what happens to a collection',
    description:
      'Server-sent events `job` (the record of a reindex job), `ingest`, `delete` and `collection`. Ids grow; `Last-Event-ID` goes on behind one, with an event `reset` first where some events behind it are not kept any more. A reader that falls behind is cut off.',
    query: [
      { name: 'last_event_id', description: 'In place of the header `Last-Event-ID`.', schema: { type: 'string' } },
    ],
    answer: { 'text/event-stream': { schema: EVENT, examples: { ingest: INGESTED } } },
    codes: ['collection_not_found'],
  },
} satisfies Record<string, Operation>;
