// One call over real HTTP: what each answer means, that errors contain no key, and that the size of an answer is
// bounded.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { CallError, type Post, postJson } from '../../../../src/embedding/remote/endpoint.js';
import { closedPort, startFakeServer, type Result } from '../../../kit/fake-server.js';

const KEY = 'sk-very-secret';

async function failure(t: TestContext, answer: Result, post: Partial<Post> = {}): Promise<CallError> {
  const { url } = await startFakeServer(t, () => answer);
  return failureOf({ url, ...post });
}

async function failureOf(post: Partial<Post> & { url: string }): Promise<CallError> {
  try {
    await postJson({ apiKey: KEY, body: {}, timeoutMs: 10_000, answerBytesMax: 1000, ...post });
  } catch (error) {
    assert.ok(error instanceof CallError, String(error));
    assert.ok(!error.message.includes(KEY), error.message);
    return error;
  }
  throw new Error('it was answered');
}

test('JSON goes there with its key and comes back', async (t) => {
  const { url, requests } = await startFakeServer(t, () => ({ json: { a: 1 } }));
  assert.deepEqual(await postJson({ url, apiKey: KEY, body: { b: 'ü' }, timeoutMs: 10_000, answerBytesMax: 1000 }), {
    a: 1,
  });
  assert.equal(requests[0]?.headers.authorization, `Bearer ${KEY}`);
  assert.deepEqual(JSON.parse(requests[0].body.toString()), { b: 'ü' });
  await postJson({ url, apiKey: '', body: {}, timeoutMs: 10_000, answerBytesMax: 1000 });
  assert.equal(requests[1]?.headers.authorization, undefined);
});

test('each status is transient, refused or broken', async (t) => {
  const faults = {
    400: 'refused',
    401: 'broken',
    403: 'broken',
    404: 'broken',
    405: 'broken',
    408: 'transient',
    409: 'transient',
    413: 'refused',
    422: 'refused',
    425: 'transient',
    429: 'transient',
    500: 'transient',
    502: 'transient',
    503: 'transient',
    529: 'transient',
  };
  for (const [status, fault] of Object.entries(faults))
    assert.equal((await failure(t, { status: Number(status) })).failure, fault, status);
});

test('an error for the client is told by its status and an excerpt, without the key', async (t) => {
  const { message } = await failure(t, { status: 400, text: `bad\n key ${KEY} ${'x'.repeat(10_000)}` });
  assert.match(message, /^status 400 bad key … x+$/);
  assert.ok(message.length < 250);
  const unauthorized = await failure(t, { status: 401, text: 'the key sk-very*** is wrong' });
  assert.equal(unauthorized.message, 'status 401 (the API key is missing, wrong, or not allowed this model)');
});

test('Retry-After counts, in seconds and as a date', async (t) => {
  assert.equal((await failure(t, { status: 429, headers: { 'retry-after': '7' } })).retryAfterMs, 7000);
  const { retryAfterMs } = await failure(t, {
    status: 503,
    headers: { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() },
  });
  assert.ok(retryAfterMs > 3_000_000 && retryAfterMs <= 3_600_000);
  assert.equal((await failure(t, { status: 429, headers: { 'retry-after': 'soon' } })).retryAfterMs, 0);
});

test('a redirect is not followed', async (t) => {
  const other = await startFakeServer(t, () => ({ json: {} }));
  assert.equal((await failure(t, { status: 307, headers: { location: other.url } })).failure, 'broken');
  assert.equal(other.requests.length, 0);
});

test('an answer that is too long or no JSON is broken', async (t) => {
  assert.equal((await failure(t, { text: `"${'x'.repeat(2000)}"` })).message, 'its answer has more than 1000 bytes');
  const page = await failure(t, { text: '<html>' });
  assert.deepEqual([page.failure, page.message], ['broken', 'its answer is not JSON']);
});

test('a broken connection, a port without a server and silence are transient', async (t) => {
  assert.equal((await failure(t, 'hang up')).failure, 'transient');
  assert.equal((await failure(t, 'break off')).failure, 'transient');
  const silent = await failure(t, 'never', { timeoutMs: 30 });
  assert.deepEqual([silent.failure, silent.message], ['transient', 'no answer within 30 ms']);
  const nobody = await failureOf({ url: `http://127.0.0.1:${await closedPort()}` });
  assert.deepEqual([nobody.failure, nobody.message], ['transient', 'no connection: ECONNREFUSED']);
});
