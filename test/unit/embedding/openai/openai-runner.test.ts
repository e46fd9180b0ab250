// The embedder of type `openai` against a server that speaks the protocol: what it sends, how it reads answers, and how
// it splits, shares and retries calls.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimateTokens } from '../../../../src/embedding/remote/endpoint.js';
import type { EmbeddingsRequest } from '../../../kit/openai-server.js';
import { assertVectors, DIM, held, open, wait } from '../../../kit/embedding/openai-runner.js';

const never = (): boolean => false;
const texts = (count: number, prefix = 'text'): string[] => Array.from({ length: count }, (_, i) => `${prefix} ${i}`);

test('texts become unit vectors in their order; model, key and encoding go along', async (t) => {
  const { runner, server } = await open(t, { apiKey: 'sk-1' }, { apiKey: 'sk-1' });
  const { vectors, failures } = await runner.embed(texts(5), 'passage', never);
  assertVectors(vectors, texts(5));
  assert.equal(failures, undefined);
  assert.deepEqual(server.calls, [{ model: 'small', input: texts(5), encoding_format: 'base64' }]);
  assert.deepEqual((await runner.embed([], 'passage', never)).vectors.length, 0);
});

test('a server that answers with lists is understood, and so is one that is told the dimensions', async (t) => {
  const { runner, server } = await open(t, { sendsDimensions: true }, { givesLists: true, dim: 99 });
  assertVectors((await runner.embed(texts(2), 'query', never)).vectors, texts(2));
  assert.equal(server.calls[0]?.dimensions, DIM);
});

test('prefixes go by purpose; long passages are cut, never within a character, and told', async (t) => {
  const { runner, server } = await open(t, { queryPrefix: 'q: ', passagePrefix: 'p: ', charactersMax: 6 });
  await runner.embed(['12345😀7', 'short'], 'passage', never);
  await runner.embed(['123456'], 'query', never);
  assert.deepEqual(
    server.calls.map(({ input }) => input),
    [['p: 12345', 'p: short'], ['q: 123456']],
  );
  assert.deepEqual(
    ['1234567', '123456'].map((text) => runner.isTruncated(text)),
    [true, false],
  );
});

test('ten thousand texts go in calls of 2,048', async (t) => {
  const { runner, server } = await open(t, { inputsMax: 2048 });
  assertVectors((await runner.embed(texts(10_000), 'passage', never)).vectors, texts(10_000));
  assert.deepEqual(server.calls.map(({ input }) => input.length).sort(), [1808, 2048, 2048, 2048, 2048]);
});

test('a call has no more tokens than it may, but for a text that alone has more', async (t) => {
  const { runner, server } = await open(t, { tokensMax: 100 });
  const all = [...texts(60), 'long '.repeat(200), ...texts(30, 'more')];
  assertVectors((await runner.embed(all, 'passage', never)).vectors, all);
  for (const { input } of server.calls) {
    assert.ok(input.length === 1 || input.reduce((sum, text) => sum + estimateTokens(text), 0) <= 100);
  }
});

test('texts of many requests that wait at the same time share calls; queries and passages do not', async (t) => {
  const { runner, server } = await open(t, {});
  const answers = await Promise.all([
    ...texts(40).map((text) => runner.embed([text], 'query', never)),
    runner.embed(['a passage'], 'passage', never),
  ]);
  answers.slice(0, 40).forEach(({ vectors }, i) => assertVectors(vectors, [`text ${i}`]));
  assert.deepEqual(server.calls.map(({ input }) => input.length).sort(), [1, 40]);
});

test('no more calls are under way than may be, what waits is joined, and queries go ahead of passages', async (t) => {
  const hold = held();
  const { runner, server } = await open(t, { callsMax: 3, inputsMax: 10 }, { fail: hold.fail });
  const passages = runner.embed(texts(60), 'passage', never);
  await wait(() => server.calls.length === 2);
  const queries = texts(5, 'query').map((text) => runner.embed([text], 'query', never));
  await wait(() => server.calls.length === 3);
  assert.deepEqual(server.calls[2]?.input, texts(5, 'query'), 'passages leave a place for queries');
  const others = texts(5, 'other').map((text) => runner.embed([text], 'query', never));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(server.calls.length, 3);
  hold.release();
  assertVectors((await passages).vectors, texts(60));
  await Promise.all([...queries, ...others]);
  assert.deepEqual(server.calls[3]?.input, texts(5, 'other'), 'the next call is that of the queries');
});

test('requests that nobody waits for leave before the next call', async (t) => {
  const hold = held();
  const { runner, server } = await open(t, { callsMax: 1, inputsMax: 10 }, { fail: hold.fail });
  let isCancelled = false;
  const cancelled = runner.embed(texts(50, 'cancelled'), 'passage', () => isCancelled);
  await wait(() => server.calls.length === 1);
  const wanted = runner.embed(texts(3), 'passage', never);
  isCancelled = true;
  hold.release();
  assertVectors((await wanted).vectors, texts(3));
  await cancelled;
  assert.deepEqual(
    server.calls.map(({ input }) => input.length),
    [10, 3],
  );
});

