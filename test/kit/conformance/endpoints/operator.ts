// The rows of health, metrics, admin and embedders in the specification.
import { ANSWERS, METRICS } from '../shapes.js';
import { BAD_SEGMENT, type Endpoint, NO_SLUG, UNKNOWN_ID } from '../endpoint.js';

const open = (path: string, others: readonly number[], answer: Endpoint['answer']): Endpoint => ({
  method: 'GET',
  path,
  access: 'public',
  success: 200,
  others,
  answer,
  valid: () => ({ path }),
});

/** The tables list no statuses for the two metrics endpoints; the prose says that they require the admin key. */
const metrics = (path: string, answer: Endpoint['answer']): Endpoint => ({
  ...open(path, [401, 403], answer),
  access: 'admin',
});

const move = '/v1/admin/collections';

export const OPERATOR_ENDPOINTS: readonly Endpoint[] = [
  open('/health', [], ANSWERS.health),
  open('/health/live', [], ANSWERS.live),
  open('/health/ready', [503], ANSWERS.ready),
  metrics('/health/metrics', METRICS),
  metrics('/metrics', 'text/plain'),
  {
    method: 'POST',
    path: '/v1/admin/collections/{tenant}/{name}/move',
    access: 'admin',
    success: 200,
    others: [400, 401, 403, 404, 409, 422, 500],
    answer: ANSWERS.moved,
    valid: async ({ tenant, fresh }) => {
      const name = await fresh();
      return { path: `${move}/${tenant}/${name}/move`, body: { new_name: `${name}-moved` } };
    },
    provoke: {
      400: ({ tenant, collection }) => ({
        path: `${move}/${tenant}/${collection}/move`,
        body: { new_name: collection },
      }),
      404: ({ tenant }) => ({ path: `${move}/${tenant}/no-such-collection/move`, body: { new_name: 'other' } }),
      409: async ({ tenant, collection, fresh }) => ({
        path: `${move}/${tenant}/${collection}/move`,
        body: { new_name: await fresh() },
      }),
      422: ({ tenant, collection }) => ({ path: `${move}/${tenant}/${collection}/move`, body: {} }),
    },
  },
  {
    method: 'GET',
    path: '/v1/admin/embedders',
    access: 'admin',
    success: 200,
    others: [401, 403, 500],
    answer: ANSWERS.embedders,
    valid: () => ({ path: '/v1/admin/embedders' }),
  },
  {
    method: 'DELETE',
    path: '/v1/admin/metrics',
    access: 'admin',
    success: 200,
    others: [401, 403],
    answer: ANSWERS.metricsReset,
    valid: () => ({ path: '/v1/admin/metrics' }),
  },
  {
    method: 'GET',
    path: '/v1/admin/queries/{query_id}',
    access: 'admin',
    success: 200,
    others: [401, 403, 404, 422, 500],
    answer: ANSWERS.query,
    valid: ({ queryId }) => ({ path: `/v1/admin/queries/${queryId}` }),
    provoke: {
      404: () => ({ path: `/v1/admin/queries/${UNKNOWN_ID}` }),
      422: () => ({ path: `/v1/admin/queries/${BAD_SEGMENT}` }),
    },
  },
  {
    method: 'POST',
    path: '/v1/admin/queries/{query_id}/replay',
    access: 'admin',
    success: 200,
    others: [401, 403, 404, 422, 429, 500, 503],
    answer: ANSWERS.replay,
    valid: ({ queryId }) => ({ path: `/v1/admin/queries/${queryId}/replay` }),
    provoke: {
      404: () => ({ path: `/v1/admin/queries/${UNKNOWN_ID}/replay` }),
      422: () => ({ path: `/v1/admin/queries/${BAD_SEGMENT}/replay` }),
    },
  },
  {
    method: 'GET',
    path: '/v1/admin/tenants',
    access: 'admin',
    success: 200,
    others: [401, 403, 500],
    answer: ANSWERS.tenants,
    valid: () => ({ path: '/v1/admin/tenants' }),
  },
  {
    method: 'GET',
    path: '/v1/embedders/{tenant}',
    access: 'tenant',
    success: 200,
    others: [401, 403, 422, 429, 500],
    answer: ANSWERS.tenantEmbedders,
    valid: ({ tenant }) => ({ path: `/v1/embedders/${tenant}` }),
    provoke: { 422: () => ({ path: `/v1/embedders/${NO_SLUG}` }) },
  },
];
