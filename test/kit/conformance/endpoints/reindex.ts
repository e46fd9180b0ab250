// The rows of reindex jobs, in tenant and admin form. These servers have only the built-in embedder, so jobs that
// succeed are compactions.
import { ANSWERS } from '../shapes.js';
import { BAD_SEGMENT, type Compose, type Endpoint, NO_SLUG, READ_ONE, UNKNOWN_ID } from '../endpoint.js';

const SAME_SPACE = { embedder_type: 'builtin' };
const ADMIN_JOB = '/v1/admin/reindex/{job_id}';
const CHANGE = [401, 403, 404, 409, 422, 500];

const start =
  (base: string, body: unknown, name?: string): Compose =>
  async ({ tenant, fresh }) => ({ path: `${base}/${tenant}/${name ?? (await fresh())}/reindex`, body });
const startBeside =
  (base: string): Compose =>
  async ({ tenant, job }) => ({
    path: `${base}/${tenant}/${(await job('paused')).collection}/reindex`,
    body: { compact: true },
  });

const starts = (base: string, success: number, others: readonly number[], access: Endpoint['access']): Endpoint => ({
  method: 'POST',
  path: `${base}/{tenant}/{name}/reindex`,
  access,
  success,
  others,
  answer: ANSWERS.reindexJob,
  valid: start(base, { compact: true }),
  provoke: {
    400: start(base, SAME_SPACE),
    404: start(base, { compact: true }, 'none'),
    409: startBeside(base),
    422: start(base, {}),
  },
});

type Status = Parameters<Parameters<Compose>[0]['job']>[0];
const own =
  (status: Status): Compose =>
  async ({ tenant, job }) => {
    const { collection, id } = await job(status);
    return { path: `/v1/collections/${tenant}/${collection}/reindex/${id}` };
  };
const any =
  (status: Status, rest = ''): Compose =>
  async ({ job }) => ({ path: `/v1/admin/reindex/${(await job(status)).id}${rest}` });
const at =
  (path: string): Compose =>
  () => ({ path });

const OWN_JOB = {
  path: '/v1/collections/{tenant}/{name}/reindex/{job_id}',
  access: 'tenant',
  success: 200,
  answer: ANSWERS.reindexJob,
} as const;
const OWN_CLIENT_ERRORS = {
  404: at(`/v1/collections/acme/docs/reindex/${UNKNOWN_ID}`),
  422: at(`/v1/collections/acme/docs/reindex/${BAD_SEGMENT}`),
};
const anyClientErrors = (rest = ''): Record<number, Compose> => ({
  404: at(`/v1/admin/reindex/${UNKNOWN_ID}${rest}`),
  422: at(`/v1/admin/reindex/${BAD_SEGMENT}${rest}`),
});
const changes = (verb: string, from: Status): Endpoint => ({
  method: 'POST',
  path: `${ADMIN_JOB}/${verb}`,
  access: 'admin',
  success: 200,
  others: CHANGE,
  answer: ANSWERS.reindexJob,
  valid: any(from, `/${verb}`),
  provoke: { ...anyClientErrors(`/${verb}`), 409: any('succeeded', `/${verb}`) },
});

export const REINDEX_ENDPOINTS: readonly Endpoint[] = [
  starts('/v1/admin/collections', 202, [400, 401, 403, 404, 409, 422, 500, 503], 'admin'),
  starts('/v1/collections', 200, [400, 401, 403, 404, 409, 422, 429, 500, 503], 'tenant'),
  {
    method: 'GET',
    path: ADMIN_JOB,
    access: 'admin',
    success: 200,
    others: [401, 403, 404, 422, 500],
    answer: ANSWERS.reindexJob,
    valid: any('succeeded'),
    provoke: anyClientErrors(),
  },
  {
    method: 'DELETE',
    path: ADMIN_JOB,
    access: 'admin',
    success: 200,
    others: CHANGE,
    answer: ANSWERS.reindexJob,
    valid: any('paused'),
    provoke: { ...anyClientErrors(), 409: any('succeeded') },
  },
  changes('pause', 'queued'),
  // Resuming a job that is running succeeds: the client may repeat the request because the first answer was lost.
  changes('resume', 'running'),
  { ...OWN_JOB, method: 'GET', others: READ_ONE, valid: own('succeeded'), provoke: OWN_CLIENT_ERRORS },
  {
    ...OWN_JOB,
    method: 'DELETE',
    others: [400, 401, 403, 404, 409, 422, 429, 500],
    valid: own('paused'),
    provoke: {
      ...OWN_CLIENT_ERRORS,
      400: at(`/v1/collections/${NO_SLUG}/docs/reindex/${UNKNOWN_ID}`),
      409: own('succeeded'),
    },
  },
];