test('a request that is cancelled between two tries is not tried again', async (t) => {
  let isCancelled = false;
  const fail = (): { status: number } => ((isCancelled = true), { status: 500 });
  const { runner, server } = await open(t, {}, { fail });
  await runner.embed(texts(2), 'passage', () => isCancelled);
  await runner.embed([], 'passage', never);
  assert.equal(server.calls.length, 1);
});

test('what may pass is tried again: statuses, broken connections, silence', async (t) => {
  const failures = [
    { status: 500 },
    { status: 429, headers: { 'retry-after': '0' } },
    'hang up',
    'break off',
    { status: 408 },
    'never',
  ] as const;
  // Each failure occurs twice in a row, at an endpoint of its own, so that the retries wait in parallel.
  const tried = failures.map(async (failure) => {
    const { runner, server, warnings } = await open(
      t,
      { retriesMax: 9, timeoutMs: 500 },
      { fail: (number) => (number < 2 ? failure : undefined) },
    );
    assertVectors((await runner.embed(texts(2), 'passage', never)).vectors, texts(2));
    assert.ok(server.calls.length >= 3, `${JSON.stringify(failure)}: ${server.calls.length} calls`);
    assert.deepEqual(warnings, []);
  });
  await Promise.all(tried);
});

test('an endpoint that does not answer is 503 after its retries, logged once, without key or text', async (t) => {
  const { runner, server, warnings } = await open(
    t,
    { retriesMax: 2, apiKey: 'sk-secret' },
    { fail: () => ({ status: 500, text: 'out of memory' }) },
  );
  await assert.rejects(runner.embed(['my text'], 'passage', never), {
    code: 'embedder_unavailable',
    message: 'The embedder does not answer.',
  });
  assert.equal(server.calls.length, 3);
  await assert.rejects(runner.embed(['my text'], 'query', never), { code: 'embedder_unavailable' });
  assert.deepEqual(warnings, [
    { instance: 'remote', url: `${server.url}/embeddings`, reason: 'status 500 out of memory' },
  ]);
});

test('a key that is refused is told in the log and not tried again', async (t) => {
  const { runner, server, warnings } = await open(t, { apiKey: 'sk-wrong' }, { apiKey: 'sk-right' });
  await assert.rejects(runner.embed(texts(1), 'query', never), { code: 'embedder_unavailable' });
  assert.equal(server.calls.length, 1);
  assert.match(JSON.stringify(warnings), /401.*API key/);
  assert.doesNotMatch(JSON.stringify(warnings), /sk-/);
});

test('an endpoint that wants to be left alone for longer than anybody waits is not called meanwhile', async (t) => {
  const { runner, server } = await open(t, {}, { fail: () => ({ status: 429, headers: { 'retry-after': '3600' } }) });
  await assert.rejects(runner.embed(texts(1), 'passage', never), {
    code: 'embedder_unavailable',
    options: { retryAfterS: 3600 },
  });
  await assert.rejects(runner.embed(texts(1), 'query', never), {
    code: 'embedder_unavailable',
    options: { retryAfterS: 60 },
  });
  assert.equal(server.calls.length, 1);
});

test('a Retry-After of a second is honoured by every call', async (t) => {
  const times: number[] = [];
  const fail = (number: number): { status: number; headers: Record<string, string> } | undefined => {
    times.push(performance.now());
    return number === 0 ? { status: 503, headers: { 'retry-after': '1' } } : undefined;
  };
  const { runner, server } = await open(t, {}, { fail });
  const first = runner.embed(texts(1), 'passage', never);
  await wait(() => server.calls.length === 1);
  assertVectors((await first).vectors, texts(1));
  // The retry must not come before the time that the server named; when it comes later does not matter.
  assert.ok((times[1] as number) - (times[0] as number) >= 990);
});

test('vectors of another dimension, or too few, are a fault of the instance: nothing of the call counts', async (t) => {
  const { runner, warnings } = await open(t, {}, { dim: DIM + 1 });
  await assert.rejects(runner.embed(texts(3), 'passage', never), { code: 'embedder_unavailable' });
  assert.match(JSON.stringify(warnings), /9 dimensions/);
  const few = await open(t, {}, { fail: () => ({ json: { data: [] } }) });
  await assert.rejects(few.runner.embed(texts(3), 'passage', never), { code: 'embedder_unavailable' });
  assert.equal(few.server.calls.length, 1, 'a further try would give the same');
});

test('where one call of a request fails for good, no further ones are begun for it; what is done counts', async (t) => {
  const fail = (_: number, call: object): { status: number } | undefined =>
    (call as EmbeddingsRequest).input.includes('text 15') ? { status: 404 } : undefined;
  const { runner, server } = await open(t, { callsMax: 1, inputsMax: 10 }, { fail });
  const { vectors, failures } = await runner.embed(texts(100), 'passage', never);
  assertVectors(vectors.subarray(0, 10 * DIM), texts(10));
  assert.ok(server.calls.length <= 3, 'the third has begun when the second is known to have failed');
  assert.equal(failures?.size, 110 - 10 * server.calls.length);
  assert.ok([...failures.values()].every(({ code }) => code === 'embedder_unavailable'));
  for (const place of [...Array(10).keys()]) assert.ok(failures.has(10 + place) && failures.has(90 + place));
});
