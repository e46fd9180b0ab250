// The rows of "Collections in a tenant" in the specification.
import { ANSWERS } from '../shapes.js';
import { BAD_SEGMENT, type Compose, type Endpoint, NO_SLUG, READ, READ_ONE } from '../endpoint.js';

const ONE = '/v1/collections/{tenant}/{name}';
let created = 0;

const at =
  (name: string, rest = '', body?: unknown): Compose =>
  ({ tenant }) => ({ path: `/v1/collections/${tenant}/${name}${rest}`, ...(body === undefined ? {} : { body }) });
const here =
  (rest: string, body?: unknown): Compose =>
  (scene) =>
    at(scene.collection, rest, body)(scene);
const anew =
  (rest: string, body?: unknown): Compose =>
  async (scene) =>
    at(await scene.fresh(), rest, body)(scene);

export const COLLECTION_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'GET',
    path: '/v1/collections/{tenant}',
    access: 'tenant',
    success: 200,
    others: READ,
    answer: ANSWERS.collections,
    valid: ({ tenant }) => ({ path: `/v1/collections/${tenant}` }),
    provoke: { 422: () => ({ path: `/v1/collections/${NO_SLUG}` }) },
  },
  {
    method: 'POST',
    path: ONE,
    access: 'tenant',
    success: 201,
    others: [400, 401, 403, 422, 429, 500, 503],
    answer: ANSWERS.created,
    valid: (scene) => at(`made-${++created}`)(scene),
    provoke: { 400: at('chunked', '', { chunking: { size: 1 } }), 422: at('moded', '', { display_name: 7 }) },
  },
  {
    method: 'GET',
    path: `${ONE}/detail`,
    access: 'tenant',
    success: 200,
    others: READ_ONE,
    answer: ANSWERS.detail,
    valid: here('/detail'),
    provoke: { 404: at('none', '/detail'), 422: at(NO_SLUG, '/detail') },
  },
  {
    method: 'PATCH',
    path: ONE,
    access: 'tenant',
    success: 200,
    others: [400, 401, 403, 404, 422, 429, 500],
    answer: ANSWERS.updated,
    valid: here('', { display_name: 'Our documents' }),
    provoke: { 400: here('', { display_name: ' ' }), 404: at('none', '', { display_name: 'x' }), 422: here('', {}) },
  },
  {
    method: 'DELETE',
    path: ONE,
    access: 'tenant',
    success: 200,
    others: [400, 401, 403, 404, 422, 429, 500],
    answer: ANSWERS.deleted,
    valid: anew(''),
    provoke: { 400: at(NO_SLUG), 404: at('none'), 422: at(BAD_SEGMENT) },
  },
  {
    method: 'POST',
    path: `${ONE}/move`,
    access: 'tenant',
    success: 200,
    others: [400, 401, 403, 404, 409, 422, 429, 500],
    answer: ANSWERS.moved,
    valid: async (scene) => {
      const name = await scene.fresh();
      return at(name, '/move', { new_name: `${name}-moved` })(scene);
    },
    provoke: {
      400: here('/move', { new_name: 'no slug' }),
      404: at('none', '/move', { new_name: 'other' }),
      409: async (scene) => here('/move', { new_name: await scene.fresh() })(scene),
      422: here('/move', { new_name: 7 }),
    },
  },
];
