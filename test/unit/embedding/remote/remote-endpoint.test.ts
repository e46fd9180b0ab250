// Calls with their retries and budgets, over real HTTP, on a clock that the test sets.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { RemoteEndpoint, type Call } from '../../../../src/embedding/remote/endpoint.js';
import type { Purpose } from '../../../../src/embedding/embedder.js';
import { startFakeServer, type FakeRequest, type Result } from '../../../kit/fake-server.js';
import { ENDPOINT } from '../../../kit/embedding/openai-runner.js';

interface Bench {
  endpoint: RemoteEndpoint;
  clock: { ms: number };
  requests: FakeRequest[];
  reasons: unknown[];
}

async function open(
  t: TestContext,
  spec: Partial<typeof ENDPOINT>,
  answer: (clock: { ms: number }, number: number) => Result,
): Promise<Bench> {
  const clock = { ms: 0 };
  const { url, requests } = await startFakeServer(t, () => answer(clock, requests.length - 1));
  const reasons: unknown[] = [];
  return {
    endpoint: new RemoteEndpoint(
      'it',
      { ...ENDPOINT, url, ...spec },
      '/x',
      ({ reason }) => void reasons.push(reason),
      () => clock.ms,
    ),
    clock,
    requests,
    reasons,
  };
}

const call = (purpose: Purpose, tokens: () => number | undefined = () => 1): Call<unknown> => ({
  purpose,
  tokens,
  body: () => ({}),
  answerBytesMax: 1000,
  read: (answer) => answer,
});

test('a query is not tried again when its seconds are over; a passage is', async (t) => {
  const { endpoint, requests } = await open(t, { retriesMax: 2 }, (clock) => ((clock.ms += 6000), { status: 500 }));
  await assert.rejects(endpoint.call(call('query')), { code: 'embedder_unavailable' });
  assert.equal(requests.length, 1);
  await assert.rejects(endpoint.call(call('passage')), { code: 'embedder_unavailable' });
  assert.equal(requests.length, 4);
});

test('a try of a query waits no longer than what is left of its seconds', async (t) => {
  const { endpoint, clock, reasons } = await open(t, { retriesMax: 0 }, () => 'never');
  await assert.rejects(endpoint.call(call('query', () => ((clock.ms = 4950), 1))), { code: 'embedder_unavailable' });
  assert.deepEqual(reasons, ['no answer within 50 ms']);
});

test('a query does not wait for a Retry-After beyond its seconds, a passage not for one beyond a minute', async (t) => {
  const { endpoint, requests } = await open(t, {}, () => ({ status: 429, headers: { 'retry-after': '6' } }));
  await assert.rejects(endpoint.call(call('query')), { code: 'embedder_unavailable', options: { retryAfterS: 6 } });
  const long = await open(t, {}, () => ({ status: 429, headers: { 'retry-after': '61' } }));
  await assert.rejects(long.endpoint.call(call('passage')), {
    code: 'embedder_unavailable',
    options: { retryAfterS: 61 },
  });
  assert.deepEqual([requests.length, long.requests.length], [1, 1]);
});

test('tokens are budgeted as the endpoint counts them', async (t) => {
  const answers = [{ total_tokens: 10 }, { total_tokens: 0 }, {}];
  const { endpoint } = await open(t, { tokensPerMinute: 100_000 }, (_, number) => ({
    json: { usage: answers[number] },
  }));
  await endpoint.call(call('query', () => 1_000_000));
  await endpoint.call(call('query', () => 1_000_000));
  await assert.rejects(
    endpoint.call(call('query')),
    { code: 'embedder_unavailable', message: /cannot take this call/ },
    'where it does not count, the estimate holds',
  );
});

test('the same failure is logged once a minute, another one at once', async (t) => {
  const { endpoint, clock, reasons } = await open(t, { retriesMax: 0 }, (_, number) => ({
    status: number === 2 ? 502 : 500,
    text: `request ${number}`,
  }));
  for (const ms of [0, 10, 20, 30, 40, 70_000]) {
    clock.ms = ms;
    await assert.rejects(endpoint.call(call('passage')), { code: 'embedder_unavailable' });
  }
  assert.deepEqual(reasons, [
    'status 500 request 0',
    'status 502 request 2',
    'status 500 request 3',
    'status 500 request 5',
  ]);
});

test('a call that nobody wants any more is not made', async (t) => {
  const { endpoint, requests } = await open(t, {}, () => ({ json: {} }));
  assert.equal(await endpoint.call(call('passage', () => undefined)), undefined);
  assert.equal(requests.length, 0);
});
