// A small run of load/random-requests.ts: random requests on every operation, no 500, no hang, no answer that its
// schema refuses. `node dist/load/random-requests.js --requests 100000 --seed S` is the long one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fire } from '../../../load/kit/random/fire.js';
import { startFakeServer } from '../../kit/fake-server.js';
import { startTestServer } from '../../kit/server.js';

const REQUESTS = 1500;
const SEED = 20_261_121;

const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '2' });
const { status } = await server.call('GET', '/openapi.json');

test(`${REQUESTS} random requests, seed ${SEED}`, {
  skip: status === 200 ? false : 'the server has no /openapi.json',
}, async () => {
  const { failures, byStatus } = await fire({ url: server.url, seed: SEED, requests: REQUESTS, connections: 4 });
  assert.ok(failures.length === 0, failures.join('\n\n'));
  assert.deepEqual(server.faults, []);
  const answered = [...byStatus.values()].reduce((a, b) => a + b);
  const succeeded = [...byStatus].filter(([code]) => code < 300).reduce((sum, [, count]) => sum + count, 0);
  assert.equal(answered, REQUESTS);
  assert.ok(succeeded > REQUESTS / 5, `only ${succeeded} of ${REQUESTS} succeeded`);
});

test('a server that breaks its own document is found out', async (t) => {
  const answers = {
    '200': {
      description: 'ok',
      content: {
        'application/json': { schema: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } },
      },
    },
  };
  const document = {
    openapi: '3.1.0',
    info: { title: 'x', version: '1' },
    paths: {
      '/good': { get: { responses: answers } },
      '/bad': { get: { responses: answers } },
      '/worse': { get: { responses: answers } },
    },
  };
  const headers = { 'x-request-id': 'x' };
  const fake = await startFakeServer(t, ({ path }) => {
    if (path === '/openapi.json') return { json: document };
    if (path.startsWith('/worse')) return { headers, status: 500 };
    if (path.startsWith('/bad')) return { headers, json: { n: 'no number' } };
    return { headers, json: path.startsWith('/good') ? { n: 1 } : { ok: true, tenants: [] } };
  });
  const { failures } = await fire({ url: fake.url, seed: 1, requests: 30, connections: 2 });
  assert.ok(failures.length > 0);
  assert.ok(
    failures.some((failure) =>
      /does not fit its schema: \/n must be integer\n {2}seed 1, request \d+: GET \/bad/.test(failure),
    ),
    failures[0],
  );
  assert.ok(
    failures.some((failure) => /^status 500\n {2}seed 1, request \d+: \w+ \/worse/.test(failure)),
    failures[0],
  );
  assert.ok(!failures.some((failure) => failure.includes(' GET /good')), failures.join('\n'));
});
