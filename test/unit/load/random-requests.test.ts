// The checker of `load soak requests` finds errors that are planted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendRandomRequests } from '../../../load/fuzz/run.js';
import { startFakeServer } from '../../kit/fake-server.js';

test('a server that violates its own document is reported', async (t) => {
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
  const { failures } = await sendRandomRequests({ url: fake.url, seed: 1, requests: 30, connections: 2 });
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
