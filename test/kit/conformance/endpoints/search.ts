// The rows of "Search" and "Logged searches" in the specification.
import { ANSWERS } from '../shapes.js';
import { type Compose, type Endpoint, NO_SLUG, READ, READ_ONE, SEARCH, UNKNOWN_ID } from '../endpoint.js';

const ONE = '/v1/collections/{tenant}/{name}';

const at =
  (name: string, rest: string, body?: unknown): Compose =>
  ({ tenant }) => ({ path: `/v1/collections/${tenant}/${name}/${rest}`, ...(body === undefined ? {} : { body }) });
const here =
  (rest: string, body?: unknown): Compose =>
  (scene) =>
    at(scene.collection, rest, body)(scene);
const logged =
  (rest = ''): Compose =>
  (scene) =>
    here(`queries/${scene.queryId}${rest}`)(scene);

export const SEARCH_ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'GET',
    path: `${ONE}/search`,
    access: 'tenant',
    success: 200,
    others: SEARCH,
    answer: ANSWERS.search,
    valid: here('search?q=captain&k=3'),
    provoke: { 422: here('search') },
  },
  {
    method: 'POST',
    path: `${ONE}/search`,
    access: 'tenant',
    success: 200,
    others: SEARCH,
    answer: ANSWERS.search,
    valid: here('search', { q: 'captain', k: 3, mode: 'vector' }),
    provoke: { 422: here('search', { q: 'captain', v: [1] }) },
  },
  {
    method: 'GET',
    path: '/v1/search',
    access: 'any',
    success: 200,
    others: SEARCH,
    answer: ANSWERS.search,
    valid: () => ({ path: '/v1/search?q=captain' }),
    provoke: { 422: () => ({ path: '/v1/search' }) },
  },
  {
    method: 'POST',
    path: '/v1/search',
    access: 'any',
    success: 200,
    others: [400, ...SEARCH],
    answer: ANSWERS.search,
    valid: () => ({ path: '/v1/search', body: { q: 'captain' } }),
    provoke: { 400: () => ({ path: '/v1/search', body: '{"q":' }), 422: () => ({ path: '/v1/search', body: {} }) },
  },
  {
    method: 'GET',
    path: `${ONE}/queries`,
    access: 'tenant',
    success: 200,
    others: READ,
    answer: ANSWERS.queries,
    valid: here('queries?limit=5&offset=0'),
    provoke: { 422: here('queries?limit=0') },
  },
  {
    method: 'GET',
    path: `${ONE}/queries/{query_id}`,
    access: 'tenant',
    success: 200,
    others: READ_ONE,
    answer: ANSWERS.query,
    valid: logged(),
    provoke: { 404: here(`queries/${UNKNOWN_ID}`), 422: at(NO_SLUG, `queries/${UNKNOWN_ID}`) },
  },
  {
    method: 'POST',
    path: `${ONE}/queries/{query_id}/replay`,
    access: 'tenant',
    success: 200,
    others: [...READ_ONE, 503],
    answer: ANSWERS.replay,
    valid: logged('/replay'),
    provoke: { 404: here(`queries/${UNKNOWN_ID}/replay`), 422: at(NO_SLUG, `queries/${UNKNOWN_ID}/replay`) },
  },
];
